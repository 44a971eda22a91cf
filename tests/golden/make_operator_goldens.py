#!/usr/bin/env python3
"""What torch says of every operator of the graph, for tests/graph.

    python tests/golden/make_operator_goldens.py

needs torch, numpy and safetensors. Writes operators.safetensors beside itself: for each case its
inputs ("CASE/0", "CASE/1", ...) and its answer ("CASE/y"), channels last, and in the metadata, under
"cases", the operator of each case as the graph's JSON writes it. Answers are computed in float64 and
stored as fp32, but for the resizes: where torch samples an image is rounded to fp32 on purpose.
"""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
torch.manual_seed(20260)
CASES, TENSORS = {}, {}


def random(*shape, low=-1.0, high=1.0):
    return torch.empty(shape).uniform_(low, high)


def case(name, op, fields, inputs, answer, single=False):
    """`answer` computes the case from its inputs in float64, or in fp32 where `single`."""
    CASES[name] = {"op": op, **fields}
    y = answer(*(x if single else x.double() for x in inputs)).float()
    for i, tensor in enumerate([*inputs, y]):
        key = f"{name}/{i if i < len(inputs) else 'y'}"
        TENSORS[key] = tensor.numpy().astype(np.float32).copy(order="C")


def channels_first(x):
    return x.permute(2, 0, 1)[None]


def channels_last(x):
    return x[0].permute(1, 2, 0)


ACTIVATIONS = {"none": lambda x: x, "gelu": F.gelu, "silu": F.silu}


def conv(name, size, weight, bias=False, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
         activation="none"):
    inputs = [random(*size), random(*weight)] + ([random(weight[0])] if bias else [])
    fields = dict(stride=stride, padding=padding, dilation=dilation, groups=groups,
                  activation=activation)

    def answer(x, w, b=None):
        y = F.conv2d(channels_first(x), w, b, stride, padding, dilation, groups)
        return ACTIVATIONS[activation](channels_last(y))
    case(name, "conv2d", fields, inputs, answer)


def attention(name, q, keys, heads, scale):
    def split(x):
        return x.unflatten(-1, (heads, -1)).transpose(-2, -3)

    def answer(q, k, v):
        y = F.scaled_dot_product_attention(split(q), split(k), split(v), scale=scale)
        return y.transpose(-2, -3).flatten(-2)
    kv = (*q[:-2], keys, q[-1])
    case(name, "attention", dict(heads=heads, scale=scale), [random(*q), random(*kv), random(*kv)],
         answer)


def resize(name, mode, size, to):
    def answer(x):
        return channels_last(F.interpolate(channels_first(x), to, mode=mode, align_corners=False))
    case(name, "resize", dict(mode=mode, height=to[0], width=to[1]), [random(*size)], answer,
         single=True)


def fake_quantize(name, number_format, scale, zero_point=0, to=None):
    """Rounds numbers that fill the format's range and, where it saturates, some beyond it."""
    scale = float(np.float32(scale))
    # fp16's are kept below the largest, which they would pass as infinity.
    largest = {torch.float8_e4m3fn: 448.0, torch.float16: 15000.0}.get(to, 300.0)

    def answer(x):
        # Both in fp32, as the operator says; the codes by torch's own conversions.
        scaled = x * torch.tensor(1 / np.float32(scale))
        if number_format == "affine_u8":
            codes = (scaled.double() + zero_point).round().clamp(0, 255)
            return (codes - zero_point).float() * scale
        codes = scaled.clamp(-448, 448) if to is torch.float8_e4m3fn else scaled
        return codes.to(to).float() * scale
    # Magnitudes from far below the smallest number to beyond the largest.
    x = random(5, 33, low=-20, high=1).exp2() * (2 * largest * scale) * random(5, 33).sign()
    case(name, "fake_quantize", dict(format=number_format, scale=scale, zero_point=zero_point), [x],
         answer, single=True)


