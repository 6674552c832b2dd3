"""Each family of ops on small graphs: onnxruntime gives the session's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.onnx_export.agreement import agree

pytest.importorskip("onnxruntime")


def _numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X = _numbers(3, 4)
POSITIVE = np.abs(X) + 0.1
SMALL = np.clip(X * 0.3, -0.9, 0.9)
INTEGERS = np.array([[7, -7, 3], [-3, 8, 1]], np.int32)
DIVISORS = np.array([[2, 2, -2], [2, 3, 5]], np.int32)

RAW: Any = tf.raw_ops


@pytest.mark.parametrize(
    "name",
    [
        *("abs", "negative", "exp", "floor", "ceil", "round", "rint", "sign", "sin", "cos", "tan"),
        *("atan", "sinh", "cosh", "asinh", "tanh", "sigmoid", "erf", "erfc", "square", "expm1"),
        *("is_nan", "is_inf", "is_finite"),
    ],
)
def test_a_function_of_any_number_agrees(name):
    """Functions that are defined everywhere."""
    agree(getattr(tf, name, None) or getattr(tf.debugging, name), X)


@pytest.mark.parametrize("name", ["log", "sqrt", "rsqrt", "reciprocal", "log1p", "acosh"])
def test_a_function_of_positive_numbers_agrees(name):
    """Functions that need positive numbers."""
    agree(getattr(tf, name), POSITIVE + (name == "acosh"))


@pytest.mark.parametrize("name", ["asin", "acos", "atanh"])
def test_a_function_of_small_numbers_agrees(name):
    """Functions that need numbers from -1 to 1."""
    agree(getattr(tf, name), SMALL)


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "elu", "selu", "softplus", "softsign", "leaky_relu", "softmax"]
)
def test_an_activation_agrees(name):
    """Activations."""
    agree(getattr(tf.nn, name), X * 4)


def test_gradients_of_activations_agree():
    """Gradients of activations and of functions."""

    def build(x):
        made = [tf.nn.relu(x), tf.nn.relu6(x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.leaky_relu(x)]
        made += [tf.sigmoid(x), tf.tanh(x), tf.nn.softplus(x), tf.nn.softsign(x)]
        made += [tf.sqrt(tf.abs(x) + 1), tf.rsqrt(tf.abs(x) + 1), tf.reciprocal(tf.abs(x) + 1)]
        return [tf.gradients(one, x)[0] for one in made]

    agree(build, X * 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int16])
def test_arithmetic_agrees_in_each_type(dtype):
    """Arithmetic, also where runtimes have no kernels for the type."""
    one, other = np.array([[7, 100, 3]], dtype), np.array([[2], [3]], dtype)

    def build(x, y):
        return [
            *(x + y, x - y, x * y, tf.maximum(x, y), tf.minimum(x, y), x < y, x >= y),
            *(tf.equal(x, y), tf.not_equal(x, y), tf.where(x > y, x + 0 * y, y + 0 * x)),
        ]

    agree(build, one, other)


def test_divisions_agree():
    """Divisions with every sign, of integers and of floats."""

    def build(x, y):
        f, g = tf.cast(x, tf.float32), tf.cast(y, tf.float32)
        return [
            *(tf.floordiv(x, y), tf.floormod(x, y), tf.truncatediv(x, y), tf.truncatemod(x, y)),
            *(f / g, tf.floordiv(f, g), tf.floormod(f, g), tf.truncatemod(f, g)),
            *(tf.math.divide_no_nan(f, g - 2), tf.math.xlogy(tf.abs(f) - 3, tf.abs(g))),
        ]

    agree(build, INTEGERS, DIVISORS)


def test_further_binary_functions_agree():
    """Pow, atan2, squared difference, sums of many, clipping, logic, casts."""

    def build(x, y):
        return [
            *(tf.pow(tf.abs(x), y), tf.atan2(x, y), tf.squared_difference(x, y)),
            *(tf.add_n([x, y, x]), tf.clip_by_value(x, -0.5, 0.5)),
            *(tf.logical_and(x > 0, y > 0), tf.logical_or(x > 0, y > 0), tf.logical_not(x > 0)),
            *(tf.cast(x * 9, tf.int32), tf.cast(x, tf.float64), tf.cast(x > 0, tf.float32)),
            *(tf.zeros_like(x), tf.ones_like(x), tf.where(x[:, 0] > 0, x, y)),
        ]

    agree(build, X, _numbers(3, 4, seed=1))


@pytest.mark.parametrize("opset", [17, 18, 21])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions_agree(keep, opset):
    """Reductions over one axis, several and all, whatever the form of their axes."""

    def build(x):
        found = []
        for axis in (0, [-1], [0, 2], None):
            means = (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min)
            found += [function(x, axis, keepdims=keep) for function in means]
            found.append(tf.reduce_prod(x, axis, keepdims=keep))
            found.append(tf.reduce_all(x > 0, axis, keepdims=keep))
            found.append(tf.reduce_any(x > 0, axis, keepdims=keep))
        return found

    agree(build, _numbers(2, 3, 4), opset=opset)


def test_arguments_sums_and_segments_agree():
    """Arguments of extremes, running sums and products, segments."""

    def build(x):
        ids = [0, 0, 2]
        return [
            *(tf.argmax(x, 1), tf.argmin(x, 0, output_type=tf.int32)),
            *(tf.cumsum(x, 1), tf.cumsum(x, 0, exclusive=True, reverse=True), tf.cumprod(x, 1)),
            *(tf.unsorted_segment_sum(x, ids, 4), tf.unsorted_segment_max(x, [0, -1, 1], 2)),
            *(tf.segment_sum(x, ids), tf.segment_mean(x, ids), tf.nn.l2_loss(x), tf.norm(x)),
        ]

    agree(build, X)


def test_forms_of_tensors_agree():
    """Reshape, transpose, join, split, tile, pad and reverse."""

    def build(x):
        n = tf.shape(x)[0]
        return [
            *(tf.reshape(x, [n, 2, -1]), tf.transpose(x, [1, 0]), tf.expand_dims(x, -1)),
            *(tf.squeeze(x[:, :1], 1), tf.concat([x, x], -1), tf.stack([x, x], 1)),
            *tf.unstack(x, axis=1),
            *tf.split(x, 2, 1),
            *tf.split(x, [1, -1], 1),
            *(tf.tile(x, [2, 1]), tf.pad(x, [[1, 0], [2, 3]], constant_values=5.0)),
            *(tf.pad(x, [[1, 1], [2, 0]], "REFLECT"), tf.pad(x, [[1, 1], [2, 0]], "SYMMETRIC")),
            *(tf.reverse(x, [1]), tf.broadcast_to(x, [2, n, 4]), tf.fill([n, 2], 7)),
            *(tf.range(n), tf.linspace(0.0, 1.0, n), tf.size(x), tf.rank(x), tf.shape(x)),
            *(tf.roll(x, 1, 1), tf.reverse_sequence(x, [1, 2, 3], 1, 0)),
        ]

    agree(build, X, shapes={0: [None, 4]})


def test_slices_agree():
    """Slices with every mask, with constant and computed ends."""

    def build(x, i):
        return [
            *(x[1:], x[:, ::2], x[::-1], x[-1], x[..., 1], x[:, tf.newaxis, 1:3], x[0, ..., 0:1]),
            *(x[i], x[i:], x[:, i, :], x[:i, ..., -1], x[-1:, :, tf.newaxis]),
            *(tf.slice(x, [1, 0, 1], [1, -1, 2]), tf.slice(x, [i, 0, i], [-1, 2, 1])),
        ]

    agree(build, _numbers(2, 3, 4), np.int32(1), shapes={0: [None, 3, None]})


def test_indexing_agrees():
    """Gather, scatter, one-hot, where, top, unique, permutations and diagonals."""

    def build(x, i):
        return [
            *(tf.gather(x, i), tf.gather(x, i, axis=1), tf.gather_nd(x, tf.stack([i, i], 1))),
            *(tf.gather(x, [[0, 1], [2, 3], [0, 0]], batch_dims=1),),
            *(tf.scatter_nd(i[:, None], x[:2], [4, 4]), tf.one_hot(i, 3), tf.one_hot(i, 3, axis=0)),
            *(tf.one_hot(i - 1, 2, on_value=5, off_value=-1), tf.where(x > 0)),
            *(*tf.nn.top_k(x, 2), *tf.unique(i), tf.invert_permutation([2, 0, 1])),
            *(tf.matrix_diag(x), tf.matrix_diag_part(x), tf.matrix_band_part(x, 0, 1)),
            *(tf.dynamic_stitch([i, [1]], [x[:2], x[2:]]), *tf.dynamic_partition(x, [0, 1, 0], 2)),
            *(tf.tensor_scatter_nd_update(x, i[:, None], x[:2]), tf.nn.in_top_k(x, [0, 1, 2], 2)),
        ]

    agree(build, X, np.array([0, 2], np.int32))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_convolutions_agree(padding):
    """Convolutions with strides, dilations, depth and groups, in both layouts."""

    def build(x):
        v = tf.constant(_numbers(3, 3, 3, 4, seed=2))
        d = tf.constant(_numbers(3, 3, 3, 2, seed=3))
        back = tf.constant(_numbers(3, 3, 2, 3, seed=4))
        size = 14 if padding == "SAME" else 15
        return [
            tf.nn.conv2d(x, v, [1, 1, 1, 1], padding),
            tf.nn.conv2d(x, v, [1, 2, 2, 1], padding),
            tf.nn.conv2d(x, v, [1, 1, 1, 1], padding, dilations=[1, 2, 2, 1]),
            tf.nn.depthwise_conv2d(x, d, [1, 1, 1, 1], padding),
            tf.nn.conv2d_transpose(x, back, [2, size, size, 2], [1, 2, 2, 1], padding),
            tf.nn.conv2d_transpose(x, back, [tf.shape(x)[0], size, size, 2], [1, 2, 2, 1], padding),
            tf.nn.conv1d(x[:, 0], v[0], 2, padding),
            tf.nn.conv3d(x[:, None], v[None], [1, 1, 1, 1, 1], padding),
            tf.nn.atrous_conv2d(x, v, 2, padding),
        ]

    agree(build, _numbers(2, 7, 7, 3), shapes={0: [None, 7, 7, 3]})


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pooling_agrees(padding):
    """Pooling, patches, and the moves between space, depth and batch."""

    def build(x):
        window, steps = [1, 3, 3, 1], [1, 2, 2, 1]
        return [
            tf.nn.max_pool(x, window, steps, padding),
            tf.nn.avg_pool(x, window, steps, padding),
            tf.nn.max_pool3d(x[:, None], [1, 1, 2, 2, 1], [1, 1, 2, 2, 1], padding),
            tf.extract_image_patches(x, window, steps, [1, 1, 1, 1], padding),
            tf.space_to_depth(x, 2),
            tf.depth_to_space(x, 2),
            tf.space_to_batch_nd(x, [2, 2], [[0, 2], [1, 1]]),
            tf.batch_to_space_nd(tf.tile(x, [4, 1, 1, 1]), [2, 2], [[0, 1], [1, 0]]),
        ]

    agree(build, _numbers(2, 6, 6, 4), shapes={0: [None, 6, 6, 4]})


def test_normalization_agrees():
    """Batch normalization with given statistics and those of the batch, and local responses."""

    def build(x):
        scale, offset = tf.constant(_numbers(3, seed=1)), tf.constant(_numbers(3, seed=2))
        mean, variance = tf.constant(_numbers(3, seed=3)), tf.constant(np.abs(_numbers(3, seed=4)))
        given = tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)
        return [given[0], *tf.nn.fused_batch_norm(x, scale, offset), tf.nn.lrn(x, 2)]

    agree(build, _numbers(2, 4, 4, 3), shapes={0: [None, 4, 4, 3]}, tolerance=1e-4)


def test_products_and_losses_agree():
    """Products of matrices, sums by letters, losses and their gradients."""

    def build(x, y, labels):
        sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        dense = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(y), logits=x)
        return [
            *(tf.matmul(x, y, transpose_b=True), tf.matmul(x, y, transpose_a=True)),
            *(tf.matmul(x[None], y[None], adjoint_b=True), tf.einsum("ij,kj->ik", x, y)),
            *(tf.nn.bias_add(x, y[0]), tf.nn.log_softmax(x), sparse, dense),
            *(tf.gradients(sparse, x)[0], tf.gradients(dense, x)[0]),
            tf.linalg.cross(x[:, :3], y[:, :3]),
        ]

    agree(build, X, _numbers(3, 4, seed=1), np.array([0, 1, 3]))


def test_factors_of_matrices_agree():
    """Cholesky factors, triangular systems, determinants."""
    matrix = X[:, :3] @ X[:, :3].T + 3 * np.eye(3, dtype=np.float32)

    def build(a, b):
        lower = tf.cholesky(a)
        return [
            lower,
            tf.matrix_triangular_solve(lower, b),
            tf.matrix_triangular_solve(lower, b, adjoint=True),
            tf.matrix_triangular_solve(tf.transpose(lower), b, lower=False),
            tf.matrix_determinant(a),
        ]

    agree(build, matrix, X[:, :2], tolerance=1e-4)


@pytest.mark.parametrize("align", [False, True])
def test_resized_pictures_agree(align):
    """Resizing, larger and smaller, with and without half pixels."""

    def build(x):
        found = []
        for size in ([8, 10], [3, 2]):
            found.append(tf.image.resize_bilinear(x, size, align_corners=align))
            found.append(tf.image.resize_nearest_neighbor(x, size, align_corners=align))
            if not align:
                found.append(RAW.ResizeBilinear(images=x, size=size, half_pixel_centers=True))
        return found

    agree(build, _numbers(2, 5, 6, 3), shapes={0: [None, None, None, 3]})


def test_boxes_and_crops_agree():
    """Crops of boxes, the choice of boxes, contrast."""
    boxes = np.array([[0, 0, 1, 1], [0.1, 0.1, 0.9, 1.3], [0, 0, 0.95, 1]], np.float32)

    def build(x, b):
        return [
            tf.image.crop_and_resize(x, b, [0, 1, 1], [3, 4], extrapolation_value=0.5),
            tf.image.non_max_suppression(b, [0.5, 0.9, 0.8], 2, 0.5),
            tf.image.adjust_contrast(x, 2.0),
        ]

    agree(build, _numbers(2, 5, 6, 3), boxes)


def test_fake_quantization_agrees():
    """Rounding to the steps of a range."""

    def build(x):
        low, high = tf.constant(-1.3), tf.constant(2.1)
        return [
            tf.fake_quant_with_min_max_args(x, -2.0, 3.0),
            tf.fake_quant_with_min_max_vars(x, low, high, num_bits=4, narrow_range=True),
        ]

    agree(build, X)


def test_drawn_numbers_have_their_distribution():
    """The numbers differ; their shape and range do not."""

    def build(x):
        drawn = tf.random.uniform([tf.shape(x)[0], 500], 2.0, 4.0)
        whole = tf.random.uniform([500], 3, 6, tf.int32)
        normal = tf.random.truncated_normal([500])
        inside = [drawn >= 2, drawn < 4, whole >= 3, whole < 6, tf.abs(normal) <= 2.0001]
        return [tf.reduce_all(one) for one in inside] + [tf.shape(drawn)]

    agree(build, X)


def test_outputs_of_bfloat16_are_compared():
    """NumPy in onnxruntime has no such type; the values are read as float32."""
    agree(lambda x: tf.cast(x, tf.bfloat16) + 1, X)
