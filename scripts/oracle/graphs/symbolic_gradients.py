"""Store what SymbolicGradient runs in TensorFlow: tests/golden/symbolic_gradients.json.xz.

    python scripts/oracle/graphs/symbolic_gradients.py        needs TensorFlow

Three parts: which ops have a gradient; for each of these the executed nodes, as
``name = Op(inputs)``, with their inputs and the values; and the same for functions, in a session
without optimizers and in a default one. If TensorFlow refuses, the class of its error is stored.
"""

from __future__ import annotations

import base64
import json
import lzma
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

tf.disable_v2_behavior()

OUT = Path(__file__).resolve().parents[3] / "tests/golden/symbolic_gradients.json.xz"
REFUSED = "No gradient is defined for"

_random = np.random.RandomState(0)
X, Y = (_random.rand(2, 3).astype("f") * 0.5 + 0.2 for _ in range(2))
D, ROW = _random.rand(2, 3).astype("f"), _random.rand(3).astype("f") + 0.5
Z = (X + 1j * Y).astype(np.complex64)
IMAGE, FILTER = _random.rand(1, 4, 4, 2).astype("f"), _random.rand(2, 2, 2, 3).astype("f")
INDEX = np.array(0, "i")


def ints(*values: int, dtype: str = "i") -> Any:
    """Return a vector."""
    return np.array(values, dtype)


def samples() -> Iterator[tuple[str, list[Any], list[Any], dict[str, Any]]]:
    """Yield (op, its inputs and the gradients of its outputs, arrays like the results, attrs)."""
    f, d, c, i, j = tf.float32, tf.float64, tf.complex64, tf.int32, tf.int64
    unary = (
        "Abs Neg Inv Reciprocal Square Sqrt Rsqrt Exp Expm1 Log Log1p Sinh Cosh Tanh Asinh Atanh "
        "Sigmoid Sign Sin Cos Tan Asin Acos Atan Identity Relu Relu6 Softmax LogSoftmax"
    )
    for op in unary.split():
        yield op, [X, D], [X], {"T": f}
        yield op, [X.astype("d") - (0.4 if op == "Relu" else 0), D.astype("d")], [X], {"T": d}
    yield "Acosh", [X + 1, D], [X], {"T": f}
    of_complex = "Neg Square Sqrt Rsqrt Exp Log Log1p Sinh Cosh Tanh Sigmoid Sin Cos Tan Conj"
    for op in of_complex.split():
        yield op, [Z, Z], [Z], {"T": c}
    for op in ("Real", "Imag", "Angle"):
        yield op, [Z, D], [Z], {"T": c, "Tout": f}
    yield "Conj", [X, D], [X], {"T": f}
    yield "Cast", [X, D.astype("d")], [X], {"SrcT": f, "DstT": d, "Truncate": False}
    yield "Cast", [X, np.ones((2, 3), "i")], [X], {"SrcT": f, "DstT": i, "Truncate": False}
    binary = (
        "Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan Minimum Maximum SquaredDifference Xlogy "
        "Xlog1py Xdivy Pow"
    )
    for op in binary.split():
        yield op, [X, ROW, D], [X, ROW], {"T": f}
        yield op, [ROW.astype("d"), X.astype("d"), D.astype("d")], [ROW, X], {"T": d}
    for op in ("Minimum", "Maximum", "Xlogy", "Pow", "DivNoNan"):
        zeros = np.array([[0, 1, 0], [1, 0, 2]], "f")
        yield op, [zeros, zeros.copy(), D], [X, X], {"T": f}
    of_complex = "AddV2 Sub Mul MulNoNan RealDiv DivNoNan SquaredDifference Pow Xlogy"
    for op in of_complex.split():
        yield op, [Z, Z[0], Z], [Z, Z], {"T": c}
    yield "Complex", [X, Y, Z], [X, Y], {"T": f, "Tout": c}
    yield from products()
    for op in ("Sum", "Mean", "Max", "Min"):
        yield op, [X, ints(1), D[:, 0]], [X, INDEX], {"T": f, "Tidx": i, "keep_dims": False}
        yield op, [X, ints(1), D[:, :1]], [X, INDEX], {"T": f, "Tidx": i, "keep_dims": True}
        yield op, [X, ints(1, dtype="q"), D[:, 0]], [X, ints(1, dtype="q")], {
            "T": f, "Tidx": j, "keep_dims": False,
        }  # fmt: skip
        yield op, [X, ints(0, 1), D[0, 0]], [X, INDEX], {"T": f, "Tidx": i, "keep_dims": False}
    yield from images()
    yield from shapes()


