#!/usr/bin/env python3
"""Compares image_bench with Pillow at the same work on the same file, taking turns in one run.

    python bench/peers/pillow_resize.py build/release/bench/image_bench [IMAGE] [--rounds 15]

Stops where the two give different pixels. Prints, for each step, the median over the rounds of both
sides' processor time, and the ratio of the medians (Pillow / Assay) with its 95% interval.
Processor time, because both use one thread and other work on the machine must not count. Pillow's
times leave out the copy that np.asarray would add.
"""

import argparse
import hashlib
import io
import json
import pathlib
import subprocess
import time

import numpy as np
from PIL import Image, features

import intervals

PHOTO = pathlib.Path(__file__).parents[2] / "tests/golden/image/photo.jpg"
STEPS = ["decode", "resize_and_crop", "decode_resize_crop"]


def run_assay(program, image, seconds):
    output = subprocess.run(
        [program, f"--benchmark_filter=^({'|'.join(STEPS)})$", "--benchmark_format=json",
         f"--benchmark_min_time={seconds}", image],
        check=True, capture_output=True, text=True).stdout
    report = json.loads(output)
    return report["context"]["resized_sha256"], {b["name"]: b["cpu_time"]
                                                 for b in report["benchmarks"]}


def mean_time(body, seconds):
    """Microseconds of processor time a call, over at least `seconds`, as Google Benchmark counts."""
    body()
    calls, start = 0, time.process_time()
    while (elapsed := time.process_time() - start) < seconds:
        body()
        calls += 1
    return elapsed / calls * 1e6


def decode(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def resize(image):
    width, height = image.size
    short = min(width, height)
    width, height = int(256 * width / short), int(256 * height / short)
    left, top = round((width - 224) / 2), round((height - 224) / 2)
    image = image.resize((width, height), Image.Resampling.BICUBIC)
    return image.crop((left, top, left + 224, top + 224))


def pillow_times(data, seconds):
    image = decode(data)
    return {"decode": mean_time(lambda: decode(data), seconds),
            "resize_and_crop": mean_time(lambda: resize(image), seconds),
            "decode_resize_crop": mean_time(lambda: resize(decode(data)), seconds)}


def compare(program, image, rounds, seconds):
    """Medians in microseconds and the ratio Pillow / Assay of each step, with its 95% interval."""
    data = pathlib.Path(image).read_bytes()
    ours, theirs = [], []
    expected = hashlib.sha256(resize(decode(data)).tobytes()).hexdigest()
    for _ in range(rounds):
        digest, times = run_assay(program, image, seconds)
        if digest != expected:
            raise SystemExit(f"{image}: the two give different pixels")
        ours.append(times)
        theirs.append(pillow_times(data, seconds))
    rows = []
    for step in STEPS:
        mine = np.array([[x[step]] for x in ours])
        other = np.array([[x[step]] for x in theirs])
        ratio, interval = intervals.ratio(other, mine)
        rows.append({"step": step, "assay_us": float(np.median(mine)),
                     "pillow_us": float(np.median(other)), "ratio": ratio,
                     "interval": interval, "assay_samples": mine.ravel().tolist(),
                     "pillow_samples": other.ravel().tolist()})
    return {"pillow": Image.__version__, "libjpeg_turbo": features.version("libjpeg_turbo"),
            "image": "%d x %d JPEG" % Image.open(image).size, "rounds": rounds, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("image", nargs="?", default=str(PHOTO))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.2, help="per step and round")
    options = parser.parse_args()
    found = compare(options.program, options.image, options.rounds, options.seconds)
    print(f"Pillow {found['pillow']}, libjpeg-turbo {found['libjpeg_turbo']}; "
          f"{found['rounds']} rounds")
    print(f"{'step':20} {'assay µs':>10} {'Pillow µs':>10} {'ratio':>7}   95% interval")
    for row in found["rows"]:
        low, high = row["interval"]
        print(f"{row['step']:20} {row['assay_us']:10.1f} {row['pillow_us']:10.1f} "
              f"{row['ratio']:7.3f}   {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()
