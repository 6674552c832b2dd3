"""What functions of the public API build: rows of Python text, run with TensorFlow and with us.

A row is an expression over `tf`, `np` and the tensors below. What it builds (nodes with names, ops, inputs, and the dtype and
shape of the result) or which error it raises is stored from TensorFlow in tests/golden/api.json by
scripts/oracle/api_rows.py and compared in test_api_rows.py. This file imports neither.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# name -> (dtype, shape); `u` has an unknown shape.
TENSORS: dict[str, tuple[str, list[int | None] | None]] = {
    "x": ("float32", [2, 3]),
    "y": ("float32", [2, 3]),
    "v": ("float32", [3]),
    "s": ("float32", []),
    "i": ("int32", [2, 3]),
    "j": ("int32", [3]),
    "l": ("int64", [3]),
    "b": ("bool", [2, 3]),
    "d": ("float64", [2, 3]),
    "h": ("float16", [2, 3]),
    "c": ("complex64", [2, 3]),
    "w": ("float32", [3, 4]),
    "t": ("string", [2]),
    "u": ("float32", None),
    "p": ("float32", [None, 3]),
    "m": ("float32", [4, 2, 3]),
    "img": ("float32", [2, 8, 9, 3]),
    "ker": ("float32", [3, 3, 3, 4]),
    "ids": ("int32", [2]),
}

ROWS = """
x + y; x + 1; x + 1.0; 1.0 + x; x - y; 2 - x; x * y; 3 * x; x / y; x / 2; 2 / x; x // y; 5 // i; i // 2; i / j; i % 2; 7 % i; x ** 2; 2.0 ** x
-x; abs(x); ~b; b & b; b | b; b ^ b; b & True; True | b; i & 3; i | j; i ^ j; ~i; x @ w; x < y; x <= 1; x > 0.5; x >= y; 3 > x
x == y; x != y; x + i; x + [1.0, 2.0, 3.0]; i + 1.5; x * d; i / 2.0; x + np.float64(2); x + np.ones((2, 3)); np.ones((2, 3), np.float32) + x; b * b; t + "a"
x < i; x & y; ~x; x + None; x + "a"; s + True; l + i; c + 1.0; c * x; x * 1j; i ** -1; i ** 2; h + 1; d + 1; l * 2; u + x; p + v
tf.add(x, y); tf.add(x, 1); tf.add(1.0, 2.0); tf.add(t, "x"); tf.add(x, y, name="sum"); tf.subtract(x, y); tf.multiply(x, y); tf.multiply(x, 2)
tf.divide(x, y); tf.divide(i, 2); tf.divide(x, y, name="q"); tf.divide(4, 2); tf.truediv(i, 2); tf.truediv(x, i); tf.div(i, 2); tf.div(x, 2.0); tf.floordiv(i, 2)
tf.realdiv(x, y); tf.truncatediv(i, j); tf.floor_div(x, y); tf.mod(i, 3); tf.floormod(i, 3); tf.truncatemod(i, j); tf.div_no_nan(x, y); tf.div_no_nan(i, 2)
tf.math.divide_no_nan(x, 0.0); tf.math.multiply_no_nan(x, y); tf.math.reciprocal_no_nan(x); tf.pow(x, 2); tf.pow(x, y, name="power"); tf.square(x); tf.sqrt(x); tf.rsqrt(x)
tf.abs(x); tf.abs(c); tf.negative(x); tf.sign(x); tf.sign(c); tf.reciprocal(x); tf.exp(x); tf.log(x); tf.log1p(x); tf.expm1(x); tf.sin(x); tf.cos(x); tf.tan(x)
tf.asin(x); tf.acos(x); tf.atan(x); tf.sinh(x); tf.cosh(x); tf.tanh(x); tf.asinh(x); tf.acosh(x); tf.atanh(x); tf.atan2(x, y); tf.erf(x); tf.erfc(x); tf.lgamma(x); tf.digamma(x)
tf.sigmoid(x); tf.log_sigmoid(x); tf.floor(x); tf.ceil(x); tf.round(x); tf.round(i); tf.rint(x); tf.is_nan(x); tf.is_inf(x); tf.is_finite(x); tf.maximum(x, y); tf.minimum(x, 0)
tf.squared_difference(x, y); tf.less(x, y); tf.less_equal(x, 1.0); tf.greater(x, y); tf.greater_equal(i, 2); tf.equal(x, y); tf.not_equal(i, j); tf.equal(x, i); tf.logical_and(b, b)
tf.logical_or(b, True); tf.logical_not(b); tf.logical_xor(b, b); tf.logical_and(x, y); tf.bitwise.bitwise_and(i, j); tf.bitwise.invert(i); tf.bitwise.left_shift(i, 2)
tf.conj(x); tf.conj(c); tf.real(c); tf.real(x); tf.imag(c); tf.imag(x); tf.angle(c); tf.complex(x, y); tf.complex(x, d); tf.cast(x, tf.int32); tf.cast(x, tf.float32); tf.cast(i, "float32")
tf.cast([1, 2], tf.float32); tf.cast(x, tf.bool, name="truth"); tf.to_float(i); tf.to_int32(x); tf.to_int64(x); tf.to_double(x); tf.saturate_cast(x, tf.uint8); tf.saturate_cast(i, tf.int8)
tf.range(5); tf.range(1, 10, 2); tf.range(0.0, 1.0, 0.25); tf.range(5, dtype=tf.int64); tf.range(ids[0]); tf.range(s, 10.0); tf.range(1, 5, name="r"); tf.linspace(0.0, 1.0, 5); tf.lin_space(0.0, 1.0, 5, name="ls")
tf.reduce_sum(x); tf.reduce_sum(x, 0); tf.reduce_sum(x, [0, 1]); tf.reduce_sum(x, axis=1, keepdims=True); tf.reduce_sum(x, reduction_indices=[1]); tf.reduce_sum(x, 1, keep_dims=True)
tf.reduce_sum(u); tf.reduce_sum(p, 0); tf.reduce_sum([1.0, 2.0]); tf.reduce_sum(x, axis=0, reduction_indices=1); tf.reduce_sum(x, 5); tf.reduce_sum(x, name="total"); tf.reduce_sum(s)
tf.reduce_mean(x); tf.reduce_mean(i, 0); tf.reduce_max(x, 1); tf.reduce_min(x, -1); tf.reduce_prod(i); tf.reduce_all(b); tf.reduce_any(b, 0, True); tf.reduce_logsumexp(x); tf.reduce_logsumexp(x, 1, keepdims=True)
tf.math.reduce_std(x); tf.math.reduce_variance(x, 0); tf.math.reduce_euclidean_norm(x, 1); tf.count_nonzero(x); tf.count_nonzero(i, 1, dtype=tf.int32); tf.count_nonzero(b)
tf.argmax(x); tf.argmax(x, 1); tf.argmax(x, axis=1, output_type=tf.int32); tf.argmax(x, dimension=0); tf.argmin(x, 1); tf.arg_max(x, 0); tf.argmax(x, 1, name="best")
tf.matmul(x, w); tf.matmul(x, y, transpose_b=True); tf.matmul(x, y, transpose_a=True); tf.matmul(x, w, name="product"); tf.matmul(x, y); tf.matmul(m, m, adjoint_b=True); tf.matmul(m, tf.transpose(m, [0, 2, 1]))
tf.matmul(x, [[1.0], [2.0], [3.0]]); tf.matmul(x, w, a_is_sparse=True); tf.matmul(c, c, adjoint_b=True); tf.matmul(x, d); tf.matmul(x, w, transpose_a=True, adjoint_a=True); tf.linalg.matmul(x, w); tf.matmul(u, u)
tf.tensordot(x, w, 1); tf.tensordot(x, y, [[0, 1], [0, 1]]); tf.tensordot(m, v, [[2], [0]]); tf.tensordot(p, v, 1); tf.tensordot(x, y, axes=0); tf.trace(tf.matmul(x, y, transpose_b=True))
tf.add_n([x, y]); tf.add_n([x]); tf.add_n([x], name="only"); tf.add_n([]); tf.add_n([x, d]); tf.accumulate_n([x, y]); tf.accumulate_n([x]); tf.scalar_mul(2.0, x); tf.scalar_mul(s, x); tf.scalar_mul(v, x)
tf.cumsum(x); tf.cumsum(x, 1, exclusive=True, reverse=True); tf.cumprod(x, axis=1); tf.math.cumulative_logsumexp(x); tf.cross(x, y); tf.math.polyval([x, 2.0, 3.0], y); tf.math.xdivy(x, y); tf.math.xlogy(x, y)
tf.clip_by_value(x, 0.0, 1.0); tf.clip_by_value(i, 0, 5); tf.clip_by_norm(x, 2.0); tf.clip_by_norm(x, s, axes=[1]); tf.clip_by_average_norm(x, 1.0); tf.global_norm([x, v, None]); tf.clip_by_global_norm([x, v], 3.0)
tf.segment_sum(x, ids); tf.segment_mean(x, ids); tf.unsorted_segment_sum(x, ids, 3); tf.unsorted_segment_mean(x, ids, 3); tf.unsorted_segment_sqrt_n(x, ids, 3); tf.sparse_segment_sum(x, ids, ids); tf.sparse_segment_mean(x, ids, ids, num_segments=4)
tf.bincount(j); tf.bincount(j, minlength=4, maxlength=9); tf.histogram_fixed_width(x, [0.0, 1.0], 5); tf.igamma(x, y); tf.betainc(x, y, y); tf.polygamma(x, y); tf.zeta(x, y); tf.lbeta(x); tf.math.erfinv(x); tf.math.ndtri(x)
tf.nn.relu(x); tf.nn.relu(i); tf.nn.relu6(x); tf.nn.leaky_relu(x); tf.nn.leaky_relu(x, 0.1); tf.nn.leaky_relu(i); tf.nn.elu(x); tf.nn.selu(x); tf.nn.softplus(x); tf.nn.softsign(x); tf.nn.crelu(x); tf.nn.tanh(x); tf.nn.sigmoid(x)
tf.nn.softmax(x); tf.nn.softmax(x, axis=0); tf.nn.softmax(m, dim=1); tf.nn.softmax(x, 5); tf.nn.log_softmax(x); tf.nn.log_softmax(m, axis=-2); tf.nn.bias_add(x, v); tf.nn.bias_add(img, v, data_format="NHWC"); tf.nn.bias_add(x, w); tf.nn.bias_add(x, [1, 2, 3])
tf.nn.softmax_cross_entropy_with_logits(labels=x, logits=y); tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=y); tf.nn.softmax_cross_entropy_with_logits_v2(x, m[0]); tf.nn.softmax_cross_entropy_with_logits_v2(labels=m, logits=m, axis=-1)
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=x); tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=m); tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 1], [1, 0], [2, 2], [1, 1]], logits=m); tf.nn.softmax_cross_entropy_with_logits(x, None)
tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=y); tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=v); tf.nn.weighted_cross_entropy_with_logits(labels=x, logits=y, pos_weight=2.0); tf.nn.log_poisson_loss(x, y); tf.nn.log_poisson_loss(x, y, compute_full_loss=True)
tf.nn.conv2d(img, ker, [1, 1, 1, 1], "SAME"); tf.nn.conv2d(img, filter=ker, strides=[1, 2, 2, 1], padding="VALID", name="conv"); tf.nn.conv2d(img, ker, strides=2, padding="SAME"); tf.nn.conv2d(img, ker, 1, [[0, 0], [1, 1], [2, 2], [0, 0]]); tf.nn.conv2d(img, ker, 1, "SAME", dilations=2)
tf.nn.conv2d(img, x, 1, "SAME"); tf.nn.conv2d(img, ker, 1, "SOMETIMES"); tf.nn.conv2d(img, ker, [1, 1], "SAME"); tf.nn.conv2d_transpose(img, tf.zeros([3, 3, 4, 3]), [2, 8, 9, 4], [1, 1, 1, 1]); tf.nn.atrous_conv2d(img, ker, 2, "SAME"); tf.nn.atrous_conv2d(img, ker, 1, "VALID")
tf.nn.convolution(img, ker, "SAME"); tf.nn.convolution(img, ker, "VALID", dilation_rate=[2, 2]); tf.nn.conv1d(m, tf.zeros([2, 3, 5]), 1, "SAME"); tf.nn.depthwise_conv2d(img, tf.zeros([3, 3, 3, 2]), [1, 1, 1, 1], "SAME"); tf.nn.separable_conv2d(img, tf.zeros([3, 3, 3, 2]), tf.zeros([1, 1, 6, 4]), [1, 1, 1, 1], "SAME")
tf.nn.depthwise_conv2d_native(img, tf.zeros([3, 3, 3, 2]), [1, 2, 2, 1], "VALID"); tf.nn.max_pool(img, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"); tf.nn.max_pool(img, 2, 2, "VALID"); tf.nn.max_pool2d(img, 2, 2, "VALID"); tf.nn.avg_pool(img, [1, 3, 3, 1], [1, 1, 1, 1], "VALID", name="pool"); tf.nn.max_pool(img, 0, 1, "SAME")
tf.nn.max_pool_with_argmax(img, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"); tf.nn.max_pool1d(m, 2, 1, "SAME"); tf.nn.pool(img, [2, 2], "MAX", "SAME"); tf.nn.pool(img, [2, 2], "AVG", "VALID", strides=[2, 2]); tf.nn.pool(img, [2, 2], "MAX", "VALID", dilation_rate=[2, 2])
tf.nn.moments(x, [0]); tf.nn.moments(img, [0, 1, 2], keep_dims=True); tf.nn.moments(h, [0]); tf.nn.batch_normalization(x, v, v, v, v, 1e-3); tf.nn.batch_normalization(x, v, v, None, None, 1e-3); tf.nn.fused_batch_norm(img, v, v); tf.nn.fused_batch_norm(img, v, v, v, v, is_training=False)
tf.nn.l2_loss(x); tf.nn.l2_normalize(x, 1); tf.nn.l2_normalize(x, dim=0); tf.nn.lrn(img); tf.nn.local_response_normalization(img, 2, name="norm"); tf.nn.xw_plus_b(x, w, tf.zeros([4])); tf.nn.relu_layer(x, w, tf.zeros([4])); tf.nn.zero_fraction(x); tf.nn.top_k(x, 2); tf.nn.top_k(x); tf.nn.in_top_k(x, ids, 1)
tf.nn.weighted_moments(x, [0], y); tf.nn.sufficient_statistics(x, [0]); tf.nn.normalize_moments(s, v, v, None); tf.nn.dropout(x, 0.5); tf.nn.dropout(x, rate=0.0); tf.nn.dropout(x, rate=1.5); tf.nn.dropout(i, rate=0.5); tf.nn.conv3d(tf.zeros([1, 4, 4, 4, 2]), tf.zeros([2, 2, 2, 2, 3]), [1, 1, 1, 1, 1], "SAME")
"""  # noqa: E501


def rows() -> list[str]:
    """Every expression."""
    return [part.strip() for line in ROWS.strip().splitlines() for part in line.split("; ")]


def describe(tf: Any, expression: str) -> dict[str, Any]:
    """What the expression builds in a graph of its own, or the error it raises."""
    with tf.Graph().as_default() as graph:
        names: dict[str, Any] = {
            name: tf.placeholder(dtype, shape, name=name) for name, (dtype, shape) in TENSORS.items()
        }
        try:
            result = eval(expression, {"tf": tf, "np": np, **names})  # noqa: S307
        except Exception as error:
            return {"error": type(error).__name__, "message": str(error)}
        nodes = [
            [node.name, node.op, list(node.input)]
            for node in graph.as_graph_def().node
            if node.name not in TENSORS
        ]
        return {"nodes": nodes, "result": _result(result)}


def _result(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_result(item) for item in value]
    if hasattr(value, "dtype") and hasattr(value, "op"):
        rank = value.shape.ndims
        dims = None if rank is None else value.shape.as_list()
        return [value.name, value.dtype.name, dims]
    return repr(value)
