"""What NVIDIA ModelOpt makes of weights and ranges. Needs torch, timm and nvidia-modelopt (0.47 wrote the
files). Writes beside itself
  modelopt_fp8_scales.json  the scales that its default FP8 configuration gives an example checkpoint's
                            transformer layers
  modelopt_nvfp4.json       a small weight in NVFP4: codes, block scales, tensor scale

Images are made up by a formula, so that the test needs no data and no preprocessing.

    python tests/golden/make_modelopt_scales.py
"""
import json
import pathlib

import modelopt
import modelopt.torch.quantization as mtq
import timm
import torch
from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).resolve().parent
CHECKPOINT = HERE.parents[1] / "examples" / "mobilevit_xxs.fashion_mnist"
LAYERS = (".attn.qkv", ".mlp.fc1", ".mlp.fc2")
IMAGES = 4
E4M3_MAX = 448.0
BLOCK = 16


def write(name: str, content: dict) -> None:
    text = json.dumps({"modelopt": modelopt.__version__, **content}, indent=1)
    (HERE / name).write_text(text + "\n")


def image(index: int, height: int, width: int) -> torch.Tensor:
    """Normalized to [-1, 1]: the test has the same formula."""
    y, x, c = torch.meshgrid(torch.arange(height), torch.arange(width), torch.arange(3), indexing="ij")
    code = (x * (index + 3) + y * (2 * index + 5) + c * 71 + (x * y) // 37) % 256
    return (code.float() / 127.5 - 1).permute(2, 0, 1)


def write_fp8_scales() -> None:
    config = json.loads((CHECKPOINT / "config.json").read_text())
    model = timm.create_model(config["architecture"], num_classes=config["num_classes"])
    model.load_state_dict(load_file(CHECKPOINT / "model.safetensors"))
    model.eval()

    def calibrate(network: torch.nn.Module) -> None:
        with torch.no_grad():
            for index in range(IMAGES):
                network(image(index, 256, 256)[None])

    model = mtq.quantize(model, mtq.FP8_DEFAULT_CFG, calibrate)
    scales = {}
    for name, module in model.named_modules():
        if name.endswith(LAYERS):
            scales[name] = {
                "weight": module.weight_quantizer.amax.item() / E4M3_MAX,
                "input": module.input_quantizer.amax.item() / E4M3_MAX,
            }
    write("modelopt_fp8_scales.json", {"images": IMAGES, "scales": scales})


def write_nvfp4() -> None:
    """Rows of very different sizes, so that block scales differ too."""
    torch.manual_seed(20260)
    weight = torch.randn(6, 48) * torch.logspace(-2, 0, 6)[:, None]
    tensor, scales, tensor_scale = NVFP4QTensor.quantize(weight, BLOCK)
    write("modelopt_nvfp4.json", {
        "dims": list(weight.shape),
        "weight": [float(f"{number:.9g}") for number in weight.flatten().tolist()],
        "codes": tensor._quantized_data.flatten().tolist(),
        "block_scales": scales.view(torch.uint8).flatten().tolist(),
        "tensor_scale": tensor_scale.item(),
    })


if __name__ == "__main__":
    write_fp8_scales()
    write_nvfp4()
