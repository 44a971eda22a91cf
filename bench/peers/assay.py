"""Assay's runners: one process a bundle, which times itself while its peers wait for their turn."""

import json
import pathlib
import subprocess

import numpy as np

from models import CALIBRATION_STRIDE, IMAGES
from runners import Runner


class Failed(RuntimeError):
    """A program said that it can't; its last line says why."""


def run_program(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise Failed(lines[-1] if lines else f"{words[0]} ended with {done.returncode}")
    return done.stdout


class Programs:
    """The programs of CMake's folder, built first unless `build` is false."""

    TARGETS = ["assay_cli", "assay_runner", "onnxruntime_start", "startup_bench", "image_bench"]

    def __init__(self, source, folder, build):
        self.folder = pathlib.Path(folder)
        self.assay = self.folder / "assay"
        if build:
            run_program("cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                        "-DASSAY_BENCH=ON", "-DASSAY_TESTS=OFF", "-DASSAY_FUZZ=OFF",
                        *([] if (self.folder / "CMakeCache.txt").exists() else ["-G", "Ninja"]))
            run_program("cmake", "--build", folder, "--target", *self.TARGETS)

    def bench(self, name):
        """The program `name` of bench/ or bench/peers/."""
        for place in (self.folder / "bench/peers" / name, self.folder / "bench" / name):
            if place.exists():
                return place
        raise Failed(f"{name} is not in {self.folder}/bench: build it, or leave out --no-build")

    def bundle(self, model, precision, folder):
        """Builds the checkpoint at `precision`; int8 is calibrated on the peers' images."""
        path = folder / f"{precision}.assay"
        words = [self.assay, "build", model.folder, "-o", path, "--precision", precision]
        if precision == "int8":
            calibration = folder / "int8.calibration"
            run_program(self.assay, "calibrate", self.bundle(model, "fp32", folder), "--data",
                        IMAGES, "--stride", CALIBRATION_STRIDE, "--observer", "max", "-o",
                        calibration)
            words += ["--calibration", calibration]
        run_program(*words)
        return path


class Process:
    """assay_runner at work on one bundle."""

    def __init__(self, program, bundle, threads):
        self.process = subprocess.Popen([program, bundle, str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.description = json.loads(self._read())

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self.process.stderr.read().strip() or "assay_runner ended")
        return line

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._read().split()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Assay(Runner):
    def __init__(self, process, precision, boundary):
        super().__init__("Assay", precision, process.description["plan"])
        self.child, self.boundary, self.process = process, boundary, process.process

    def load(self, inputs):
        self.child.ask(f"inputs {inputs.path}")

    def logits(self, i):
        return np.array(self.child.ask(f"logits {self.boundary} {i}"), np.float32)

    def run(self, i, warm, count):
        return [int(x) for x in self.child.ask(f"run {self.boundary} {i} {warm} {count}")]

    def close(self):
        if self.process.poll() is None:
            self.child.close()
