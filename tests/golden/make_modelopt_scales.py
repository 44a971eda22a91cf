"""The scales that NVIDIA ModelOpt's default FP8 configuration gives an example checkpoint's transformer
layers: modelopt_fp8_scales.json. Needs torch, timm and nvidia-modelopt (0.47 wrote the file).

Images are made up by a formula, so that the test needs no data and no preprocessing.

    python tests/golden/make_modelopt_scales.py
"""
import json
import pathlib

import modelopt
import modelopt.torch.quantization as mtq
import timm
import torch
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).resolve().parent
CHECKPOINT = HERE.parents[1] / "examples" / "mobilevit_xxs.fashion_mnist"
LAYERS = (".attn.qkv", ".mlp.fc1", ".mlp.fc2")
IMAGES = 4
E4M3_MAX = 448.0


def image(index: int, height: int, width: int) -> torch.Tensor:
    """Normalized to [-1, 1]: the test has the same formula."""
    y, x, c = torch.meshgrid(torch.arange(height), torch.arange(width), torch.arange(3), indexing="ij")
    code = (x * (index + 3) + y * (2 * index + 5) + c * 71 + (x * y) // 37) % 256
    return (code.float() / 127.5 - 1).permute(2, 0, 1)


def main() -> None:
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
    text = json.dumps({"modelopt": modelopt.__version__, "images": IMAGES, "scales": scales}, indent=1)
    (HERE / "modelopt_fp8_scales.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
