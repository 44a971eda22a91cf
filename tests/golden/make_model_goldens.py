#!/usr/bin/env python3
"""What timm says of the supported architectures, for tests/families.

    python tests/golden/make_model_goldens.py

needs torch, timm, numpy and safetensors. Writes beside itself
  model_tensors.FAMILY.tsv     every tensor's name, and its shape in each architecture
  model_attributes.FAMILY.tsv  every attention's heads and every normalization's epsilon
  model_logits.safetensors     logits and features of the examples for a made image, in float64,
                               and a few images of the Fashion-MNIST test set with their positions
"""
import gzip
import pathlib

import numpy as np
import timm
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
FAMILIES = {
    "crossvit": [f"crossvit_{size}_240" for size in ("tiny", "small", "base", "9", "15", "18")],
    "mobilevit": [f"mobilevit_{size}" for size in ("xxs", "xs", "s")],
}
# The last two sizes make maps that MobileViT's patch does not divide.
LOGITS = [
    ("crossvit_9_240", 240, 240),
    ("mobilevit_xxs", 256, 256),
    ("mobilevit_xs", 256, 256),
    ("mobilevit_s", 256, 256),
    ("mobilevit_xxs", 200, 232),
    ("mobilevit_xxs", 96, 160),
]
TEST_IMAGES = [0, 4711]


def write_table(path, first, columns):
    """One row a name, one column an architecture; '-' where it has no such name."""
    rows = {name: None for column in columns.values() for name in column}
    with open(path, "w", newline="\n") as out:
        out.write("\t".join([first, *columns]) + "\n")
        for name in sorted(rows):
            out.write("\t".join([name, *(column.get(name, "-") for column in columns.values())]) + "\n")


def shapes(model):
    return {name: "x".join(map(str, tensor.shape)) or "scalar"
            for name, tensor in model.state_dict().items()}


def attributes(model):
    found = {}
    for name, module in model.named_modules():
        if hasattr(module, "num_heads") and hasattr(module, "scale"):
            found[name] = f"heads {module.num_heads} scale {module.scale:.9g}"
        elif isinstance(module, (torch.nn.LayerNorm, torch.nn.BatchNorm2d)):
            found[name] = f"epsilon {module.eps:g}"
    return found


def made_image(height, width):
    """8-bit RGB [H, W, 3] that a test can make again: no two rows, columns or channels alike."""
    y, x, c = np.ogrid[:height, :width, :3]
    return ((7 * y + 13 * x + 57 * c + x * y // 16) % 256).astype(np.uint8)


def example(architecture, height, width):
    folder = EXAMPLES / f"{architecture}.fashion_mnist"
    size = {"img_size": (height, width)} if architecture.startswith("crossvit") else {}
    model = timm.create_model(architecture, num_classes=10, **size)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    model = model.double().eval()
    config = timm.data.resolve_data_config({}, model=model)
    image = torch.from_numpy(made_image(height, width)).permute(2, 0, 1)[None].double() / 255
    mean, std = (torch.tensor(config[key]).double().view(1, 3, 1, 1) for key in ("mean", "std"))
    with torch.inference_mode():
        hidden = model.forward_features((image - mean) / std)
        features = model.forward_head(hidden, pre_logits=True)
        return features[0].float().numpy(), model.forward_head(hidden)[0].float().numpy()


def test_images():
    with gzip.open(EXAMPLES / "fashion-mnist" / "t10k-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    return {"fashion_mnist/images": images[TEST_IMAGES].copy(),
            "fashion_mnist/positions": np.array(TEST_IMAGES)}


def main():
    for family, architectures in FAMILIES.items():
        models = {name: timm.create_model(name) for name in architectures}
        write_table(HERE / f"model_tensors.{family}.tsv", "tensor",
                    {name: shapes(model) for name, model in models.items()})
        write_table(HERE / f"model_attributes.{family}.tsv", "module",
                    {name: attributes(model) for name, model in models.items()})
    answers = test_images()
    for architecture, height, width in LOGITS:
        features, logits = example(architecture, height, width)
        answers[f"{architecture}/{height}x{width}/features"] = features
        answers[f"{architecture}/{height}x{width}/logits"] = logits
    path = HERE / "model_logits.safetensors"
    save_file(answers, path)
    path.chmod(0o644)


if __name__ == "__main__":
    main()
