"""Functions of ``tf.contrib.distributions`` on matrices, weights and samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.client.public.api import tf


def matrix_diag_transform(matrix: Any, transform: Any = None, name: str | None = None) -> Any:
    """Return matrices whose diagonals went through a function.

    Args:
      matrix: [..., k, k].
      transform: the function of diagonals; without one, matrices are unchanged.
      name: of the scope.
    """
    with tf.name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = tf.convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return tf.matrix_set_diag(matrix, transform(tf.matrix_diag_part(matrix)))


def reduce_weighted_logsumexp(
    logx: Any,
    w: Any = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """Return ``log(abs(sum(weights * exp(logx))))``, which cannot overflow.

    Args:
      logx: logarithms.
      w: weights of any sign; 1 by default.
      axis: the dimensions of the sum; all by default.
      keep_dims: whether they stay, with size 1.
      return_sign: whether the sign of the sum is returned, too.
      name: of the scope.
    """
    with tf.name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = tf.convert_to_tensor(logx, name="logx")
        if w is None:
            found = tf.reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (found, tf.ones_like(found)) if return_sign else found
        w = tf.convert_to_tensor(w, dtype=logx.dtype, name="w")
        largest = tf.stop_gradient(
            tf.reduce_max(logx + tf.log(tf.abs(w)), axis=axis, keepdims=True)
        )
        largest = tf.where_v2(tf.is_finite(largest), largest, tf.zeros_like(largest))
        total = tf.reduce_sum(w * tf.exp(logx - largest), axis=axis, keepdims=keep_dims)
        if not keep_dims:
            largest = tf.squeeze(largest, axis=axis)
        found = largest + tf.log(tf.abs(total))
        return (found, tf.sign(total)) if return_sign else found


def tridiag(below: Any = None, diag: Any = None, above: Any = None, name: str | None = None) -> Any:
    """Return matrices with numbers on the diagonal and beside it, and zeros elsewhere.

    Args:
      below: [..., k - 1], below the diagonal; or None.
      diag: [..., k]; or None.
      above: [..., k - 1], above the diagonal; or None.
      name: of the scope.

    Raises:
      ValueError: nothing is given.
    """

    def beside(values: Any, before: int, after: int) -> Any:
        values = tf.convert_to_tensor(values)
        inner = tf.matrix_diag(values)
        zeros = [[0, 0]] * (inner.shape.ndims - 2)
        return tf.pad(inner, [*zeros, [before, after], [after, before]])

    if below is None and diag is None and above is None:
        raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
    with tf.name_scope(name, "tridiag", [below, diag, above]):
        parts = []
        if below is not None:
            parts.append(beside(below, 1, 0))
        if diag is not None:
            parts.append(tf.matrix_diag(tf.convert_to_tensor(diag)))
        if above is not None:
            parts.append(beside(above, 0, 1))
        return sum(parts[1:], parts[0])


def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """Return triangular matrices of vectors, whose numbers run around the triangle.

    Args:
      x: [..., n * (n + 1) / 2].
      upper: whether the triangles are upper ones.
      name: of the scope.

    Returns:
      [..., n, n].

    Raises:
      ValueError: no triangle has that number of elements.
    """
    with tf.name_scope(name, "fill_triangular", [x]):
        x = tf.convert_to_tensor(x, name="x")
        count = x.shape.with_rank_at_least(1)[-1].value
        if count is None:
            size = tf.to_int32(tf.sqrt(0.25 + 2.0 * tf.cast(tf.shape(x)[-1], tf.float64)) - 0.5)
        else:
            size = round(math.sqrt(0.25 + 2 * count) - 0.5)
            if size * (size + 1) // 2 != count:
                raise ValueError(
                    f"Input right-most shape ({count}) does not correspond to a triangular matrix."
                )
        rest = x[..., size:]
        both = [x, tf.reverse(rest, [-1])] if upper else [rest, tf.reverse(x, [-1])]
        rows = tf.reshape(tf.concat(both, -1), tf.concat([tf.shape(x)[:-1], [size, size]], 0))
        if count is not None:
            rows.set_shape(x.shape[:-1].concatenate([size, size]))
        return tf.matrix_band_part(rows, 0 if upper else -1, -1 if upper else 0)


def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """Return the vectors of which ``fill_triangular`` makes triangular matrices.

    Args:
      x: [..., n, n].
      upper: whether the triangles are upper ones.
      name: of the scope.

    Returns:
      [..., n * (n + 1) / 2].

    Raises:
      ValueError: the size of the matrices is not known.
    """
    with tf.name_scope(name, "fill_triangular_inverse", [x]):
        x = tf.convert_to_tensor(x, name="x")
        size = x.shape.with_rank_at_least(2)[-1].value
        if size is None:
            raise ValueError("The size of the matrices must be known.")
        count = size * (size + 1) // 2
        # Where fill_triangular puts the numbers, found by numbers themselves.
        numbers = np.arange(count)
        rest = numbers[size:]
        both = [numbers, rest[::-1]] if upper else [rest, numbers[::-1]]
        places = np.concatenate(both).reshape(size, size)
        rows, columns = np.triu_indices(size) if upper else np.tril_indices(size)
        order = np.empty(count, np.int64)
        order[places[rows, columns]] = rows * size + columns
        flat = tf.reshape(x, tf.concat([tf.shape(x)[:-2], [size * size]], 0))
        found = tf.gather(flat, order, axis=-1)
        found.set_shape(x.shape[:-2].concatenate([count]))
        return found
