#!/usr/bin/env python3
"""Makes tests/golden/image: small image files and what Pillow, torchvision and timm make of them.

Run as `python make_image_goldens.py` with Pillow 13, timm and torchvision installed. The output is
the same every time for the same versions, which versions.json names.
"""

import hashlib
import io
import itertools
import json
import pathlib
import sys
import warnings

import numpy as np
import PIL
import timm
import torch
import torchvision
from PIL import Image, ImageOps, features
from timm.data.transforms_factory import transforms_imagenet_eval

sys.dont_write_bytecode = True
import image_files

OUT = pathlib.Path(__file__).parent / "image"
RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


def noise(width, height):
    """The pixels that tests/image/noise.h makes: a xorshift stream seeded by the size, with runs of
    black and white so that filters overshoot."""
    state = (width * 2654435761 + height * 40503 + 12345) & 0xFFFFFFFF
    values = np.empty(width * height * 3, np.uint8)
    for i in range(values.size):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        kind = state >> 30
        values[i] = 0 if kind == 0 else 255 if kind == 1 else (state >> 8) & 255
    return values.reshape(height, width, 3)


def record(array):
    """An array's size and digest, and its values where they are few."""
    array = np.ascontiguousarray(array)
    entry = {
        "width": array.shape[1],
        "height": array.shape[0],
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
    }
    if array.size <= 192:
        entry["pixels"] = array.tobytes().hex()
    return entry


def write_json(name, entries):
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    (OUT / name).write_text(f"[\n{lines}\n]\n")


def make_decode():
    entries = []
    for name, data in sorted(image_files.all_files().items()):
        (OUT / name).write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = Image.open(io.BytesIO(data))
            mode = opened.mode
            entry = {"file": name, "mode": mode} | record(np.asarray(opened.convert("RGB")))
            turned = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        turned = record(np.asarray(turned))
        if turned["sha256"] != entry["sha256"] or turned["width"] != entry["width"]:
            entry["rotated"] = turned
        entries.append(entry)
    write_json("decode.json", entries)


def make_resize():
    sizes = [(1, 1), (1, 7), (7, 1), (3, 200), (200, 3), (2, 23), (17, 13), (50, 37), (97, 64),
             (64, 97), (20, 60), (131, 40)]
    targets = [(1, 1), (9, 5), (5, 9), (23, 31), (64, 37), (37, 64), (50, 37), (112, 131), (23, 3)]
    entries = []
    for (width, height), (to_width, to_height) in itertools.product(sizes, targets):
        image = Image.fromarray(noise(width, height))
        for name, filter in RESAMPLING.items():
            result = np.asarray(image.resize((to_width, to_height), filter))
            entries.append({"from": [width, height], "interpolation": name} | record(result))
    # A filter of hundreds of taps, and sizes of photographs.
    for (width, height), to in [((1999, 5), (3, 3)), ((5, 1999), (3, 3)), ((500, 375), (341, 256)),
                                ((375, 500), (256, 341)), ((300, 300), (64, 200))]:
        image = Image.fromarray(noise(width, height))
        for name, filter in RESAMPLING.items():
            result = np.asarray(image.resize(to, filter))
            entries.append({"from": [width, height], "interpolation": name} | record(result))
    write_json("resize.json", entries)


def make_transform():
    sizes = [(1, 1), (40, 30), (30, 40), (33, 33), (101, 57), (57, 101), (300, 20), (20, 90),
             (500, 375)]
    inputs = [(32, 32), (24, 40), (40, 24), (33, 47)]
    modes = ["center", "squash", "border"]
    percentages = [0.875, 0.9, 1.0, 0.7, 1.2]
    entries = []
    for size, input_size, mode, crop_pct in itertools.product(sizes, inputs, modes, percentages):
        image = Image.fromarray(noise(*size))
        # Bicubic throughout, and each of the others somewhere.
        names = ["bicubic"]
        if crop_pct == 0.875 and input_size == (32, 32):
            names = list(RESAMPLING)
        for name in names:
            transform = transforms_imagenet_eval(
                img_size=input_size, crop_pct=crop_pct, crop_mode=mode, interpolation=name,
                use_prefetcher=True)
            entry = {"from": list(size), "input": list(input_size), "crop_mode": mode,
                     "crop_pct": crop_pct, "interpolation": name}
            try:
                result = transform(image).numpy().transpose(1, 2, 0)
            except ValueError as error:
                assert "must be > 0" in str(error), error
                entries.append(entry | {"error": True})
                continue
            entries.append(entry | record(result))
    write_json("transform.json", entries)


def make_normalize():
    """Every sample value in every channel, through timm's own transform to float32."""
    ramp = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3, axis=2)
    entries = []
    for mean, std in [((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), ((0.5,) * 3, (0.5,) * 3),
                      ((0.0,) * 3, (1.0,) * 3), ((0.2860406, 0.2860406, 0.2860406),) + ((0.3530242,) * 3,),
                      ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))]:
        transform = transforms_imagenet_eval(
            img_size=16, crop_pct=1.0, interpolation="bicubic", mean=mean, std=std)
        tensor = transform(Image.fromarray(ramp)).numpy()
        assert tensor.shape == (3, 16, 16) and tensor.dtype == np.float32
        entries.append({"mean": mean, "std": std, "chw": tensor.tobytes().hex()})
    write_json("normalize.json", entries)


def make_npy():
    entries = []
    for shape in [(2, 3, 3), (1, 1, 3), (37, 50, 3)]:
        entries.append((noise(shape[1], shape[0]), shape))
    for shape in [(3, 1, 2), (1, 11, 7)]:
        entries.append(((np.arange(np.prod(shape)) - 1.5).astype(np.float32).reshape(shape), shape))
    results = []
    for array, shape in entries:
        buffer = io.BytesIO()
        np.save(buffer, array)
        results.append({"type": str(array.dtype), "shape": shape, "bytes": buffer.getvalue().hex()})
    write_json("npy.json", results)


def main():
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    make_decode()
    make_resize()
    make_transform()
    make_normalize()
    make_npy()
    versions = {"pillow": PIL.__version__, "timm": timm.__version__,
                "torch": torch.__version__, "torchvision": torchvision.__version__,
                "libjpeg-turbo": features.version("libjpeg_turbo"),
                "libwebp": features.version("webp")}
    (OUT / "versions.json").write_text(json.dumps(versions, indent=1) + "\n")


if __name__ == "__main__":
    main()
