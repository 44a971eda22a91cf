"""The same weights in the peers' formats. Each file is made once and kept, under a name that holds
the versions of what made it."""

import contextlib
import importlib.metadata
import io
import os
import warnings

import numpy as np

INPUT, OUTPUT = "x", "logits"
OPSET = 17


def _version(*packages):
    return "-".join(f"{name}{importlib.metadata.version(name)}" for name in packages)


def _made(path, make):
    """`path`, made by `make(temporary path)` where it is not there yet."""
    if not path.exists():
        temporary = path.with_name("making." + path.name)
        make(temporary)
        os.replace(temporary, path)
    return path


@contextlib.contextmanager
def _quiet():
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), \
            contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def onnx(model, folder):
    def make(path):
        import torch
        with _quiet():
            # Attention in its parts: what ONNX has operators for at this opset.
            torch.onnx.export(model.network(fused_attention=False),
                              torch.zeros(1, *model.size), str(path), opset_version=OPSET,
                              dynamo=False, input_names=[INPUT], output_names=[OUTPUT])
    return _made(folder / f"fp32.{_version('torch', 'timm')}.onnx", make)


def _bicubic_matrix(size_in, size_out):
    """[size_out, size_in]: torch's bicubic resize along one axis, read off unit vectors."""
    import torch
    units = torch.eye(size_in)[None, None]
    resized = torch.nn.functional.interpolate(units, size=(size_out, size_in), mode="bicubic",
                                              align_corners=False)
    return resized[0, 0].numpy()


def _with_products(graph_model):
    """`graph_model` with every bicubic Resize as two products by constant matrices; the products'
    names. ONNX Runtime has no fast bicubic kernel: in CrossViT it takes most of the time."""
    import onnx as format_
    from onnx import helper, numpy_helper
    graph_model = format_.shape_inference.infer_shapes(graph_model, data_prop=True)
    graph = graph_model.graph
    shapes = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim]
              for value in [*graph.input, *graph.value_info, *graph.output]}
    names, nodes = [], []
    for node in graph.node:
        mode = [a.s for a in node.attribute if a.name == "mode"]
        if node.op_type != "Resize" or mode != [b"cubic"]:
            nodes.append(node)
            continue
        name = f"resize{len(names) // 2}"
        before, after = shapes[node.input[0]][2:], shapes[node.output[0]][2:]
        for suffix, matrix in (("rows", _bicubic_matrix(before[0], after[0])),
                               ("columns", _bicubic_matrix(before[1], after[1]).T)):
            graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(matrix),
                                                             f"{name}.{suffix}"))
            names.append(f"{name}.{suffix}.product")
        nodes.append(helper.make_node("MatMul", [f"{name}.rows", node.input[0]], [f"{name}.wide"],
                                      name=names[-2]))
        nodes.append(helper.make_node("MatMul", [f"{name}.wide", f"{name}.columns"],
                                      [node.output[0]], name=names[-1]))
    del graph.node[:]
    graph.node.extend(nodes)
    return graph_model, names


def has_bicubic(model, folder):
    import onnx as format_
    return bool(_with_products(format_.load(onnx(model, folder)))[1])


def onnx_with_products(model, folder):
    def make(path):
        import onnx as format_
        format_.save(_with_products(format_.load(onnx(model, folder)))[0], path)
    return _made(folder / f"products.{_version('torch', 'timm')}.onnx", make)


def onnx_int8(model, folder):
    """ONNX Runtime's own static quantization: QDQ, u8 activations, s8 weights per channel, every
    operator that it can. Bicubic resizes are products here, and stay in fp32."""
    def make(path):
        from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                              quantize_static)
        from onnxruntime.quantization.shape_inference import quant_pre_process

        class Reader(CalibrationDataReader):
            def __init__(self):
                self.tensors = ({INPUT: tensor} for tensor in model.calibration())

            def get_next(self):
                return next(self.tensors, None)

        prepared = folder / "prepared.onnx"
        with _quiet():
            import onnx as format_
            source = onnx_with_products(model, folder)
            resizes = [node.name for node in format_.load(source).graph.node
                       if node.name.startswith("resize") and node.name.endswith(".product")]
            quant_pre_process(str(source), str(prepared))
            quantize_static(str(prepared), str(path), Reader(), quant_format=QuantFormat.QDQ,
                            per_channel=True, activation_type=QuantType.QUInt8,
                            weight_type=QuantType.QInt8, nodes_to_exclude=resizes)
        prepared.unlink()
    return _made(folder / f"int8.{_version('onnxruntime')}.onnx", make)


def onnx_optimized(model, folder):
    """What ONNX Runtime makes of the graph when it loads it, stored, so that loading need not."""
    def make(path):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(path)
        options.log_severity_level = 3  # it warns that such a file is for this machine alone
        onnxruntime.InferenceSession(str(onnx(model, folder)), options, ["CPUExecutionProvider"])
    return _made(folder / f"optimized.{_version('onnxruntime')}.onnx", make)


def openvino_int8(model, folder):
    """NNCF's post-training quantization with its preset for transformers, over the same images."""
    path = folder / f"int8.{_version('openvino', 'nncf')}.xml"
    if not path.exists():
        with _quiet():
            import nncf
            import openvino
            images = list(model.calibration())
            quantized = nncf.quantize(openvino.Core().read_model(onnx(model, folder)),
                                      nncf.Dataset(images), subset_size=len(images),
                                      model_type=nncf.ModelType.TRANSFORMER)
            # Two files: the .xml, which says that they are there, is moved last.
            temporary = folder / ("making." + path.name)
            openvino.save_model(quantized, str(temporary), compress_to_fp16=False)
        os.replace(temporary.with_suffix(".bin"), path.with_suffix(".bin"))
        os.replace(temporary, path)
    return path


def reference(model, inputs, folder):
    """timm's logits of `inputs`, kept beside them."""
    name = f"{inputs.path.stem}.{_version('torch', 'timm')}.npy"

    def make(path):
        with path.open("wb") as file:
            np.save(file, model.reference_logits(inputs))
    return np.load(_made(folder / name, make))
