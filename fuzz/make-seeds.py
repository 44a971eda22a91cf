#!/usr/bin/env python3
"""Writes the checkpoint readers' seeds: corpus/safetensors, corpus/config and corpus/index.

    python3 fuzz/make-seeds.py

Inputs that a fuzzer found and that were repaired stand beside them as found-*; they are kept.
"""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


SAFETENSORS = {
    "valid": safetensors(
        {
            "__metadata__": {"format": "pt"},
            "a": tensor("F32", [2, 1], 0, 8),
            "b": tensor("I64", [], 8, 16),
            "c": tensor("BF16", [0, 3], 16, 16),
            "d": tensor("F4", [4], 16, 18),
        },
        bytes(18),
    ),
    "empty": safetensors(b"{}"),
    "padded": safetensors(b"{}      "),
    "overlap": safetensors({"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 2, 6)}, bytes(6)),
    "hole": safetensors({"a": tensor("U8", [1], 0, 1), "b": tensor("U8", [1], 2, 3)}, bytes(3)),
    "trailing": safetensors({"a": tensor("U8", [1], 0, 1)}, bytes(3)),
    "overflow": safetensors({"a": tensor("F64", [2**62, 4], 0, 0)}),
    "duplicate": safetensors(b'{"a":%s,"a":%s}' % ((b'{"dtype":"U8","shape":[0],"data_offsets":[0,0]}',) * 2)),
    "deep": safetensors(b'{"a":' + b"[" * 500),
    "nul": safetensors(b"{}\0\0"),
    "not-utf8": safetensors(b'{"\xff":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"x"),
    "long-header": struct.pack("<Q", 100_000_000) + b"{}",
    "pickle": b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.",
    "zip": b"PK\x03\x04\x00\x00\x08\x08archive/data.pkl",
}

NESTED = {
    "architecture": "crossvit_9_240",
    "num_classes": 2,
    "model_args": {"img_size": [240, 240], "qkv_bias": True},
    "pretrained_cfg": {
        "input_size": [3, 240, 240],
        "fixed_input_size": True,
        "interpolation": "bicubic",
        "crop_pct": 0.875,
        "crop_mode": "center",
        "mean": [0.485, 0.456, 0.406],
        "std": [0.229, 0.224, 0.225],
        "label_names": ["n02123045", "dog"],
        "label_descriptions": {"n02123045": "tabby", "dog": "a tame wolf"},
    },
}

CONFIG = {
    "nested": NESTED,
    "flat": {"architecture": "mobilevit_s.in1k", **NESTED["pretrained_cfg"], "labels": ["a", "b"]},
    "wrapper": {
        "model_type": "timm_wrapper",
        "architecture": "mobilevit_s",
        "id2label": {"0": "cat", "2": "dog", "1": "LABEL_1"},
        "pretrained_cfg": {"crop_pct": 1.0},
    },
    "sparse-labels": {"architecture": "a", "num_classes": 3, "label_names": {"2": "x"}},
    "native": {"model_type": "mobilevit", "hidden_sizes": [144, 192, 240]},
    "wrong": {"architecture": "a", "crop_pct": 2, "std": [0, 1, 1], "num_classes": 0},
}

INDEX = {
    "valid": {
        "metadata": {"total_size": 12},
        "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "parts/b.safetensors"},
    },
    "parent": {"weight_map": {"a": "parts/../../b.safetensors"}},
    "absolute": {"weight_map": {"a": "/b.safetensors"}},
    "nul": {"weight_map": {"a": "b\0.safetensors"}},
    "pickle": {"weight_map": {"a": "pytorch_model.bin"}},
}


def main():
    for folder, seeds in (("safetensors", SAFETENSORS), ("config", CONFIG), ("index", INDEX)):
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
        for name, seed in seeds.items():
            content = seed if isinstance(seed, bytes) else json.dumps(seed).encode()
            (CORPUS / folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
