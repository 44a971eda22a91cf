#!/usr/bin/env python3
"""Compares image_bench with Pillow at the same work on the same file, taking turns in one run.

    python bench/peers/pillow_resize.py build/release/bench/image_bench [IMAGE] [--rounds 15]

Stops where the two give different pixels. Prints, for each step, the median over the rounds of both
sides' processor time, and the median of the rounds' ratios (Pillow / Assay) with its 95% interval.
Processor time, because both use one thread and other work on the machine must not count. Pillow's
times leave out the copy that np.asarray would add.
"""

import argparse
import hashlib
import io
import json
import pathlib
import statistics
import subprocess
import time

from PIL import Image, features

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


def median_interval(samples):
    """Distribution-free 95% interval of the median, by order statistics of the binomial."""
    samples = sorted(samples)
    n = len(samples)
    tail, k, term = 0.0, 0, 0.5**n
    while tail + term <= 0.025:
        tail += term
        term *= (n - k) / (k + 1)
        k += 1
    k = max(k - 1, 0)
    return samples[k], samples[n - 1 - k]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("image", nargs="?", default=str(PHOTO))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.2, help="per step and round")
    options = parser.parse_args()
    data = pathlib.Path(options.image).read_bytes()
    ours, theirs = [], []
    expected = hashlib.sha256(resize(decode(data)).tobytes()).hexdigest()
    for _ in range(options.rounds):
        digest, times = run_assay(options.program, options.image, options.seconds)
        if digest != expected:
            raise SystemExit(f"{options.image}: the two give different pixels")
        ours.append(times)
        theirs.append(pillow_times(data, options.seconds))
    print(f"Pillow {Image.__version__}, libjpeg-turbo {features.version('libjpeg_turbo')}; "
          f"{options.rounds} rounds")
    print(f"{'step':20} {'assay µs':>10} {'Pillow µs':>10} {'ratio':>7}   95% interval")
    for step in STEPS:
        ratios = [b[step] / a[step] for a, b in zip(ours, theirs)]
        low, high = median_interval(ratios)
        print(f"{step:20} {statistics.median(a[step] for a in ours):10.1f} "
              f"{statistics.median(b[step] for b in theirs):10.1f} "
              f"{statistics.median(ratios):7.3f}   {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()