def products() -> Iterator[Any]:
    """Yield products of matrices, transposed in all ways."""
    f, c = tf.float32, tf.complex64
    ones = np.ones((2, 2), "f")
    for first in (False, True):
        for second in (False, True):
            a, b = X.T if first else X, Y if second else Y.T
            transposed = {"transpose_a": first, "transpose_b": second}
            yield "MatMul", [a, b, ones], [a, b], {"T": f, **transposed}
            for op in ("BatchMatMul", "BatchMatMulV2"):
                yield op, [a, b, ones], [a, b], {"T": f, "adj_x": first, "adj_y": second}
    for op, names in (("MatMul", "transpose_a transpose_b"), ("BatchMatMulV2", "adj_x adj_y")):
        more = dict.fromkeys(names.split(), False)
        yield op, [Z, Z.T, ones.astype(np.complex64)], [Z, Z], {"T": c, **more}
    a, b = np.stack([X, Y, X]), Y.T
    dz = np.stack([ones, ones, ones])
    yield "BatchMatMulV2", [a, b, dz], [a, b], {"T": f, "adj_x": False, "adj_y": False}


def images() -> Iterator[Any]:
    """Yield convolutions and related ops."""
    f = tf.float32
    for form, image in (("NHWC", IMAGE), ("NCHW", IMAGE.transpose(0, 3, 1, 2))):
        yield "BiasAdd", [image, ROW[:2], image], [image, ROW], {"T": f, "data_format": form}
    dy = _random.rand(1, 4, 4, 3).astype("f")
    yield "Conv2D", [IMAGE, FILTER, dy], [IMAGE, FILTER], {
        "T": f, "strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NHWC",
        "use_cudnn_on_gpu": True,
    }  # fmt: skip
    window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    for op in ("MaxPool", "AvgPool"):
        yield op, [IMAGE, IMAGE[:, :2, :2]], [IMAGE], {"T": f, **window, "data_format": "NHWC"}
    part = IMAGE[:, :2, :2]
    yield "MaxPoolGrad", [IMAGE, part, part, IMAGE], [IMAGE] * 3, {"T": f, **window}


