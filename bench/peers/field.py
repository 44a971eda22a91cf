"""Who runs: every runner of one model, or the reason why it can't."""

import assay
import exports
from runners import OnnxRuntime, OpenVino, TorchCompile


BY_PRODUCTS = "ONNX Runtime (bicubic as products)"


class Absent:
    """A row for a runner that is not there."""

    def __init__(self, name, precision, reason):
        self.name, self.precision, self.reason = name, precision, reason


def entries(model, folder, programs, options):
    """(name, precision, how to make its runners), Assay first within each precision."""
    threads, classes = options.threads, model.config["num_classes"]

    def ours(precision):
        process = assay.Process(programs.bench("assay_runner"),
                                programs.bundle(model, precision, folder), threads)
        return [assay.Assay(process, precision, boundary) for boundary in ("device", "call")]

    def ort(precision, export, name="ONNX Runtime"):
        return [OnnxRuntime(name, precision, export(model, folder), threads, classes)]

    def openvino(precision, hint):
        export = exports.openvino_int8 if precision == "int8" else exports.onnx
        return [OpenVino(precision, export(model, folder), threads, hint)]

    yield "Assay", "fp32", lambda: ours("fp32")
    yield "ONNX Runtime", "fp32", lambda: ort("fp32", exports.onnx)
    if exports.has_bicubic(model, folder):
        yield BY_PRODUCTS, "fp32", lambda: ort("fp32", exports.onnx_with_products, BY_PRODUCTS)
    yield "OpenVINO", "fp32", lambda: openvino("fp32", "fp32")
    yield "torch.compile", "fp32", lambda: [TorchCompile("fp32", model.network())]
    yield "Assay", "bf16", lambda: ours("bf16")
    yield "OpenVINO", "bf16", lambda: openvino("bf16", "bf16")
    yield "torch.compile", "bf16", lambda: [TorchCompile("bf16", model.network())]
    yield "Assay", "int8", lambda: ours("int8")
    yield "ONNX Runtime", "int8", lambda: ort("int8", exports.onnx_int8)
    yield "OpenVINO (NNCF, the rest fp32)", "int8", lambda: openvino("int8", "fp32")
    yield "OpenVINO (NNCF, the rest bf16)", "int8", lambda: openvino("int8", "bf16")


def wanted(name, precision, options):
    if (name, precision) == ("ONNX Runtime", "fp32"):
        return True  # what all others are measured by
    return precision in options.precisions and not (options.no_torch and name == "torch.compile")


def assemble(model, folder, programs, options, log):
    """Runners ready to run, and Absent ones with their reasons."""
    present, absent = [], []
    for name, precision, make in entries(model, folder, programs, options):
        if not wanted(name, precision, options):
            continue
        log(f"{model.name}: preparing {name} {precision}")
        try:
            present += make()
        except Exception as error:  # whatever a runtime throws: it is absent, and the row says why
            absent.append(Absent(name, precision, " ".join(str(error).split())[:200]))
            log(f"{model.name}: {name} {precision} is not available: {absent[-1].reason}")
    return present, absent
