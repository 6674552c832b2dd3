"""Every kernel with a faster way, timed against the plain way and against TensorFlow.

    python benchmarks/kernels.py                            # the faster ways against the plain ones
    python benchmarks/kernels.py --tensorflow PYTHON        # and against TensorFlow, in that Python
    python benchmarks/kernels.py --only Conv,MaxPool --rounds 9 --threads 2

Each case is a graph of one op whose inputs are variables, run through a callable that fetches
nothing, so that neither side returns its result. The sides take turns, block by block, and the
first of a round changes from round to round; a block lasts about ``--block-ms``. Times are the
median of the blocks' means, followed by the minimum, in microseconds. ``/plain`` and ``/TF`` are
ratios of medians: below 1.00 the faster way is faster. Each side has one thread, and processor time
is measured, which a busy machine affects less; ``--wall`` measures wall time, which ``--threads``
above 1 needs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Before NumPy is imported: these variables hide instructions of the processor from OpenBLAS.
for _pin in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_pin, None)

import numpy as np  # noqa: E402 - the environment is read when it is imported

# Parameters that TensorFlow's raw_ops name differently from its op definitions.
_RENAMED = {("Select", "t"): "x", ("Select", "e"): "y"} | {
    (op, "reduction_indices"): "axis" for op in ("All", "Max", "Mean", "Min", "Prod", "Sum")
}

_UNARY = ["Sigmoid", "Tanh", "Rsqrt", "Log1p", "Expm1", "Sign", "Round", "Softplus", "Relu",
          "Relu6", "Elu", "Selu", "LeakyRelu"]  # fmt: skip
_GRADIENTS = ["ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "LeakyReluGrad", "SoftplusGrad",
              "SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad"]  # fmt: skip


class Slot:
    """A variable that the op writes to."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Constant:
    """An input whose value is constant in the graph."""

    def __init__(self, value: Any, dtype: str = "i4") -> None:
        self.value = np.array(value, dtype)