def shapes() -> Iterator[Any]:
    """Yield ops that move elements, and ops that select elements."""
    f, i, j = tf.float32, tf.int32, tf.int64
    yield "Squeeze", [X[:, None], D], [X], {"T": f, "squeeze_dims": [1]}
    yield "Select", [X > 0.4, X, Y, D], [X > 0.4, X, X], {"T": f}
    yield "Fill", [ints(2, 3), np.array(1.0, "f"), D], [INDEX, X], {"T": f, "index_type": i}
    yield "Reshape", [X, ints(6), D.reshape(6)], [X, INDEX], {"T": f, "Tshape": i}
    long = ints(6, dtype="q")
    yield "Reshape", [X, long, D.reshape(6)], [X, long], {"T": f, "Tshape": j}
    yield "ExpandDims", [X, np.array(1, "i"), D[:, None]], [X, INDEX], {"T": f, "Tdim": i}
    yield "BroadcastTo", [ROW, ints(2, 3), D], [ROW, INDEX], {"T": f, "Tidx": i}
    long = ints(2, 3, dtype="q")
    yield "BroadcastTo", [ROW, long, D], [ROW, long], {"T": f, "Tidx": j}
    for op in ("Transpose", "ConjugateTranspose"):
        yield op, [X, ints(1, 0), D.T], [X, INDEX], {"T": f, "Tperm": i}
        yield op, [Z, ints(1, 0), Z.T], [Z, INDEX], {"T": tf.complex64, "Tperm": i}
    both = _random.rand(2, 6).astype("f")
    yield "Concat", [np.array(1, "i"), X, Y, both], [INDEX, X, Y], {"T": f, "N": 2}
    yield "ConcatV2", [X, Y, np.array(1, "i"), both], [X, Y, INDEX], {"T": f, "N": 2, "Tidx": i}
    yield "ConcatV2", [X, X, Y, np.array(0, "i"), np.concatenate([X, Y, X])], [X, X, Y, INDEX], {
        "T": f, "N": 3, "Tidx": i,
    }  # fmt: skip
    yield "Pack", [X, Y, np.stack([X, Y])], [X, Y], {"T": f, "N": 2, "axis": 0}
    yield "Unpack", [X, ROW, ROW], [X], {"T": f, "num": 2, "axis": 0}
    yield "Split", [np.array(0, "i"), X, X[:1], Y[:1]], [INDEX, X], {"T": f, "num_split": 2}
    yield "SplitV", [X, ints(1, 1), np.array(0, "i"), X[:1], Y[:1]], [X, INDEX, INDEX], {
        "T": f, "Tlen": i, "num_split": 2,
    }  # fmt: skip
    for dtype, kind in (("i", i), ("q", j)):
        yield "GatherNd", [X, np.array([[0], [1]], dtype), D], [X, ints(dtype=dtype)], {
            "Tparams": f, "Tindices": kind,
        }  # fmt: skip
        yield "Slice", [X, ints(0, 1, dtype=dtype), ints(2, 2, dtype=dtype), D[:, :2]], [
            X, ints(dtype=dtype), ints(dtype=dtype),
        ], {"T": f, "Index": kind}  # fmt: skip
        masks = {
            "begin_mask": 1, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0,
            "shrink_axis_mask": 2,
        }  # fmt: skip
        bounds = [ints(0, 1, dtype=dtype), ints(2, 2, dtype=dtype), ints(1, 1, dtype=dtype)]
        attrs = {"T": f, "Index": kind, **masks}
        yield "StridedSlice", [X, *bounds, D[:, 0]], [X, *bounds], attrs
        shape = ints(2, 3, dtype=dtype)
        yield "StridedSliceGrad", [shape, *bounds, D[:, 0], D], [shape, *bounds, X], attrs
    yield "Reverse", [X, np.array([True, False]), D], [X, np.array(True)], {"T": f}
    yield "ReverseV2", [X, ints(1), D], [X, INDEX], {"T": f, "Tidx": i}


def attr_value(value: Any) -> Any:
    """Return the message for an attribute."""
    message = tf.AttrValue()
    if isinstance(value, tf.DType):
        message.type = value.as_datatype_enum
    elif isinstance(value, bool):
        message.b = value
    elif isinstance(value, int):
        message.i = value
    elif isinstance(value, str):
        message.s = value.encode()
    else:
        message.list.i.extend(value)
    return message


def array(value: Any) -> list[Any]:
    """Return an array as JSON."""
    value = np.array(value, order="C")
    return [value.dtype.str, list(np.shape(value)), base64.b85encode(value.tobytes()).decode()]


