"""The checkpoints, their images and timm's model: what every runner is given."""

import functools
import gzip
import hashlib
import json
import pathlib

import numpy as np
import timm
import torch
from PIL import Image
from safetensors.torch import load_file

from options import ROOT

EXAMPLES = ROOT / "examples"
IMAGES = EXAMPLES / "fashion-mnist/t10k-images-idx3-ubyte.gz"
CALIBRATION_STRIDE = 20  # 500 images
CHECKED = range(5, 10000, 50)  # 200 images, none of them a calibration image
RANDOM_INPUTS = 4


@functools.cache
def grey_images():
    return np.frombuffer(gzip.decompress(IMAGES.read_bytes()), np.uint8, offset=16).reshape(
        -1, 28, 28)


class Inputs:
    """Images as 8-bit RGB [N, H, W, 3], in memory and in a file, and normalized for the network."""

    def __init__(self, pixels, model, path):
        self.pixels, self.model, self.path = pixels, model, path
        path.write_bytes(pixels.tobytes())

    def __len__(self):
        return len(self.pixels)

    def tensor(self, i):
        """float32 [1, 3, H, W]."""
        return self.model.normalize(self.pixels[i])


class Model:
    def __init__(self, name):
        self.name = name
        self.folder = EXAMPLES / f"{name}.fashion_mnist"
        self.config = json.loads((self.folder / "config.json").read_text())
        pretrained = self.config["pretrained_cfg"]
        self.size = tuple(pretrained["input_size"])
        self.mean = np.array(pretrained["mean"], np.float32)
        self.std = np.array(pretrained["std"], np.float32)
        transform = timm.data.create_transform(**timm.data.resolve_data_config(pretrained))
        self.resize_and_crop = transform.transforms[:2]

    def digest(self):
        content = hashlib.sha256()
        for name in ("config.json", "model.safetensors"):
            content.update((self.folder / name).read_bytes())
        return content.hexdigest()[:12]

    def network(self, fused_attention=True):
        """timm's model with the checkpoint's weights, in fp32."""
        timm.layers.set_fused_attn(fused_attention)
        network = timm.create_model(self.config["architecture"],
                                    num_classes=self.config["num_classes"])
        weights = load_file(str(self.folder / "model.safetensors"))
        network.load_state_dict({key: value.float() if value.is_floating_point() else value
                                 for key, value in weights.items()})
        return network.eval()

    def normalize(self, pixels):
        scaled = (pixels.astype(np.float32) / np.float32(255) - self.mean) / self.std
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])

    def pixels(self, image):
        """What timm's evaluation transform makes of `image`, before it is normalized."""
        for step in self.resize_and_crop:
            image = step(image)
        return np.asarray(image)

    def dataset_pixels(self, indices):
        return np.stack([self.pixels(Image.fromarray(grey_images()[i]).convert("RGB"))
                         for i in indices])

    def calibration(self):
        """One normalized image at a time."""
        for i in range(0, len(grey_images()), CALIBRATION_STRIDE):
            yield self.normalize(self.dataset_pixels([i])[0])

    def random_inputs(self, folder):
        """Seeded noise: never zeros, which processors and kernels may treat specially."""
        shape = (RANDOM_INPUTS, *self.size[1:], 3)
        return Inputs(np.random.default_rng(1).integers(0, 256, shape, np.uint8), self,
                      folder / "random.rgb")

    def checked_inputs(self, folder):
        return Inputs(self.dataset_pixels(CHECKED), self, folder / "checked.rgb")

    def reference_logits(self, inputs):
        """timm's own, in fp32: [N, classes]."""
        network = self.network()
        with torch.inference_mode():
            batches = [range(len(inputs))[i:i + 20] for i in range(0, len(inputs), 20)]
            return np.concatenate([
                network(torch.from_numpy(np.concatenate([inputs.tensor(i) for i in batch]))).numpy()
                for batch in batches])


def folder_of(cache: pathlib.Path, model: Model) -> pathlib.Path:
    """Where everything made from this checkpoint is kept: another checkpoint has another folder."""
    folder = cache / f"{model.name}-{model.digest()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