def cases() -> dict[str, tuple[str, list[Any], dict[str, Any]]]:
    """Return the cases: name to op, inputs and attributes."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, "f4")

    matrix, other, row = normal(1000, 1000), normal(1000, 1000), normal(1000)
    positive, mask = abs(matrix) + np.float32(0.1), matrix > 0
    found: dict[str, tuple[str, list[Any], dict[str, Any]]] = {}

    def case(name: str, op: str, *inputs: Any, **attrs: Any) -> None:
        found[name] = (op, list(inputs), attrs)

    for op in ("Add", "Maximum", "SquaredDifference", "FloorDiv", "FloorMod"):
        case(f"{op} 1M", op, matrix, other)
    case("Maximum scalar", "Maximum", matrix, np.float32(0))
    case("BiasAdd 1M", "BiasAdd", matrix, row)
    case("BiasAddGrad 1M", "BiasAddGrad", matrix)
    for op in _UNARY:
        case(f"{op} 1M", op, positive if op in ("Rsqrt", "Log1p") else matrix)
    for op in _GRADIENTS:
        case(f"{op} 1M", op, matrix, other)
    case("Select 1M", "Select", mask, matrix, other)
    case("SelectV2 1M", "SelectV2", mask, matrix, other)
    for op in ("Sum", "Mean", "Max", "Min", "Prod"):
        for axes, name in ((0, "columns"), (1, "rows"), ([0, 1], "all")):
            case(f"{op} {name}", op, matrix, Constant(axes))
    images = normal(32, 28, 28, 32)
    case("Sum images 012", "Sum", images, Constant([0, 1, 2]))
    case("Mean images 12", "Mean", images, Constant([1, 2]))
    case("All rows", "All", mask, Constant(1))
    case("ArgMax rows", "ArgMax", matrix, Constant(1))
    case("ArgMax columns", "ArgMax", matrix, Constant(0))
    case("L2Loss 1M", "L2Loss", matrix)
    case("AddN 3x1M", "AddN", [matrix, other, matrix])
    case("Transpose 1M", "Transpose", matrix, Constant([1, 0]))
    case("Transpose NHWC", "Transpose", images, Constant([0, 3, 1, 2]))
    case("MatMul 512", "MatMul", normal(512, 512), normal(512, 512))
    case("MatMul 64x784x256", "MatMul", normal(64, 784), normal(784, 256))
    case("MatMul 32", "MatMul", normal(32, 32), normal(32, 32))
    case("BatchMatMul 64x64", "BatchMatMulV2", normal(64, 64, 64), normal(64, 64, 64))
    labels = rng.integers(0, 1000, 1000).astype("i4")
    small, small_labels = normal(64, 10), rng.integers(0, 10, 64).astype("i4")
    for name, logits, classes in (("64x10", small, small_labels), ("1000x1000", matrix, labels)):
        dense = np.eye(logits.shape[1], dtype="f4")[classes]
        case(f"Softmax {name}", "Softmax", logits)
        case(f"LogSoftmax {name}", "LogSoftmax", logits)
        case(f"Xent {name}", "SoftmaxCrossEntropyWithLogits", logits, dense)
        case(f"SparseXent {name}", "SparseSoftmaxCrossEntropyWithLogits", logits, classes)
    case("Cumsum rows", "Cumsum", matrix, Constant(1))
    case("Cumsum columns", "Cumsum", matrix, Constant(0))
    case("TopK 10", "TopKV2", matrix, Constant(10))
    case("OneHot", "OneHot", labels, Constant(1000), np.float32(1), np.float32(0))
    case("Concat", "ConcatV2", [matrix, other], Constant(1))
    case("Pad", "Pad", images, Constant([[0, 0], [1, 1], [1, 1], [0, 0]]))
    table, ids = normal(20_000, 64), rng.integers(0, 20_000, 10_000).astype("i4")
    case("Gather", "GatherV2", table, ids, Constant(0))
    rows, segments = normal(10_000, 64), rng.integers(0, 1000, 10_000).astype("i4")
    case("UnsortedSegmentSum", "UnsortedSegmentSum", rows, segments, Constant(1000))
    case("UnsortedSegmentMax", "UnsortedSegmentMax", rows, segments, Constant(1000))
    case("SegmentSum", "SegmentSum", rows, np.sort(segments))
    case("SegmentMean", "SegmentMean", rows, np.sort(segments))
    case("ScatterAdd", "ResourceScatterAdd", Slot(table), ids, rows)
    step: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    two: dict[str, Any] = {"strides": [1, 2, 2, 1], "padding": "SAME"}
    convolutions: list[tuple[str, Any, Any, dict[str, Any]]] = [
        ("LeNet 1", normal(64, 28, 28, 1), normal(5, 5, 1, 32), step),
        ("LeNet 2", normal(64, 14, 14, 32), normal(5, 5, 32, 64), step),
        ("3x3 56x56x64", normal(8, 56, 56, 64), normal(3, 3, 64, 64), step),
        ("3x3 28x28x32", images, normal(3, 3, 32, 32), step),
        ("3x3 14x14x128", normal(8, 14, 14, 128), normal(3, 3, 128, 128), step),
        ("3x3 7x7x256", normal(8, 7, 7, 256), normal(3, 3, 256, 256), step),
        ("3x3 s2", normal(8, 56, 56, 64), normal(3, 3, 64, 64), two),
        ("1x1", images, normal(1, 1, 32, 64), step),
        ("stem 7x7 s2", normal(4, 224, 224, 3), normal(7, 7, 3, 64), two),
    ]
    for name, x, kernel, attrs in convolutions:
        stride = attrs["strides"][1]
        batch, height, width, _ = x.shape
        y = normal(batch, -(-height // stride), -(-width // stride), kernel.shape[-1])
        case(f"Conv {name}", "Conv2D", x, kernel, **attrs)
        case(f"ConvInput {name}", "Conv2DBackpropInput", Constant(x.shape), kernel, y, **attrs)
        case(f"ConvFilter {name}", "Conv2DBackpropFilter", x, Constant(kernel.shape), y, **attrs)
    wide = normal(4, 112, 112, 32)
    for name, x, attrs in (("28", images, step), ("112", wide, step), ("112 s2", wide, two)):
        kernel = normal(3, 3, x.shape[-1], 1)
        stride = attrs["strides"][1]
        y = normal(x.shape[0], x.shape[1] // stride, x.shape[2] // stride, x.shape[3])
        op = "DepthwiseConv2dNative"
        case(f"Depthwise {name}", op, x, kernel, **attrs)
        case(f"DepthwiseInput {name}", f"{op}BackpropInput", Constant(x.shape), kernel, y, **attrs)
        case(
            f"DepthwiseFilter {name}", f"{op}BackpropFilter", x, Constant(kernel.shape), y, **attrs
        )
    for size in (2, 3):
        pool = {"ksize": [1, size, size, 1], **two}
        half = np.ascontiguousarray(images[:, ::2, ::2])
        case(f"MaxPool {size}x{size} s2", "MaxPool", images, **pool)
        case(f"AvgPool {size}x{size} s2", "AvgPool", images, **pool)
        case(f"MaxPoolGrad {size}x{size} s2", "MaxPoolGrad", images, Slot(None), half, **pool)
        case(f"AvgPoolGrad {size}x{size} s2", "AvgPoolGrad", Constant(images.shape), half, **pool)
    text = normal(64, 54, 1, 100)
    whole: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    case("MaxPool whole length", "MaxPool", text, ksize=[1, 54, 1, 1], **whole)
    pooled = normal(64, 1, 1, 100)
    case(
        "MaxPoolGrad whole length", "MaxPoolGrad", text, Slot(None), pooled, ksize=[1, 54, 1, 1],
        **whole,
    )  # fmt: skip
    case("AvgPool whole image", "AvgPool", normal(8, 8, 8, 512), ksize=[1, 8, 8, 1], **whole)
    tiny = normal(1, 8, 6, 64)
    case("Conv tiny 1x1", "Conv2D", tiny, normal(1, 1, 64, 64), **step)
    case("Depthwise tiny", "DepthwiseConv2dNative", tiny, normal(3, 3, 64, 1), **step)
    case("Conv one image 1x7", "Conv2D", normal(1, 17, 17, 192), normal(1, 7, 192, 192), **step)
    case("Conv one image 3x3", "Conv2D", normal(1, 112, 112, 64), normal(3, 3, 64, 64), **step)
    corners = np.sort(rng.random((200, 2, 2), "f4"), axis=1).reshape(200, 4)
    which = np.zeros(200, "i4")
    case(
        "CropAndResize", "CropAndResize", normal(1, 240, 320, 3), corners, which, Constant([24] * 2)
    )
    case("MatMul 2x800x1200", "MatMul", normal(2, 800), normal(800, 1200))
    case("LRN", "LRN", images)
    vector, variance, empty = normal(32), abs(normal(32)) + np.float32(1), np.zeros(0, "f4")
    norm = "FusedBatchNormV3"
    case("BatchNorm training", norm, images, vector, vector, empty, empty)
    case("BatchNorm inference", norm, images, vector, vector, vector, variance, is_training=False)
    case(
        "BatchNormGrad", "FusedBatchNormGradV3", images, images, vector, vector, variance, variance
    )
    case("ResizeBilinear", "ResizeBilinear", images, Constant([56, 56]))
    scalars = [np.float32(value) for value in (0.9, 0.99, 0.001, 0.9, 0.99, 1e-8)]
    state = normal(1 << 20)
    gradient, second = normal(1 << 20), abs(normal(1 << 20))
    var = Slot(state)
    case("Adam 1M", "ResourceApplyAdam", var, Slot(second), Slot(second), *scalars, gradient)
    rate, momentum, epsilon = scalars[2], scalars[0], scalars[5]
    few = normal(48, 144)
    case("Adam 48x144", "ResourceApplyAdam", Slot(few), Slot(few), Slot(abs(few)), *scalars, few)
    case("SGD 1M", "ResourceApplyGradientDescent", var, rate, gradient)
    case("Momentum 1M", "ResourceApplyMomentum", var, Slot(state), rate, gradient, momentum)
    case("Adagrad 1M", "ResourceApplyAdagrad", var, Slot(second), rate, gradient)
    case(
        "RMSProp 1M", "ResourceApplyRMSProp", var, Slot(second), Slot(state), rate, momentum,
        momentum, epsilon, gradient,
    )  # fmt: skip
    return found


# ------------------------------------------------------------------------------ one side, a process


class Side:
    """One module, and the calls of the open case."""

    def __init__(self, module: str, threads: int, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.tf = importlib.import_module(module)
        self.is_tensorflow = not module.startswith("tfnb")
        if self.is_tensorflow:
            self.tf.disable_v2_behavior()
        self.threads = threads
        self.cases = cases()
        self.session: Any = None

    def open(self, name: str) -> Callable[[], Any]:
        """Build the graph of a case and return its call."""
        tf = self.tf
        op, inputs, attrs = self.cases[name]
        config = tf.ConfigProto(
            intra_op_parallelism_threads=self.threads, inter_op_parallelism_threads=1
        )
        if self.session is not None:
            self.session.close()
        with tf.Graph().as_default():
            self.session = tf.Session(config=config)
            if op == "MaxPoolGrad":
                pooled = tf.raw_ops.MaxPool(input=inputs[0], **attrs)
                inputs = [inputs[0], np.asarray(self.session.run(pooled)), inputs[2]]
            made = [self._input(value) for value in inputs]
            names = self._argument_names(op)
            arguments = {
                self._argument(op, key): value for key, value in zip(names, made, strict=True)
            }
            types = {"float": tf.float32}
            attrs = {k: types.get(v, v) if isinstance(v, str) else v for k, v in attrs.items()}
            result = getattr(tf.raw_ops, op)(**arguments, **attrs)
            while isinstance(result, (list, tuple)):
                result = result[0]
            self.session.run(tf.global_variables_initializer())
            return self.session.make_callable(getattr(result, "op", result))  # type: ignore[no-any-return]

    def _input(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._input(item) for item in value]
        if isinstance(value, Constant):
            return self.tf.constant(value.value)
        if isinstance(value, Slot):
            return self.tf.Variable(value.value, use_resource=True).handle
        return self.tf.Variable(value, use_resource=True).read_value()

    def _argument_names(self, op: str) -> list[str]:
        if not self.is_tensorflow:
            from tfnb.core import op_registry

            return [argument.name for argument in op_registry.get(op).op_def.inputs]
        registry = importlib.import_module("tensorflow.python.framework.op_def_registry")
        return [argument.name for argument in registry.get(op).input_arg]

    def _argument(self, op: str, name: str) -> str:
        return _RENAMED.get((op, name), name) if self.is_tensorflow else name

    def serve(self) -> None:
        """Answer {"open": name} and {"block": seconds, "plain": whether} with mean seconds."""
        call: Callable[[], Any] | None = None
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                if "open" in asked:
                    call = self.open(asked["open"])
                    call()
                    answer: dict[str, Any] = {}
                else:
                    assert call is not None
                    answer = {"mean": self._block(call, asked["block"], asked["plain"])}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"[:300]}
            print(json.dumps(answer), flush=True)

    def _block(self, call: Callable[[], Any], seconds: float, plain: bool) -> float:
        if plain:
            from tfnb.ops.base.large_arrays import plain_ways

            with plain_ways():
                return self._mean(call, seconds)
        return self._mean(call, seconds)

    def _mean(self, call: Callable[[], Any], seconds: float) -> float:
        call()
        count, start = 0, self.clock()
        while True:
            call()
            count += 1
            passed = self.clock() - start
            if passed >= seconds:
                return passed / count


# ----------------------------------------------------------------------------------- the comparison


class Child:
    """A process with one side."""

    def __init__(self, python: str, module: str, options: list[str], root: Path) -> None:
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
        environment["PYTHONPATH"] = str(root) if module == "tfnb" else ""
        self.process = subprocess.Popen(
            [python, __file__, "--serve", module, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment,
        )  # fmt: skip

    def ask(self, **question: Any) -> dict[str, Any]:
        """Send a question and wait for its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else {"error": "the process ended"}

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


