"""``tensorflow.python.ops.inplace_ops``: tensors with some rows replaced or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.ops.array.array_extras import inplace_add as _add
from tfnb.ops.array.array_extras import inplace_sub as _subtract
from tfnb.ops.array.array_extras import inplace_update as _update

if TYPE_CHECKING:
    from collections.abc import Callable


def _changed(op: Callable[..., Any], x: Any, i: Any, v: Any) -> Any:
    x = tf.convert_to_tensor(x)
    v = tf.convert_to_tensor(v, x.dtype)
    if i is None:
        whole = op(tf.reshape(x, [1, -1]), [0], tf.reshape(v, [1, -1]))
        return tf.reshape(whole, tf.shape(x))
    rows = tf.cast(i, tf.int32)
    if rows.get_shape().ndims == 0:
        return op(x, tf.reshape(rows, [1]), tf.expand_dims(v, 0))
    return op(x, rows, v)


def inplace_update(x: Any, i: Any, v: Any) -> Any:
    """Return ``x`` with ``x[i] = v``; ``i`` is a row, a vector of rows, or None for all."""
    return _changed(_update, x, i, v)


def inplace_add(x: Any, i: Any, v: Any) -> Any:
    """Return ``x`` with ``v`` added to some rows."""
    return _changed(_add, x, i, v)


def inplace_sub(x: Any, i: Any, v: Any) -> Any:
    """Return ``x`` with ``v`` subtracted from some rows."""
    return _changed(_subtract, x, i, v)


# TensorFlow's write into the memory of x, which a graph may not read afterwards.
alias_inplace_update = inplace_update
alias_inplace_add = inplace_add
alias_inplace_sub = inplace_sub