def leave_alone() -> Any:
    """Return a configuration in which every node runs unchanged."""
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def answer(graph_def: Any, fetches: list[str], feeds: dict[str, Any], config: Any) -> Any:
    """Return the values and executed nodes, or an error's class."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(graph=graph, config=config) as session:
        try:
            values = session.run(fetches, feeds, options, metadata)
        except tf.errors.OpError as error:
            return {"error": type(error).__name__, "is_refused": REFUSED in str(error)}
    rows = [row.timeline_label for dev in metadata.step_stats.dev_stats for row in dev.node_stats]
    kept = [row for row in rows if row[0] != "_"]
    return {"values": [array(value) for value in values], "nodes": sorted(kept)}


def op_gradient(op: str, inputs: list[Any], results: list[Any], attrs: dict[str, Any]) -> Any:
    """Return a graph with the gradient of one op, and its feeds."""
    graph_def, feeds = tf.GraphDef(), {}
    node = graph_def.node.add(name="gradient", op="SymbolicGradient")
    for number, value in enumerate(inputs):
        dtype = tf.as_dtype(np.asarray(value).dtype).as_datatype_enum
        fed = graph_def.node.add(name=f"in{number}", op="Placeholder")
        fed.attr["dtype"].type = dtype
        node.input.append(fed.name)
        node.attr["Tin"].list.type.append(dtype)
        feeds[f"in{number}:0"] = value
    for position, _ in enumerate(results):
        node.attr["Tout"].list.type.append(node.attr["Tin"].list.type[position])
    node.attr["f"].func.name = op
    for key, value in attrs.items():
        node.attr["f"].func.attr[key].CopyFrom(attr_value(value))
    return graph_def, feeds


def packed(graph_def: Any) -> str:
    """Return a graph as text."""
    return base64.b85encode(zlib.compress(graph_def.SerializeToString(), 9)).decode()


def ops() -> list[Any]:
    """Return the gradient of every op that has one."""
    rows = []
    for op, inputs, results, attrs in samples():
        graph_def, feeds = op_gradient(op, inputs, results, attrs)
        fetches = [f"gradient:{number}" for number in range(len(results))]
        row = answer(graph_def, fetches, feeds, leave_alone())
        fed = {name: array(value) for name, value in feeds.items()}
        rows.append({"op": op, "graph": packed(graph_def), "fetches": fetches, "feeds": fed, **row})
        print(op, row.get("error") or len(row["nodes"]))
    return rows


def known() -> dict[str, list[str]]:
    """Return the ops with a gradient, and those that stop gradients."""
    listed = op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    )
    found: dict[str, list[str]] = {"gradient": [], "none": []}
    for op in sorted(one.name for one in listed.op if not one.name.startswith("_")):
        with tf.Graph().as_default() as graph:
            graph_def, _ = op_gradient(op, [X], [X], {})
            tf.import_graph_def(graph_def, name="")
            with tf.Session(graph=graph, config=leave_alone()) as session:
                try:
                    session.run("gradient:0", {"in0:0": X})
                except tf.errors.OpError as error:
                    if REFUSED in str(error):
                        found["none"].append(op)
                    elif "No gradient defined for op" not in str(error):
                        found["gradient"].append(op)
    return found


# ------------------------------------------------------------------------------------- functions


def defined(body: Callable[..., Any], types: list[Any], name: str = "body") -> Any:
    """Return a function of the graph."""
    made = function.Defun(*types, func_name=name)(body)
    made.add_to_graph(tf.get_default_graph())
    return made


def gradient(body: Callable[..., Any], num_args: int = 1, num_results: int = 1) -> Any:
    """Return the SymbolicGradient of a function."""
    made = defined(body, [tf.float32] * num_args)
    args = [tf.constant([1.0, 2.0 + number]) for number in range(num_args)]
    grads = [tf.constant([1.0, 0.5 + number]) for number in range(num_results)]
    return functional_ops.symbolic_gradient([*args, *grads], [tf.float32] * num_args, made)


def _bounded(x: Any) -> Any:
    t = tf.exp(x)
    with tf.control_dependencies([tf.Assert(t[0] > 0, [t])]):
        return t * 2.0


def _stopped(x: Any) -> Any:
    t = tf.exp(x)
    return t * tf.stop_gradient(t)


def _calling() -> Any:
    inner = defined(lambda x: x * x, [tf.float32], "inner")
    return gradient(lambda x: inner(x) + 1.0)


def _partitioned() -> Any:
    inner = defined(lambda x: x * x, [tf.float32], "inner")
    return gradient(lambda x: tf.raw_ops.PartitionedCall(args=[x], Tout=[tf.float32], f=inner)[0])


def _slope(body: Callable[[Any], Any]) -> Any:
    power = defined(body, [tf.float32], "power")
    return gradient(
        lambda x, g: functional_ops.symbolic_gradient([x, g], [tf.float32], power)[0], 2
    )


def _of_resource(is_used: bool) -> Any:
    def body(r: Any, x: Any) -> Any:
        return tf.exp(tf.raw_ops.ReadVariableOp(resource=r, dtype=tf.float32) if is_used else x)

    made = defined(body, [tf.resource, tf.float32])
    variable = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="v")
    assign = tf.raw_ops.AssignVariableOp(resource=variable, value=tf.constant([1.0, 2.0]))
    with tf.control_dependencies([assign]):
        ones = tf.ones([2])
    return functional_ops.symbolic_gradient([variable, ones, ones], [tf.float32, tf.float32], made)


def _few_arguments() -> Any:
    made = defined(lambda x: tf.exp(x), [tf.float32])
    return functional_ops.symbolic_gradient([tf.ones([2])], [tf.float32], made)


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "product": lambda: gradient(lambda x, y: tf.tanh(x * y), 2),
    "unused_argument": lambda: gradient(lambda x, y: x * x, 2),
    "independent_result": lambda: gradient(lambda x: tf.constant([3.0, 4.0])),
    "two_results": lambda: gradient(lambda x: (x * x, x + 1.0), 1, 2),
    "one_result_twice": lambda: gradient(lambda x: (x, x), 1, 2),
    "argument_as_result": lambda: gradient(lambda x, y: (y, x * y), 2, 2),
    "several_uses": lambda: gradient(lambda x: tf.exp(x) + x * x),
    "stop_gradient": lambda: gradient(_stopped),
    "dead_end": lambda: gradient(_bounded),
    "unused_output": lambda: gradient(lambda x: tf.concat([tf.split(x, 2)[0]] * 2, 0)),
    "constants": lambda: gradient(lambda x: x * tf.exp(tf.constant([1.0, 2.0]) * 0.5)),
    "condition": lambda: gradient(lambda x: tf.where(x > 1.5, x, 2.0 * x)),
    "slice": lambda: gradient(lambda x: tf.reshape(x, [1, 2])[0]),
    "cast": lambda: gradient(lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32) * x),
    "mean": lambda: gradient(lambda x: tf.reduce_mean(x * x) * x),
    "layer": lambda: gradient(lambda x: tf.nn.relu(tf.matmul(x[None], tf.ones([2, 2])))[0]),
    "no_gradient": lambda: gradient(lambda x: tf.nn.softplus(x)),
    "no_gradient_of_gather": lambda: gradient(lambda x: tf.gather(x, [1, 0])),
    "call": _calling,
    "partitioned_call": _partitioned,
    "second_derivative": lambda: _slope(lambda x: tf.exp(x)),
    "second_derivative_of_a_sum": lambda: _slope(lambda x: x * x * x),
    "resource": lambda: _of_resource(True),
    "unused_resource": lambda: _of_resource(False),
    "few_arguments": _few_arguments,
}


def functions() -> list[Any]:
    """Return gradients of functions, in two sessions."""
    rows = []
    for name, make in FUNCTIONS.items():
        with tf.Graph().as_default() as graph:
            fetches = [tensor.name for tensor in make()]
        graph_def = graph.as_graph_def()
        plain = answer(graph_def, fetches, {}, leave_alone())
        optimized = answer(graph_def, fetches, {}, None)
        optimized.pop("nodes", None)
        rows.append(
            {
                "name": name,
                "graph": packed(graph_def),
                "fetches": fetches,
                "plain": plain,
                "optimized": optimized,
            }
        )
        print(name, plain.get("error"), optimized.get("error"))
    return rows


def main() -> None:
    """Store all three parts."""
    found = {"known": known(), "ops": ops(), "functions": functions()}
    OUT.write_bytes(lzma.compress(json.dumps(found).encode(), preset=9))
    print({name: len(part) for name, part in found["known"].items()}, OUT.stat().st_size)


if __name__ == "__main__":
    main()
