"""Whole processes, from start to the first answer: Assay's program against a C++ program with ONNX
Runtime. The image is a file to Assay, which decodes, resizes and normalizes it; the others are
handed the numbers."""

import json
import pathlib

import numpy as np
from PIL import Image

import assay
import exports
import intervals
from checks import FP32_TOLERANCE
from models import Model, folder_of
from options import ROOT

MODEL = "mobilevit_xxs"
IMAGE = ROOT / "examples/images/bag.jpg"


def _library():
    import onnxruntime
    found = sorted((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
    if not found:
        raise assay.Failed("this onnxruntime package ships no libonnxruntime.so")
    return found[0]


def _commands(programs, folder, model, options):
    """(name, words, whether the answer must be timm's) of each program."""
    tensor = folder / "start.f32"
    tensor.write_bytes(model.normalize(model.pixels(Image.open(IMAGE).convert("RGB"))).tobytes())
    threads = options.threads
    absent = []
    commands = []
    for precision in options.precisions:
        try:
            bundle = programs.bundle(model, precision, folder)
            commands.append((f"Assay {precision}", [programs.assay, "run", bundle, IMAGE,
                                                    "--threads", threads, "--output", "logits"],
                             precision == "fp32"))
        except assay.Failed as error:
            absent.append({"name": f"Assay {precision}", "absent": str(error)})
    start = [programs.bench("onnxruntime_start"), _library()]
    commands.append(("ONNX Runtime, C++",
                     [*start, exports.onnx(model, folder), tensor, threads, 99], True))
    commands.append(("ONNX Runtime, C++, graph stored optimized",
                     [*start, exports.onnx_optimized(model, folder), tensor, threads, 0], True))
    return commands, absent


def _verify(commands):
    answers = {}
    for name, words, exact in commands:
        text = assay.run_program(*words).strip().split("\t")[-1]
        if exact:
            answers[name] = np.array(text.split(), np.float64)
    first = next(iter(answers.values()))
    for name, answer in answers.items():
        if np.abs(answer - first).max() > FP32_TOLERANCE:
            raise assay.Failed(f"{name} answers with other logits")


def measure(programs, options, priority):
    model = Model(MODEL)
    folder = folder_of(options.cache, model)
    commands, rows = _commands(programs, folder, model, options)
    _verify(commands)
    words = []
    for _, command, _ in commands:
        words += (["--"] if words else []) + command
    with priority.raised():
        # One round more, which is not kept: it brings the files into memory.
        output = assay.run_program(programs.bench("startup_bench"), options.startups + 1, *words)
    samples = [json.loads(line) for line in output.splitlines()]
    kept = {which: [x for x in samples if x["command"] == which and x["round"] > 0]
            for which in range(len(commands))}
    peer = len(commands) - 2
    walls = {which: np.array([[x["wall"]] for x in kept[which]]) for which in kept}
    peaks = {which: float(np.median([x["peak_kib"] for x in kept[which]])) for which in kept}
    for which, (name, _, _) in enumerate(commands):
        middle, interval = intervals.median(walls[which])
        share, share_interval = intervals.ratio(walls[which], walls[peer])
        rows.append({"name": name, "median_seconds": middle, "interval_seconds": interval,
                     "of_onnxruntime": share, "of_onnxruntime_interval": share_interval,
                     "peak_mib": peaks[which] / 1024, "peak_of_onnxruntime": peaks[which] / peaks[peer],
                     "samples": kept[which]})
    return {"model": MODEL, "rows": rows}
