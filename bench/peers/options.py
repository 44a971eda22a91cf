"""What can be asked of the race."""

import argparse
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ["mobilevit_xxs", "mobilevit_xs", "mobilevit_s", "crossvit_9_240"]
PRECISIONS = ["fp32", "bf16", "int8"]
PARTS = ["race", "resize", "startup"]


def some_of(known):
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown: {name}; known: {', '.join(known)}")
        return [name for name in known if name in chosen]
    return parse


def parse(words=None):
    parser = argparse.ArgumentParser(
        prog="bench/peers/run", description="Races Assay against ONNX Runtime, OpenVINO and "
        "torch.compile on the example checkpoints; writes peers.md and peers.json.")
    add = parser.add_argument
    add("--models", type=some_of(MODELS), default=MODELS, metavar="NAME,...",
        help="default: all four examples")
    add("--precisions", type=some_of(PRECISIONS), default=PRECISIONS, metavar="NAME,...",
        help="default: fp32,bf16,int8; ONNX Runtime fp32, the measure of all, always runs")
    add("--parts", type=some_of(PARTS), default=PARTS, metavar="NAME,...",
        help="default: race,resize,startup")
    add("--threads", type=int, default=2, help="threads a call may use (default: 2)")
    add("--rounds", type=int, default=20, help="rounds that count (default: 20)")
    add("--calls", type=int, default=6, help="timed calls a turn (default: 6)")
    add("--warmup", type=int, default=2, help="rounds before them that do not (default: 2)")
    add("--startups", type=int, default=25, help="processes of each program (default: 25)")
    add("--no-torch", action="store_true",
        help="leave torch.compile out: compiling takes minutes the first time")
    add("--priority", action="store_true",
        help="while timing, run before all other work, in real time (needs root): for a machine "
        "that is not quiet")
    add("--prepare", action="store_true", help="build, export and compile only; time nothing")
    add("-o", "--output", type=pathlib.Path, default=ROOT / "build/peers-results", metavar="DIR",
        help="for peers.md and peers.json (default: build/peers-results)")
    add("--cache", type=pathlib.Path, default=ROOT / "build/peers-cache", metavar="DIR",
        help="exported and compiled models (default: build/peers-cache)")
    add("--build", type=pathlib.Path, default=ROOT / "build/peers", metavar="DIR",
        help="CMake's folder (default: build/peers)")
    add("--no-build", action="store_true", help="take the programs there as they are")
    options = parser.parse_args(words)
    if options.rounds < 5 or options.rounds * options.calls < 100:
        parser.error("at least 5 rounds and 100 timed calls of each runner are needed")
    if options.threads < 1 or options.startups < 2:
        parser.error("--threads starts at 1, --startups at 2")
    return options
