"""Writes number_formats.json: what ml_dtypes and numpy make of every code of each number format, and
of every rounding tie with its two neighbours.

Run with a Python that has numpy and ml_dtypes:  python tests/golden/number_formats.py
"""
import hashlib
import json
import pathlib

import ml_dtypes
import numpy as np

FORMATS = {
    "fp16": (np.float16, np.uint16, False),
    "bf16": (ml_dtypes.bfloat16, np.uint16, False),
    "e4m3": (ml_dtypes.float8_e4m3fn, np.uint8, True),
    "e5m2": (ml_dtypes.float8_e5m2, np.uint8, False),
}


def canonical(numbers):
    """fp32 bits with one NaN: which NaN a decoder gives is its own affair."""
    return np.where(np.isnan(numbers), np.float32(np.nan), numbers).astype("<f4")


def decode(dtype, code_type, codes):
    return codes.astype(code_type).view(dtype).astype(np.float32)


def encode_inputs(numbers):
    """Each tie between two neighbouring finite numbers, the fp32 below and above it, both signs."""
    finite = numbers[: len(numbers) // 2]
    finite = finite[np.isfinite(finite)]
    ties = ((finite[:-1].astype(np.float64) + finite[1:]) / 2).astype(np.float32)
    below, above = np.nextafter(ties, np.float32(-np.inf)), np.nextafter(ties, np.float32(np.inf))
    near = np.stack([ties, below, above], axis=1).reshape(-1)
    step = finite[-1].astype(np.float64) - finite[-2]
    with np.errstate(over="ignore"):
        edge = np.float32(finite[-1] + step / 2)  # where overflow begins; infinite for bf16
    extra = np.array([0, finite[-1], np.nextafter(edge, np.float32(0)), edge, np.inf, 1e-45, 3e38], np.float32)
    positive = np.concatenate([near, extra])
    return np.concatenate([positive, -positive])


def main():
    golden = {}
    for name, (dtype, code_type, saturates) in FORMATS.items():
        count = 1 << (8 * np.dtype(code_type).itemsize)
        numbers = decode(dtype, code_type, np.arange(count))
        inputs = encode_inputs(numbers)
        largest = np.float32(np.nanmax(numbers[np.isfinite(numbers)]))
        clipped = np.clip(inputs, -largest, largest) if saturates else inputs
        with np.errstate(over="ignore"):
            codes = clipped.astype(dtype).view(code_type)
        entry = {
            "decode_sha256": hashlib.sha256(canonical(numbers).tobytes()).hexdigest(),
            "encode_inputs_sha256": hashlib.sha256(inputs.astype("<f4").tobytes()).hexdigest(),
            "encode_sha256": hashlib.sha256(codes.tobytes()).hexdigest(),
        }
        if count == 256:
            entry["decode"] = [None if np.isnan(x) else str(float(x)) for x in numbers]
        golden[name] = entry
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(golden, indent=1) + "\n")


main()
