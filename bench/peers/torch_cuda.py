#!/usr/bin/env python3
"""Times PyTorch on one GPU on the example checkpoints, as a peer of assay_cuda_bench.

    python bench/peers/torch_cuda.py [--models NAME,...] [--batches 1,128]
                                     [--ways eager,compiled,tuned] [-o FILE]

timm's models with the checkpoints' weights, fp16, channels_last, replayed as CUDA graphs. A sample
is the time between two CUDA events around one replay, from a resident normalized fp16 input to
resident logits; a kernel that only waits lies in front, so that no time of the host's is in it.
Before timing, logits are compared with eager fp32 on two inputs; a way that is too far off, or that
could not be made, stands in the table with the reason. The ways of one model and batch take turns.

Compiling takes most of the time. --models, --batches and --ways split the work, and nothing more is
compiled once --budget is spent.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import intervals
from options import MODELS, some_of

WAYS = ["eager", "compiled", "tuned"]
MODES = {"compiled": "max-autotune-no-cudagraphs", "tuned": "max-autotune"}
REPEATS, TURNS, CALLS = 3, 10, 20  # 3 × 200 samples
WARMUP = 5  # calls in front of each turn
WAIT_CYCLES = 1_000_000  # about half a millisecond: longer than the host needs for a call
TOLERANCE = 2e-2  # ‖fp16 logits - fp32 logits‖ / ‖fp32 logits‖


def log(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--models", type=some_of(MODELS), default=MODELS, metavar="NAME,...",
        help="default: all four examples")
    add("--batches", type=lambda text: [int(word) for word in text.split(",")], default=[1, 128],
        metavar="N,...", help="images a call (default: 1,128)")
    add("--ways", type=some_of(WAYS), default=WAYS, metavar="NAME,...",
        help="eager; compiled: torch.compile's max-autotune-no-cudagraphs in a CUDA graph; tuned: "
        "max-autotune, which makes a CUDA graph itself (default: all)")
    add("--budget", type=float, default=240, metavar="SECONDS",
        help="nothing is compiled later than this after the start (default: 240)")
    add("--no-freezing", action="store_true",
        help="do not let Inductor fold weights (it does by default)")
    add("--make-only", action="store_true", help="make the models, which needs no GPU, and stop")
    add("-o", "--output", type=pathlib.Path, metavar="FILE", help="for the JSON")
    return parser.parse_args()


def configure(torch, options):
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # for the fp32 reference
    import torch._dynamo.config
    import torch._inductor.config
    torch._inductor.config.freezing = not options.no_freezing
    # One code object is compiled for every model and batch; beyond a few it would stay eager.
    for name in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit",
                 "accumulated_cache_size_limit"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, 1024)


class Case:
    """One model at one batch: its input on the GPU, what fp32 makes of it, and the ways."""

    def __init__(self, torch, model, batch):
        self.torch, self.model, self.batch = torch, model, batch
        noise = np.random.default_rng(1).integers(0, 256, (2, batch, *model.size[1:], 3), np.uint8)
        self.inputs = [self._tensor(pixels) for pixels in noise]
        self.x = self.inputs[0].half().contiguous(memory_format=torch.channels_last)
        network = model.network().cuda()
        with torch.no_grad():
            self.expected = [network(tensor).double() for tensor in self.inputs]
        self.replays, self.answers, self.absent, self.errors = {}, {}, {}, {}

    def _tensor(self, pixels):
        """fp32 [N, 3, H, W] that fp16 has: both precisions read the same numbers."""
        normalized = np.concatenate([self.model.normalize(image) for image in pixels])
        return self.torch.from_numpy(normalized).half().float().cuda()

    @property
    def title(self):
        return f"{self.model.name} batch {self.batch}"

    def network(self):
        return self.model.network().cuda().half().to(memory_format=self.torch.channels_last)

    def make(self, way):
        """Makes the way and looks at its logits. Whatever goes wrong is why it is absent."""
        begin = time.monotonic()
        try:
            with self.torch.no_grad():
                self._tuned() if way == "tuned" else self._captured(way)
                self.errors[way] = self._check(way)
            log(f"{self.title}: {way} is ready after {time.monotonic() - begin:.0f} s")
        except Exception as error:  # whatever a compiler throws
            self.absent[way] = " ".join(str(error).split())[:200] or type(error).__name__
            self.replays.pop(way, None)
            log(f"{self.title}: {way} is left out: {self.absent[way]}")

    def _captured(self, way):
        torch, network = self.torch, self.network()
        if way in MODES:
            network = torch.compile(network, mode=MODES[way], fullgraph=True, dynamic=False)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                network(self.x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = network(self.x)
        # The graph reads the network's weights: both live as long as the way does.
        self.replays[way] = lambda: (graph.replay(), network)[0]
        self.answers[way] = lambda: output

    def _tuned(self):
        """Inductor's own CUDA graph, which reads the input where it lies."""
        torch = self.torch
        network = torch.compile(self.network(), mode=MODES["tuned"], fullgraph=True, dynamic=False)
        torch._dynamo.mark_static_address(self.x)
        last = {}

        def replay():
            torch.compiler.cudagraph_mark_step_begin()
            last["output"] = network(self.x)
        for _ in range(4):
            replay()
        self.replays["tuned"] = replay
        self.answers["tuned"] = lambda: last["output"]

    def _check(self, way):
        """The larger relative error of the two inputs; the first one stays."""
        errors = []
        for tensor, expected in reversed(list(zip(self.inputs, self.expected))):
            self.x.copy_(tensor)
            self.replays[way]()
            self.torch.cuda.synchronize()
            found = self.answers[way]().double()
            errors.append(float((found - expected).norm() / expected.norm()))
        if not max(errors) <= TOLERANCE:
            raise ValueError(f"its logits are {max(errors):.1e} off, beyond {TOLERANCE:.0e}")
        return max(errors)

    def turn(self, way):
        """Milliseconds of CALLS replays."""
        torch, replay = self.torch, self.replays[way]
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(CALLS)]
        for _ in range(WARMUP):
            replay()
        for begin, end in pairs:
            torch.cuda._sleep(WAIT_CYCLES)
            begin.record()
            replay()
            end.record()
            torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in pairs]

    def measure(self):
        """[turns, calls] milliseconds by way; another way is first each turn."""
        ways = list(self.replays)
        samples = {way: [] for way in ways}
        with self.torch.no_grad():
            for turn in range(REPEATS * TURNS):
                for i in range(len(ways)):
                    way = ways[(turn + i) % len(ways)]
                    samples[way].append(self.turn(way))
        return {way: np.array(times) for way, times in samples.items()}

    def rows(self):
        head = {"model": self.model.name, "batch": self.batch, "precision": "fp16"}
        rows = []
        for way, times in self.measure().items():
            median, interval = intervals.median(times)
            repeats = np.median(times.reshape(REPEATS, -1), axis=1)
            rows.append(head | {
                "way": way, "median_ms": median, "interval_ms": interval,
                "repeat_medians_ms": repeats.tolist(),
                "images_per_second": 1e3 * self.batch / median,
                "logits_relative_l2": self.errors[way], "samples_ms": times.tolist()})
        return rows + [head | {"way": way, "absent": reason} for way, reason in self.absent.items()]


