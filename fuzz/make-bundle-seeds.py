#!/usr/bin/env python3
"""Writes the bundle reader's seeds, corpus/bundle: 2 bytes of header length, header, data.

    python3 fuzz/make-bundle-seeds.py

Inputs that a fuzzer found and that were repaired stand beside them as found-*; they are kept.
"""

import copy
import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).resolve().parent / "corpus" / "bundle"

VALID = {
    "features": [],
    "model": {"architecture": "tiny", "family": "t", "precision": "fp32", "optimization_level": 1, "max_batch": 2},
    "preprocessing": {
        "input_height": 4,
        "input_width": 4,
        "interpolation": "bicubic",
        "crop_mode": "center",
        "crop_pct": 0.875,
        "mean": [0.5, 0.5, 0.5],
        "std": [0.2, 0.2, 0.2],
    },
    "labels": ["a", "b"],
    "provenance": {"tool_version": "", "revision": "", "files": [{"name": "f", "size": 2, "sha256": ""}], "config": "{}"},
    "graph": {
        "name": "tiny",
        "input": 0,
        "outputs": [{"name": "logits", "value": 4}, {"name": "features", "value": 1}],
        "values": [
            {"name": "in", "dims": [4, 4, 3]},
            {"name": "pool", "dims": [3]},
            {"name": "w", "dims": [2, 3], "constant": 0},
            {"name": "b", "dims": [2], "constant": 1},
            {"name": "out", "dims": [2]},
        ],
        "nodes": [
            {"name": "pool", "op": "mean", "inputs": [0], "output": 1, "axes": [0, 1]},
            {"name": "head", "op": "linear", "inputs": [1, 2, 3], "output": 4, "activation": "none"},
        ],
    },
    "sections": [
        {"dtype": "F32", "offset": 0, "size": 24, "xxh3": "0" * 16},
        {"dtype": "F32", "offset": 64, "size": 8, "xxh3": "0" * 16},
    ],
}


def seed(header, data=bytes(128)):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<H", len(text)) + text + data


def changed(change):
    header = copy.deepcopy(VALID)
    change(header)
    return seed(header)


SEEDS = {
    "valid": seed(VALID),
    "no-data": seed(VALID, b""),
    "feature": changed(lambda h: h["features"].append("recipe")),
    "overlap": changed(lambda h: h["sections"][1].update(offset=0)),
    "overflow": changed(lambda h: h["sections"][1].update(offset=2**64 - 1, size=2**64 - 1)),
    "alias": changed(lambda h: h["graph"]["values"][3].update(constant=0)),
    "cycle": changed(lambda h: h["graph"]["nodes"][0].update(inputs=[4])),
    "huge": changed(lambda h: h["graph"]["values"][0].update(dims=[2**24, 2**24, 3])),
    "negative": changed(lambda h: h["graph"]["values"][0].update(dims=[-1, 4, 3])),
    "deep": seed(b'{"features":' + b"[" * 500),
    "duplicate": seed(b'{"features":[],"features":[]}'),
    "raw-magic": b"\x89ASSAY\r\n" + bytes(56),
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in SEEDS.items():
        (FOLDER / name).write_bytes(content)
