"""Interleaves ONNX Runtime (fp32, CPU) with Assay's cpu backend on one checkpoint and prints the ratio.

    python bench/peers/onnxruntime_ratio.py --bench build/release/bench/session_bench \
        --work /tmp/peers examples/mobilevit_s.fashion_mnist

Needs an environment of its own, outside the repository, with torch, timm, onnx, onnxruntime, safetensors.
The model is exported from timm with the checkpoint's weights, both sides read the same input, and the
logits are compared before anything is timed. Each round times a few calls of one side, then of the other;
the ratio is that of the medians over all rounds of this one run.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

import numpy as np
import onnxruntime
import timm
import torch
from safetensors.torch import load_file


def export(folder, path):
    config = json.loads((folder / "config.json").read_text())
    model = timm.create_model(config["architecture"], num_classes=config["num_classes"])
    model.load_state_dict(load_file(folder / "model.safetensors"))
    model.eval()
    size = config["pretrained_cfg"]["input_size"]
    if not path.exists():
        torch.onnx.export(model, torch.zeros(1, *size), str(path), opset_version=17,
                          input_names=["x"], output_names=["logits"], dynamo=False)
    return size


class Assay:
    def __init__(self, bench, folder, threads):
        self.process = subprocess.Popen([bench, str(folder), str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.description = self.process.stdout.readline().strip()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def run(self, count):
        return [float(x) for x in self.ask(f"run {count}").split()]


class OnnxRuntime:
    def __init__(self, path, threads, image):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        # Its threads spin while it runs, but must not keep a core busy while the other side is timed.
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        self.image = image

    def run(self, count):
        times = []
        for _ in range(count):
            start = time.perf_counter()
            self.logits = self.session.run(None, {"x": self.image})[0]
            times.append((time.perf_counter() - start) * 1e3)
        return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoints", nargs="+", type=pathlib.Path)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=5)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    for folder in args.checkpoints:
        path = args.work / (folder.name + ".onnx")
        channels, height, width = export(folder, path)
        image = np.random.default_rng(1).random((1, channels, height, width), dtype=np.float32)
        flat = args.work / (folder.name + ".f32")
        np.ascontiguousarray(image[0].transpose(1, 2, 0)).tofile(flat)

        peer = OnnxRuntime(path, args.threads, image)
        ours = Assay(args.bench, folder, args.threads)
        assert ours.ask(f"input {flat}") == "ok"
        peer.run(1)
        logits = np.array(ours.ask("logits").split(), dtype=np.float64)
        difference = np.abs(logits - peer.logits[0]).max()
        if difference > 3e-4:
            raise SystemExit(f"{folder.name}: logits differ by {difference}")

        theirs, mine = [], []
        for round_ in range(args.rounds + 1):
            a = peer.run(args.calls + 1)[1:]
            b = ours.run(args.calls + 1)[1:]
            if round_ > 0:  # the first warms both up
                theirs += a
                mine += b
        ratio = statistics.median(theirs) / statistics.median(mine)
        print(f"{folder.name}: ONNX Runtime {onnxruntime.__version__} {statistics.median(theirs):.3f} ms "
              f"(min {min(theirs):.3f}), Assay {statistics.median(mine):.3f} ms (min {min(mine):.3f}), "
              f"ratio {ratio:.3f} (of minima {min(theirs) / min(mine):.3f}), "
              f"max |dlogit| {difference:.1e}; {ours.description}", flush=True)
        ours.process.stdin.close()
        ours.process.wait()


if __name__ == "__main__":
    main()