def main():
    conv("conv_1x1", (5, 6, 4), (9, 4, 1, 1))
    conv("conv_3x3_padded", (6, 5, 3), (10, 3, 3, 3), bias=True, padding=(1, 1), activation="silu")
    conv("conv_stride_2", (7, 9, 4), (5, 4, 3, 3), stride=(2, 2), padding=(1, 1))
    conv("conv_uneven", (8, 9, 2), (3, 2, 3, 2), bias=True, stride=(2, 1), padding=(0, 2))
    conv("conv_dilated", (9, 8, 3), (4, 3, 3, 3), padding=(2, 1), dilation=(2, 3))
    conv("conv_groups", (5, 6, 6), (9, 2, 3, 3), bias=True, padding=(1, 1), groups=3)
    conv("conv_depthwise", (6, 6, 8), (8, 1, 3, 3), stride=(2, 2), padding=(1, 1), groups=8,
         activation="gelu")
    conv("conv_patches", (12, 9, 3), (17, 3, 4, 3), bias=True, stride=(4, 3))

    case("linear", "linear", dict(activation="none"), [random(7, 9), random(11, 9)], F.linear)
    case("linear_bias_gelu", "linear", dict(activation="gelu"),
         [random(2, 5, 6), random(19, 6), random(19)], lambda x, w, b: F.gelu(F.linear(x, w, b)))
    case("linear_vector", "linear", dict(activation="silu"), [random(12), random(3, 12), random(3)],
         lambda x, w, b: F.silu(F.linear(x, w, b)))

    for epsilon in (1e-6, 1e-5, 1e-2):
        # Rows as small as this show the epsilon.
        case(f"layer_norm_{epsilon:g}", "layer_norm", dict(epsilon=epsilon),
             [random(4, 9, low=-4e-3, high=6e-3), random(9), random(9)],
             lambda x, w, b: F.layer_norm(x, (9,), w, b, epsilon))
        case(f"batch_norm_{epsilon:g}", "batch_norm", dict(epsilon=epsilon),
             [random(3, 4, 5), random(5), random(5), random(5), random(5, low=1e-6, high=1e-4)],
             lambda x, w, b, mean, var: (x - mean) / torch.sqrt(var + epsilon) * w + b)

    attention("attention", (7, 12), 7, 3, 0.5)
    attention("attention_cross", (1, 18), 5, 3, 6 ** -0.5)
    attention("attention_batched", (4, 6, 10), 6, 2, 5 ** -0.5)
    attention("attention_sharp", (6, 8), 9, 1, 40.0)

    for name, function in ACTIVATIONS.items():
        case(f"activate_{name}", "activate", dict(activation=name),
             [torch.linspace(-20, 20, 99).reshape(3, 33)], function)
    case("softmax", "softmax", {}, [random(4, 9, low=-40, high=40)], lambda x: x.softmax(-1))
    case("add", "add", {}, [random(3, 4, 5), random(3, 4, 5)], torch.add)
    case("add_suffix", "add", {}, [random(3, 4, 5), random(4, 5)], torch.add)
    case("add_prefix_missing", "add", {}, [random(6), random(2, 3, 6)], torch.add)
    case("mul", "mul", {}, [random(3, 4, 5), random(5)], torch.mul)
    case("mul_scalar", "mul", {}, [random(3, 4, 5), random()], torch.mul)

    case("concat_0", "concat", dict(axis=0), [random(2, 3), random(1, 3), random(4, 3)],
         lambda *x: torch.cat(x, 0))
    case("concat_1", "concat", dict(axis=1), [random(2, 3, 4), random(2, 1, 4)],
         lambda *x: torch.cat(x, 1))
    case("concat_2", "concat", dict(axis=2), [random(3, 2, 4), random(3, 2, 5)],
         lambda *x: torch.cat(x, 2))
    case("slice", "slice", dict(axis=1, begin=2, end=5), [random(3, 6, 4)], lambda x: x[:, 2:5])
    case("reshape", "reshape", dict(dims=[4, 9]), [random(3, 3, 4)], lambda x: x.reshape(4, 9))
    case("transpose", "transpose", dict(permutation=[1, 3, 0, 2, 4]), [random(3, 2, 4, 2, 5)],
         lambda x: x.permute(1, 3, 0, 2, 4))
    case("mean_spatial", "mean", dict(axes=[0, 1]), [random(3, 4, 5)], lambda x: x.mean((0, 1)))
    case("mean_middle", "mean", dict(axes=[1]), [random(3, 4, 5)], lambda x: x.mean(1))
    case("mean_all", "mean", dict(axes=[0, 1]), [random(3, 4)], lambda x: x.mean())

    for mode in ("bilinear", "bicubic"):
        resize(f"{mode}_down", mode, (15, 30, 3), (14, 28))
        resize(f"{mode}_up", mode, (5, 7, 3), (6, 8))
        resize(f"{mode}_far_down", mode, (16, 21, 2), (3, 4))
        resize(f"{mode}_far_up", mode, (3, 2, 2), (13, 11))
        resize(f"{mode}_one_pixel", mode, (1, 1, 3), (2, 3))
        resize(f"{mode}_same", mode, (4, 3, 3), (4, 3))

    fake_quantize("fake_quantize_e4m3", "e4m3", 0.017, to=torch.float8_e4m3fn)
    fake_quantize("fake_quantize_fp16", "fp16", 1.0, to=torch.float16)
    fake_quantize("fake_quantize_bf16", "bf16", 1.0, to=torch.bfloat16)
    fake_quantize("fake_quantize_affine_u8", "affine_u8", 0.031, 77)

    path = HERE / "operators.safetensors"
    save_file(TENSORS, path, metadata={"cases": json.dumps(CASES, sort_keys=True)})
    path.chmod(0o644)


if __name__ == "__main__":
    main()
