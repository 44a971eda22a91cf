#!/usr/bin/env python3
"""Writes src/checkpoint/imagenet_labels.cpp: the names of ImageNet-1k's 1,000 classes.

The names are the WordNet lemmas of the ILSVRC 2012 synsets, in the order of their ids, which is the
order of every published ImageNet-1k classifier. They are read from an installed timm:

    python3 tools/make-imagenet-labels.py
"""

import json
import pathlib

from timm.data import ImageNetInfo

TARGET = pathlib.Path(__file__).resolve().parent.parent / "src/checkpoint/imagenet_labels.cpp"
HEAD = """// Made by tools/make-imagenet-labels.py; not edited by hand.
// The WordNet lemmas of the ILSVRC 2012 synsets, in the order of their ids.
#include <array>

#include "checkpoint/checkpoint.h"

namespace assay::checkpoint {
namespace {

// clang-format off
constexpr std::array<std::string_view, 1000> kLabels{
"""
TAIL = """};
// clang-format on

}  // namespace

std::span<const std::string_view> imagenet1k_labels() { return kLabels; }

}  // namespace assay::checkpoint
"""


def main():
    info = ImageNetInfo("imagenet-1k")
    synsets = info.label_names()
    if len(synsets) != 1000 or synsets != sorted(synsets):
        raise SystemExit("expected 1,000 synsets in the order of their ids")
    lines = [f"    {json.dumps(name)},\n" for name in info.label_descriptions()]
    TARGET.write_text(HEAD + "".join(lines) + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
