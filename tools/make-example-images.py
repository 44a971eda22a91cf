#!/usr/bin/env python3
"""Writes examples/images: the first image of each class of examples/fashion-mnist, as it is, one of them
as JPEG and one as WebP. Needs Pillow.

  python tools/make-example-images.py
"""
import gzip
import json
import pathlib
import struct

from PIL import Image

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
FORMATS = {"bag": ("jpg", {"quality": 95}), "coat": ("webp", {"quality": 95})}


def read_idx(path):
    data = gzip.decompress(path.read_bytes())
    rank = data[3]
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return shape, data[4 + 4 * rank :]


def main():
    (count, height, width), pixels = read_idx(EXAMPLES / "fashion-mnist/t10k-images-idx3-ubyte.gz")
    _, labels = read_idx(EXAMPLES / "fashion-mnist/t10k-labels-idx1-ubyte.gz")
    config = json.loads((EXAMPLES / "mobilevit_xxs.fashion_mnist/config.json").read_text())
    folder = EXAMPLES / "images"
    folder.mkdir(exist_ok=True)
    for index, name in enumerate(config["pretrained_cfg"]["label_names"]):
        first = labels.index(index)
        size = height * width
        image = Image.frombytes("L", (width, height), pixels[first * size : (first + 1) * size])
        suffix, options = FORMATS.get(name, ("png", {"optimize": True}))
        image.save(folder / f"{name.replace(' ', '_').replace('/', '_')}.{suffix}", **options)


main()