def prepare(cases, options, begin):
    """The ways one after another, so that a spent budget leaves out the same way everywhere."""
    for way in [way for way in WAYS if way in options.ways]:
        for case in cases:
            if way != "eager" and time.monotonic() - begin > options.budget:
                case.absent[way] = f"the budget of {options.budget:.0f} s was spent before"
                continue
            case.make(way)


def describe(torch):
    import machine
    properties = torch.cuda.get_device_properties(0)
    state = None
    if shutil.which("nvidia-smi"):
        fields = "name,driver_version,clocks.sm,clocks.mem,power.draw"
        state = subprocess.run(["nvidia-smi", "-i", "0", f"--query-gpu={fields}",
                                "--format=csv,noheader"], capture_output=True,
                               text=True).stdout.strip()
    return {"gpu": properties.name, "multiprocessors": properties.multi_processor_count,
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "nvidia_smi": state, "versions": machine.versions()}


def print_table(rows):
    print(f"{'network':<16} {'batch':>5}  {'PyTorch fp16':<12} {'median ms':>10}  "
          f"{'95% interval, ms':<20} {'images/s':>10}  {'error':>8}")
    for row in rows:
        start = f"{row['model']:<16} {row['batch']:>5}  {row['way']:<12}"
        if "absent" in row:
            print(f"{start} {row['absent'][:80]}")
            continue
        interval = "[{:.4f}, {:.4f}]".format(*row["interval_ms"])
        print(f"{start} {row['median_ms']:>10.4f}  {interval:<20} {row['images_per_second']:>10.0f}"
              f"  {row['logits_relative_l2']:>8.1e}")


def main():
    options = parse()
    begin = time.monotonic()
    # Read when torch is loaded, so set before.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR",
                          str(pathlib.Path(tempfile.gettempdir()) / "assay-inductor"))
    import torch
    import models
    made = [models.Model(name) for name in options.models]
    if options.make_only:
        for model in made:
            numbers = sum(x.numel() for x in model.network().parameters())
            print(f"{model.name}: {numbers} parameters, input {list(model.size)}")
        return
    if not torch.cuda.is_available():
        sys.exit("torch_cuda.py: PyTorch finds no CUDA device")
    configure(torch, options)
    cases = [Case(torch, model, batch) for model in made for batch in options.batches]
    prepare(cases, options, begin)
    rows = [row for case in cases for row in case.rows()]
    report = describe(torch) | {
        "boundary": "device: resident normalized fp16 input to resident logits, CUDA events around "
        "one replay", "order": "ways in turns, another one first each turn",
        "repeats": REPEATS, "turns": TURNS, "calls": CALLS, "warmup": WARMUP,
        "seconds": time.monotonic() - begin, "rows": rows}
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(report) + "\n")
    log(f"done in {time.monotonic() - begin:.0f} s")
    print_table(rows)


if __name__ == "__main__":
    main()
