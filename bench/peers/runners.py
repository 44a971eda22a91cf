"""The peers, each able to take a turn: `load` inputs, then `logits` or `run` one of them.

All are timed on the same boundary: a resident, normalized fp32 tensor to resident fp32 logits.
"""

import time

import numpy as np

import exports


class Runner:
    """One way to run a model. `name` and `precision` identify it in a table."""

    boundary = "device"
    process = None  # of its own, where it has one

    def __init__(self, name, precision, detail=""):
        self.name, self.precision, self.detail = name, precision, detail

    @property
    def key(self):
        return f"{self.name} {self.precision} {self.boundary}"

    def close(self):
        """Gives back what the runner holds."""


class InProcess(Runner):
    """A runner of this process: `take` names the input (not timed), `call` is what is timed."""

    def load(self, inputs):
        self.inputs = inputs

    def logits(self, i):
        self.take(self.inputs.tensor(i))
        self.call()
        return np.array(self.answer(), np.float32).reshape(-1)

    def run(self, i, warm, count):
        """`warm` calls, then `count` whose nanoseconds are returned."""
        self.take(self.inputs.tensor(i))
        for _ in range(warm):
            self.call()
        times = []
        for _ in range(count):
            begin = time.perf_counter_ns()
            self.call()
            times.append(time.perf_counter_ns() - begin)
        return times


class OnnxRuntime(InProcess):
    def __init__(self, name, precision, path, threads, classes):
        import onnxruntime
        super().__init__(name, precision)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        # Its threads spin while it runs, which is its default and its fastest, and stop when it
        # has run: the next in turn must not share its cores with them.
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.runtime = onnxruntime
        self.session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.output = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((1, classes), np.float32))
        self.binding.bind_ortvalue_output(exports.OUTPUT, self.output)

    def take(self, tensor):
        self.binding.bind_ortvalue_input(exports.INPUT,
                                         self.runtime.OrtValue.ortvalue_from_numpy(tensor))

    def call(self):
        self.session.run_with_iobinding(self.binding)

    def answer(self):
        return self.output.numpy()


class OpenVino(InProcess):
    """`hint` is the precision of what the model's own operators leave open."""

    def __init__(self, precision, path, threads, hint):
        import openvino
        rest = "" if precision == hint else f", the rest {hint}"
        super().__init__("OpenVINO" + ("" if precision != "int8" else f" (NNCF{rest})"), precision)
        self.openvino = openvino
        compiled = openvino.Core().compile_model(str(path), "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16"}[hint],
            # Pinned threads of several runtimes would sit on the same core.
            "ENABLE_CPU_PINNING": False})
        self.request = compiled.create_infer_request()

    def take(self, tensor):
        self.request.set_input_tensor(self.openvino.Tensor(tensor, shared_memory=True))
        self.tensor = tensor

    def call(self):
        self.request.infer()

    def answer(self):
        return self.request.get_output_tensor().data


class TorchCompile(InProcess):
    """Inductor with frozen weights: folded and packed ahead, its own recommendation for CPUs."""

    def __init__(self, precision, network):
        import torch
        import torch._inductor.config
        super().__init__("torch.compile", precision)
        torch._inductor.config.freezing = True
        self.torch = torch
        self.compiled = torch.compile(network)
        self.autocast = precision == "bf16"

    def take(self, tensor):
        self.tensor = self.torch.from_numpy(tensor)

    def call(self):
        with self.torch.no_grad(), \
                self.torch.autocast("cpu", self.torch.bfloat16, enabled=self.autocast):
            self.output = self.compiled(self.tensor)

    def answer(self):
        return self.output.float().numpy()
