"""What the race runs on, and how it keeps other work out."""

import contextlib
import importlib.metadata
import os
import pathlib
import platform
import subprocess

from options import ROOT

LIBRARIES = ["torch", "timm", "onnx", "onnxruntime", "openvino", "nncf", "numpy", "pillow"]
FLAGS = ["avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8"]


def cpuinfo():
    """The first processor's lines of /proc/cpuinfo."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    return {key.strip(): value.strip() for key, value in (x.split(":", 1) for x in lines)}


def versions():
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _output(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def describe(assay):
    info = cpuinfo()
    flags = info.get("flags", "").split()
    return {"cpu": info.get("model name", "unknown"),
            "cpu_family": [info.get(key) for key in ("cpu family", "model", "stepping")],
            "features": [flag for flag in FLAGS if flag in flags],
            "virtual": "hypervisor" in flags,
            "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(),
            "load_at_start": os.getloadavg(),
            "assay": _output(assay, "--version"),
            "commit": _output("git", "-C", ROOT, "describe", "--always", "--dirty"),
            "versions": versions()}


class Priority:
    """With `on`, everything timed runs in real time (round robin, lowest priority) inside
    `raised`: other work gets what is left. Threads and processes made inside inherit it. A raised
    share alone (nice, autogroups) is not enough: a woken thread would still be put beside the one
    that woke it where strangers keep the other cores busy."""

    def __init__(self, on):
        self.on = on

    @contextlib.contextmanager
    def raised(self, processes=()):
        """For this process and `processes` (numbers)."""
        self._schedule(processes, os.SCHED_RR, 1)
        try:
            yield
        finally:
            self._schedule(processes, os.SCHED_OTHER, 0)

    def _schedule(self, processes, policy, priority):
        if not self.on:
            return
        for process in (os.getpid(), *processes):
            for thread in os.listdir(f"/proc/{process}/task"):
                os.sched_setscheduler(int(thread), policy, os.sched_param(priority))
