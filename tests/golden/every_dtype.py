#!/usr/bin/env python3
"""Writes every_dtype.safetensors with the safetensors package (0.8 was used): one tensor of eight
elements of each type that the package can write, its bytes counted up from 1, and metadata.

    python3 tests/golden/every_dtype.py
"""

import ctypes
import pathlib

from safetensors import TensorSpec, serialize_file

TARGET = pathlib.Path(__file__).with_suffix(".safetensors")
ELEMENTS = 8
BYTES = {
    "bool": 8, "uint8": 8, "int8": 8, "float8_e5m2": 8, "float8_e4m3fn": 8, "float8_e8m0fnu": 8,
    "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 8, "int16": 16, "uint16": 16, "float16": 16,
    "bfloat16": 16, "int32": 32, "uint32": 32, "float32": 32, "complex64": 64, "float64": 64,
    "int64": 64, "uint64": 64, "float4_e2m1fn_x2": 4,
}


def main():
    specs, alive = {}, []
    for dtype, size in BYTES.items():
        buffer = (ctypes.c_uint8 * size)(*range(1, size + 1))
        alive.append(buffer)
        shape = [2, ELEMENTS // 4 if dtype.endswith("_x2") else ELEMENTS // 2]
        specs["t." + dtype] = TensorSpec(
            dtype=dtype, shape=shape, data_ptr=ctypes.addressof(buffer), data_len=size
        )
    serialize_file(specs, str(TARGET), {"format": "pt"})


if __name__ == "__main__":
    main()
