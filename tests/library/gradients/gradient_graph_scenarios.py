"""Small graphs whose gradient nodes are compared with TensorFlow's, name for name.

Each function takes the module under test and placeholders of the shapes beside it. TensorFlow's
Python reads this file too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Scenario = tuple[Callable[..., Any], tuple[tuple[int | None, ...], ...]]
SCENARIOS: dict[str, Scenario] = {}

_PAIRS: dict[str, tuple[tuple[int | None, ...], tuple[int | None, ...]]] = {
    "equal": ((2, 3), (2, 3)),
    "broadcast": ((2, 3), (3,)),
    "scalar": ((2, 3), ()),
    "unknown": ((None, 3), (3,)),
}


def _public(name: str) -> Callable[..., Any]:
    def call(tf: Any, *arguments: Any) -> Any:
        found = tf
        for word in name.split("."):
            found = getattr(found, word)
        return found(*arguments)

    return call


_UNARY = """negative abs square sqrt exp log log1p tanh sigmoid sin cos tan sign sinh cosh asinh
acosh floor ceil round reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_logsumexp
nn.relu nn.relu6 nn.elu nn.selu nn.softplus nn.softsign nn.softmax nn.log_softmax nn.l2_loss
nn.leaky_relu identity norm"""
_BINARY = "add subtract multiply divide pow maximum minimum squared_difference floormod"
for _name in _UNARY.split():
    SCENARIOS[_name] = (_public(_name), ((2, 3),))
for _name in _BINARY.split():
    for _kind, _shapes in _PAIRS.items():
        SCENARIOS[f"{_name}_{_kind}"] = (_public(_name), _shapes)

_MATRIX = ((2, 3),)
_ROWS = ((None, 3),)
_IMAGES = (2, 5, 5, 3)
SCENARIOS |= {
    "matmul": (lambda tf, a, b: tf.matmul(a, b), ((2, 3), (3, 4))),
    "matmul_transposed": (
        lambda tf, a, b: tf.matmul(a, b, transpose_a=True, transpose_b=True),
        ((3, 2), (4, 3)),
    ),
    "matmul_batches": (lambda tf, a, b: tf.matmul(a, b), ((5, 2, 3), (5, 3, 4))),
    "sum_axis": (lambda tf, x: tf.reduce_sum(x, 1), _MATRIX),
    "sum_kept": (lambda tf, x: tf.reduce_sum(x, [0], keepdims=True), _MATRIX),
    "sum_rows": (lambda tf, x: tf.reduce_sum(x, 1), _ROWS),
    "sum_all_rows": (lambda tf, x: tf.reduce_sum(x), _ROWS),
    "sum_twice": (lambda tf, x: tf.reduce_sum(x, 1) + tf.reduce_sum(x * x, 1), _MATRIX),
    "mean_axis": (lambda tf, x: tf.reduce_mean(x, 1), _MATRIX),
    "mean_rows": (lambda tf, x: tf.reduce_mean(x), _ROWS),
    "mean_axis_rows": (lambda tf, x: tf.reduce_mean(x, 0), _ROWS),
    "max_axis": (lambda tf, x: tf.reduce_max(x, 1), _MATRIX),
    "prod_axis": (lambda tf, x: tf.reduce_prod(x, 1), _MATRIX),
    "reshape": (lambda tf, x: tf.reshape(x, [3, 2]), _MATRIX),
    "transpose": (lambda tf, x: tf.transpose(x, [1, 0]), _MATRIX),
    "concat": (lambda tf, a, b: tf.concat([a, b], 1), ((2, 3), (2, 1))),
    "stack": (lambda tf, a, b: tf.stack([a, b], 1), ((2, 3), (2, 3))),
    "split": (lambda tf, x: tf.split(x, 3, 1), _MATRIX),
    "slice": (lambda tf, x: tf.slice(x, [0, 1], [2, 2]), _MATRIX),
    "strided_slice": (lambda tf, x: x[:, 1:], _MATRIX),
    "strided_slice_rows": (lambda tf, x: x[0], _ROWS),
    "tile": (lambda tf, x: tf.tile(x, [1, 2]), _MATRIX),
    "pad": (lambda tf, x: tf.pad(x, [[1, 0], [0, 1]]), _MATRIX),
    "gather": (lambda tf, x: tf.gather(x, [0, 1]), _MATRIX),
    "gather_of_log": (lambda tf, x: tf.log(tf.gather(tf.log(x), [0, 1])), _MATRIX),
    "log_of_gathered": (lambda tf, x: tf.gather(tf.log(x), [0, 1]), _MATRIX),
    "where": (lambda tf, a, b: tf.where(tf.greater(a, b), a, b), ((2, 3), (2, 3))),
    "where_v2": (lambda tf, a, b: tf.where_v2(tf.greater(a, b), a, b), ((2, 3), (3,))),
    "clip_by_value": (lambda tf, x: tf.clip_by_value(x, 0.0, 1.0), _MATRIX),
    "clip_by_norm": (lambda tf, x: tf.clip_by_norm(x, 1.0), _MATRIX),
    "cumprod": (lambda tf, x: tf.cumprod(x, 1), _MATRIX),
    "l2_normalize": (lambda tf, x: tf.nn.l2_normalize(x, 1), _MATRIX),
    "bias": (lambda tf, x, b: tf.nn.bias_add(x, b), ((2, 3), (3,))),
    "moments": (lambda tf, x: tf.nn.moments(x, [0])[1], _MATRIX),
    "conv2d": (
        lambda tf, x, k: tf.nn.conv2d(x, k, [1, 1, 1, 1], "SAME"),
        (_IMAGES, (3, 3, 3, 4)),
    ),
    "max_pool": (
        lambda tf, x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        (_IMAGES,),
    ),
    "batch_normalization": (
        lambda tf, x, m, v: tf.nn.batch_normalization(x, m, v, None, None, 1e-3),
        ((2, 3), (3,), (3,)),
    ),
    "softmax_cross_entropy": (
        lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        ((2, 3), (2, 3)),
    ),
    "sigmoid_cross_entropy": (
        lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x),
        ((2, 3), (2, 3)),
    ),
    "linear_regression": (
        lambda tf, x, w, b, y: tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y)),
        ((None, 2), (2, 1), (1,), (None, 1)),
    ),
}


def nodes(tf: Any, name: str) -> dict[str, Any]:
    """Return the nodes of one scenario with its gradients: by name the op, inputs and keep_dims."""
    function, shapes = SCENARIOS[name]
    with tf.Graph().as_default() as graph:
        inputs = [tf.placeholder(tf.float32, shape) for shape in shapes]
        tf.gradients(function(tf, *inputs), inputs)
        return {
            node.name: [
                node.op,
                list(node.input),
                "keep_dims" in node.attr and node.attr["keep_dims"].b,
            ]
            for node in graph.as_graph_def().node
        }
