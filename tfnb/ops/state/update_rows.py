"""Updates of rows: what the sparse forms of the rules in ``training_ops.py`` do with indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.state import compiled_row_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.core.kernel_types import Array, Attr, Xp


def apply_rows(
    xp: Xp,
    rule: Callable[..., tuple[Any, ...]],
    name: str,
    arrays: list[Array],
    grad: Array,
    indices: Array,
    others: list[Array],
    at: int,
    options: dict[str, Attr],
) -> None:
    """Update the rows named by `indices`; a repeated row is updated repeatedly, in order.

    Args:
      xp: numpy or cupy.
      rule: from rows of the arrays, hyperparameters and gradient to the new rows.
      name: of the rule.
      arrays: the variable and its slots, updated in place.
      grad: a row for each index.
      indices: valid rows.
      others: the rule's further arguments, in order; the gradient's place is overwritten.
      at: the place of the gradient in them.
      options: keyword arguments of the rule.
    """
    if not indices.size:
        return
    numbers = [*others[:at], *others[at + 1 :]]
    if xp is np and compiled_row_updates.update(name, arrays, grad, indices, numbers, options):
        return
    for chosen, rows in _rounds(xp, indices):
        others[at] = grad[chosen]
        parts = [array.take(rows, axis=0) for array in arrays]
        news = rule(xp, *parts, *others, **options)
        for array, part, new in zip(arrays, parts, news, strict=True):
            if new is not part:
                array[rows] = new


def check_rows(arrays: list[Array], grad: Array, indices: Array) -> None:
    """Compare the shapes of variable, slots, gradient and indices.

    Raises:
      InvalidArgumentError: they do not fit.
    """
    var = arrays[0]
    if var.ndim < 1:
        raise errors.invalid_argument("var must be at least 1 dimensional")
    if indices.ndim != 1:
        raise errors.invalid_argument("indices must be one-dimensional")
    for index, slot in enumerate(arrays[1:], 1):
        if slot.shape != var.shape:
            raise errors.invalid_argument(
                f"var and slot {index} do not have the same shape{shape_text(var.shape)} "
                f"{shape_text(slot.shape)}"
            )
    if grad.ndim != var.ndim or grad.shape[1:] != var.shape[1:]:
        raise errors.invalid_argument("var and grad must match in dimension 1 and those after it")
    if grad.shape[0] != indices.shape[0]:
        raise errors.invalid_argument(
            "grad must be the same size as indices in the first dimension."
        )


# Up to this number of rows, making a set of them is faster than sorting them.
_FEW_ROWS = 4096


def _rounds(xp: Xp, indices: Array) -> Iterator[tuple[Array, Array]]:
    """Yield positions in `indices` and their rows, in groups without repeated rows."""
    rows = np.asarray(indices) if isinstance(indices, np.ndarray) else indices.get()
    if rows.size <= _FEW_ROWS and len(set(rows.tolist())) == rows.size:
        yield slice(None), indices
        return
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.ones(rows.shape, bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    if starts.all():
        yield slice(None), indices
        return
    first = np.maximum.accumulate(np.where(starts, np.arange(rows.size), 0))
    occurrence = np.empty(rows.shape, np.int64)
    occurrence[order] = np.arange(rows.size) - first
    for number in range(int(occurrence.max()) + 1):
        chosen = np.nonzero(occurrence == number)[0]
        yield xp.asarray(chosen), xp.asarray(rows[chosen])