def compare(children: dict[str, Child], name: str, rounds: int, seconds: float) -> str:
    """Return one line of the table."""
    for label, child in children.items():
        if label == "plain":
            continue
        answer = child.ask(open=name)
        if "error" in answer:
            return f"{name:26} {label}: {answer['error']}"
    means: dict[str, list[float]] = {label: [] for label in children}
    order = list(children)
    for _ in range(rounds):
        for label in order:
            answer = children[label].ask(block=seconds, plain=label == "plain")
            if "error" in answer:
                return f"{name:26} {label}: {answer['error']}"
            means[label].append(answer["mean"])
        order = order[1:] + order[:1]
    medians = {label: statistics.median(values) for label, values in means.items()}
    line = f"{name:26}"
    for label in children:
        line += f" {medians[label] * 1e6:9.1f} ({min(means[label]) * 1e6:9.1f})"
    for label in children:
        if label != "fast":
            line += f" {medians['fast'] / medians[label]:7.2f}"
    return line


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Kernels against plain ones and TensorFlow's.")
    parser.add_argument("--tensorflow", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--block-ms", type=float, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--wall", action="store_true", help="measure wall time")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        clock = time.perf_counter if options.wall else time.process_time
        Side(options.serve, options.threads, clock).serve()
        return
    root = Path(__file__).resolve().parent.parent
    passed_on = ["--threads", str(options.threads), *(["--wall"] if options.wall else [])]
    ours = Child(sys.executable, "tfnb", passed_on, root)
    children = {"fast": ours, "plain": ours}
    if options.tensorflow:
        python, module = options.tensorflow, "tensorflow.compat.v1"
        children["TF"] = Child(python, module, passed_on, root)
    heads = "".join(f"{f'{label} (least), us':>22}" for label in children)
    ratios = "".join(f"{'/' + label:>8}" for label in children if label != "fast")
    print(f"{'kernel':26}{heads}{ratios}")
    wanted = [part for part in options.only.split(",") if part]
    try:
        for name in cases():
            if not wanted or any(part in name for part in wanted):
                print(compare(children, name, options.rounds, options.block_ms / 1000), flush=True)
    finally:
        for child in set(children.values()):
            child.close()


if __name__ == "__main__":
    main()
