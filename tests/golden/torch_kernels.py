#!/usr/bin/env python3
"""Writes torch_kernels.txt beside itself: what torch's interpolate and torchvision's ToTensor and
Normalize give for made-up input, for the tests of the CPU kernels.

Format: a line a case, fp32 numbers as the eight hexadecimal digits of their bits.
  resize MODE in_height in_width out_height out_width channels VALUES...   (channels-last)
  normalize mean0 mean1 mean2 std0 std1 std2 VALUES...                     (256 levels, 3 channels)
The input of a resize is x[i] = (37 i mod 256) / 64 in channels-last order; that of a normalization is
level, level, level for each level. Needs torch; the two transforms are written out as the
operations that torchvision makes of them."""
import struct
from pathlib import Path

import torch

CASES = [
    ("bicubic", 24, 20, 16, 22, 3),
    ("bicubic", 1, 240, 1, 224, 3),
    ("bicubic", 3, 2, 7, 5, 5),
    ("bicubic", 6, 5, 6, 5, 3),
    ("bilinear", 5, 7, 8, 3, 20),
    ("bilinear", 7, 7, 8, 8, 3),
    ("bilinear", 1, 33, 1, 32, 1),
    ("bilinear", 4, 1, 2, 3, 2),
]
NORMALIZATIONS = [
    ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
]


def hexadecimal(values):
    return " ".join(struct.pack(">f", v).hex() for v in values)


def resize_line(mode, in_h, in_w, out_h, out_w, channels):
    count = in_h * in_w * channels
    x = ((torch.arange(count) * 37) % 256).float() / 64
    x = x.reshape(1, in_h, in_w, channels).permute(0, 3, 1, 2).contiguous()
    y = torch.nn.functional.interpolate(x, size=(out_h, out_w), mode=mode, align_corners=False)
    values = y.permute(0, 2, 3, 1).reshape(-1).tolist()
    return f"resize {mode} {in_h} {in_w} {out_h} {out_w} {channels} {hexadecimal(values)}"


def normalize_line(mean, std):
    levels = torch.arange(256, dtype=torch.uint8).to(torch.float32).div(255)
    image = levels[:, None].repeat(1, 3)
    mean, std = torch.tensor(mean, dtype=torch.float32), torch.tensor(std, dtype=torch.float32)
    out = image.sub(mean).div(std)
    return "normalize " + hexadecimal([*mean, *std]) + " " + hexadecimal(out.reshape(-1).tolist())


if __name__ == "__main__":
    lines = [resize_line(*case) for case in CASES] + [normalize_line(*n) for n in NORMALIZATIONS]
    Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
