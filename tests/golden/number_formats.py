"""Writes number_formats.json: what ml_dtypes and numpy make of every code of each number format, and
of every rounding tie with its two neighbours; of blocks of MXFP4 and NVFP4; and of affine u8.

Run with a Python that has numpy and ml_dtypes:  python tests/golden/number_formats.py
"""
import hashlib
import json
import pathlib

import ml_dtypes
import numpy as np

# dtype, type of its codes, bits, saturates
FORMATS = {
    "fp16": (np.float16, np.uint16, 16, False),
    "bf16": (ml_dtypes.bfloat16, np.uint16, 16, False),
    "e4m3": (ml_dtypes.float8_e4m3fn, np.uint8, 8, True),
    "e5m2": (ml_dtypes.float8_e5m2, np.uint8, 8, False),
    "e2m1": (ml_dtypes.float4_e2m1fn, np.uint8, 4, True),
}


def canonical(numbers):
    """fp32 bits with one NaN: which NaN a decoder gives is its own affair."""
    return np.where(np.isnan(numbers), np.float32(np.nan), numbers).astype("<f4")


def sha256(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


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


def minifloat(dtype, code_type, bits, saturates):
    count = 1 << bits
    numbers = decode(dtype, code_type, np.arange(count))
    inputs = encode_inputs(numbers)
    largest = np.float32(np.nanmax(numbers[np.isfinite(numbers)]))
    clipped = np.clip(inputs, -largest, largest) if saturates else inputs
    with np.errstate(over="ignore"):
        codes = clipped.astype(dtype).view(code_type)
    entry = {
        "decode_sha256": sha256(canonical(numbers)),
        "encode_inputs_sha256": sha256(inputs.astype("<f4")),
        "encode_sha256": sha256(codes),
    }
    if count <= 256:
        entry["decode"] = [None if np.isnan(x) else str(float(x)) for x in numbers]
    return entry


def e8m0():
    numbers = decode(ml_dtypes.float8_e8m0fnu, np.uint8, np.arange(256))
    return {"decode_sha256": sha256(canonical(numbers))}


def mxfp4():
    """Every code at every scale; and 64 blocks, the exponents of whose largest numbers go from the
    smallest to the largest that fp32 has."""
    codes = decode(ml_dtypes.float4_e2m1fn, np.uint8, np.arange(16))
    scales = decode(ml_dtypes.float8_e8m0fnu, np.uint8, np.arange(256))
    with np.errstate(invalid="ignore", over="ignore"):
        products = (scales[:, None] * codes[None, :]).astype(np.float32)
    random = np.random.default_rng(20260)
    exponents = np.linspace(-140, 127, 64).round()
    blocks = (random.uniform(-1, 1, (64, 32)) * 2.0 ** exponents[:, None]).astype(np.float32)
    blocks[0] = 0
    _, exponent = np.frexp(np.abs(blocks).max(axis=1))  # largest = mantissa in [0.5, 1) × 2^exponent
    shared = np.clip(exponent - 1 - 2, -127, 127)
    shared[0] = -127
    scaled = blocks.astype(np.float64) / 2.0 ** shared[:, None]
    packed = np.clip(scaled, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    return {
        "decode_sha256": sha256(canonical(products)),
        "numbers": blocks.astype("<f4").tobytes().hex(),
        "scales": [int(s) for s in shared + 127],
        "codes_sha256": sha256(packed),
    }


def nvfp4():
    """Every code at every block scale that is not negative or NaN, at three tensor scales."""
    codes = decode(ml_dtypes.float4_e2m1fn, np.uint8, np.arange(16))
    scales = decode(ml_dtypes.float8_e4m3fn, np.uint8, np.arange(127))
    entry = {}
    for tensor_scale in (1.0, 0.0123, 3e-5):
        block = scales * np.float32(tensor_scale)  # in fp32
        entry[str(tensor_scale)] = sha256((block[:, None] * codes[None, :]).astype("<f4"))
    return {"decode_sha256": entry}


def affine_u8():
    """Codes of each tie between two codes and of the fp32 below and above it, of x × (1 / scale) + zero
    point rounded once to fp32 and then to a code."""
    entry = []
    for scale, zero_point in ((1.0, 0), (0.0078125, 128), (0.05, 100), (0.0173, 3), (12.7, 255), (1e-6, 77)):
        scale = np.float32(scale)
        inverse = np.float32(1) / scale
        ties = ((np.arange(-2, 258) + 0.5 - zero_point) * np.float64(scale)).astype(np.float32)
        numbers = np.stack([ties, np.nextafter(ties, np.float32(-np.inf)),
                            np.nextafter(ties, np.float32(np.inf))], axis=1).reshape(-1)
        # 64 bits of mantissa hold the product exactly, and its sum with a small integer.
        exact = numbers.astype(np.longdouble) * np.longdouble(inverse) + zero_point
        codes = np.clip(np.rint(exact.astype(np.float32)), 0, 255).astype(np.uint8)
        entry.append({"scale": float(scale), "zero_point": zero_point,
                      "numbers_sha256": sha256(numbers.astype("<f4")), "codes": codes.tobytes().hex()})
    return entry


def main():
    golden = {name: minifloat(*format_) for name, format_ in FORMATS.items()}
    golden |= {"e8m0": e8m0(), "mxfp4": mxfp4(), "nvfp4": nvfp4(), "affine_u8": affine_u8()}
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(golden, indent=1) + "\n")


main()
