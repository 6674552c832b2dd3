"""Sets in the rows of tensors: union, intersection, differences, sizes; and edit distances.

A set consists of the elements along the last dimension, for one position of the others. Results are
sparse, sorted, and as wide as their largest set.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import merge_dims, merge_shapes, shape_of_sizes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.sparse.sparse_indices import (
    check_form,
    check_valid,
    group_starts,
    sizes_of,
    sparse_rank,
)

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "sets": [
        "set_size",
        "size:set_size",
        "set_intersection",
        "intersection:set_intersection",
        "set_difference",
        "difference:set_difference",
        "set_union",
        "union:set_union",
    ],
    "tf": ["edit_distance"],
}

_TYPES = "T: {int8, int16, int32, int64, uint8, uint16, string}"
_RESULT = "result_indices: int64, result_values: T, result_shape: int64"
_ATTRS = ("set_operation: string", "validate_indices: bool = true", _TYPES)
Groups = dict[tuple[int, ...], set[Any]]


def _dense_groups(values: Array) -> tuple[Groups, tuple[int, ...]]:
    if values.ndim < 2:
        raise errors.invalid_argument(
            f"Shape {shape_text(values.shape)} has rank {values.ndim} < 2"
        )
    outer = values.shape[:-1]
    groups = {place: set(values[place].tolist()) for place in np.ndindex(*outer)}
    return groups, outer


def _sparse_groups(
    indices: Array, values: Array, shape: Array, validate: bool
) -> tuple[Groups, tuple[int, ...]]:
    if shape.ndim != 1 or values.ndim != 1:
        check_form(indices, values, shape)
    sizes = tuple(sizes_of(shape))
    if len(sizes) < 2:
        raise errors.invalid_argument(f"Shape {shape_text(sizes)} has rank {len(sizes)} < 2")
    if indices.ndim != 2 or indices.shape != (len(values), len(sizes)):
        raise errors.invalid_argument(
            f"Indices of shape {shape_text(indices.shape)} do not fit {len(values)} values of rank "
            f"{len(sizes)}"
        )
    if validate:
        check_valid(indices, sizes)
    groups: Groups = {}
    for row, value in zip(indices[:, :-1].tolist(), values.tolist()):
        groups.setdefault(tuple(row), set()).add(value)
    return groups, sizes[:-1]


_OPERATIONS: dict[str, Any] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _combine(
    first: tuple[Groups, tuple[int, ...]],
    second: tuple[Groups, tuple[int, ...]],
    operation: str,
    dtype: Attr,
) -> Outputs:
    function = _OPERATIONS.get(operation.lower())
    if function is None:
        raise errors.invalid_argument(f"Invalid set_operation {operation}.")
    (a, outer), (b, other) = first, second
    if outer != other:
        raise errors.invalid_argument(
            f"Mismatched shapes {shape_text(outer)} vs {shape_text(other)}"
        )
    indices: list[tuple[int, ...]] = []
    values: list[Array] = []
    widest = 0
    for place in sorted({*a, *b}):
        found = sorted(function(a.get(place, set()), b.get(place, set())))
        widest = max(widest, len(found))
        indices += [(*place, i) for i in range(len(found))]
        values += found
    rank = len(outer) + 1
    out = np.empty(len(values), dtype)
    for i, value in enumerate(values):
        out[i] = value
    return (
        np.array(indices, np.int64).reshape(len(indices), rank),
        out,
        np.array([*outer, widest], np.int64),
    )


def _result_shapes(rank: int | None) -> list[TensorShape]:
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


def _dense_shape(c: InferenceContext) -> list[TensorShape]:
    ranks = [c.inputs[index].ndims for index in (0, 1)]
    for rank in ranks:
        if rank is not None and rank < 2:
            raise ValueError(f"Input rank must be at least 2, but is {rank}")
    outer = [c.inputs[index].dim_values for index in (0, 1)]
    if outer[0] is not None and outer[1] is not None:
        merge_shapes(TensorShape(outer[0][:-1]), TensorShape(outer[1][:-1]))
    known = [rank for rank in ranks if rank is not None]
    return _result_shapes(known[0] if known else None)


def _sparse_shape(c: InferenceContext) -> list[TensorShape]:
    second = sparse_rank(c, len(c.inputs) - 3)
    first = c.with_rank_at_least(0, 2).ndims if len(c.inputs) == 4 else sparse_rank(c, 0)
    rank = merge_dims(first, second)
    if rank is not None and rank < 2:
        raise ValueError(f"Input 0, expected rank >= 2, got {rank}.")
    return _result_shapes(rank)


@register_op(
    "DenseToDenseSetOperation",
    f"set1: T, set2: T -> {_RESULT}",
    *_ATTRS,
    shape=_dense_shape,
    devices=("CPU",),
)
def dense_to_dense_set_operation(
    xp: Xp, set1: Array, set2: Array, *, set_operation: str
) -> Outputs:
    """Return a set operation on the last dimension of two dense tensors."""
    return _combine(_dense_groups(set1), _dense_groups(set2), set_operation, set1.dtype)


@register_op(
    "DenseToSparseSetOperation",
    f"set1: T, set2_indices: int64, set2_values: T, set2_shape: int64 -> {_RESULT}",
    *_ATTRS,
    shape=_sparse_shape,
    devices=("CPU",),
)
def dense_to_sparse_set_operation(
    xp: Xp,
    set1: Array,
    set2_indices: Array,
    set2_values: Array,
    set2_shape: Array,
    *,
    set_operation: str,
    validate_indices: bool,
) -> Outputs:
    """Return a set operation on the last dimension of a dense and a sparse tensor."""
    second = _sparse_groups(set2_indices, set2_values, set2_shape, validate_indices)
    return _combine(_dense_groups(set1), second, set_operation, set1.dtype)


@register_op(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, "
    f"set2_values: T, set2_shape: int64 -> {_RESULT}",
    *_ATTRS,
    shape=_sparse_shape,
    devices=("CPU",),
)
def sparse_to_sparse_set_operation(
    xp: Xp,
    set1_indices: Array,
    set1_values: Array,
    set1_shape: Array,
    set2_indices: Array,
    set2_values: Array,
    set2_shape: Array,
    *,
    set_operation: str,
    validate_indices: bool,
) -> Outputs:
    """Return a set operation on the last dimension of two sparse tensors."""
    first = _sparse_groups(set1_indices, set1_values, set1_shape, validate_indices)
    second = _sparse_groups(set2_indices, set2_values, set2_shape, validate_indices)
    return _combine(first, second, set_operation, set1_values.dtype)


@register_op(
    "SetSize",
    "set_indices: int64, set_values: T, set_shape: int64 -> size: int32",
    "validate_indices: bool = true",
    _TYPES,
    devices=("CPU",),
)
def set_size_op(
    xp: Xp, set_indices: Array, set_values: Array, set_shape: Array, *, validate_indices: bool
) -> Array:
    """Return the number of distinct elements of every set."""
    groups, outer = _sparse_groups(set_indices, set_values, set_shape, validate_indices)
    out = np.zeros(outer, np.int32)
    for place, found in groups.items():
        out[place] = len(found)
    return out


for _op in (
    dense_to_dense_set_operation,
    dense_to_sparse_set_operation,
    sparse_to_sparse_set_operation,
    set_size_op,
):
    _op.not_differentiable()

# ------------------------------------------------------------------------------------------ tf.sets


def set_size(a: TensorLike, validate_indices: bool = True) -> TensorResult:
    """Return the number of distinct elements along the last dimension of a sparse tensor."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError("Expected `SparseTensor`, got {a}.")
    return set_size_op(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


def _apply(a: TensorLike, b: TensorLike, operation: str, validate_indices: bool) -> SparseTensor:
    a, b = (
        convert_to_tensor_or_sparse_tensor(value, name="ab"[i]) for i, value in enumerate((a, b))
    )
    if b.dtype.base_dtype is not a.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        # There is no op for this order, so the dense set becomes the first.
        a, b = b, a
        operation = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    options = {"set_operation": operation, "validate_indices": validate_indices}
    if not isinstance(b, SparseTensor):
        found = dense_to_dense_set_operation(a, b, **options)
    elif isinstance(a, SparseTensor):
        found = sparse_to_sparse_set_operation(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, **options
        )
    else:
        found = dense_to_sparse_set_operation(a, b.indices, b.values, b.dense_shape, **options)
    return SparseTensor(*found)


def set_intersection(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """Return the elements in both sets, for every position of the dimensions before the last."""
    return _apply(a, b, "intersection", validate_indices)


def set_difference(
    a: TensorLike, b: TensorLike, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Return the elements in one set and not in the other."""
    return _apply(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """Return the elements in either set."""
    return _apply(a, b, "union", validate_indices)


# ------------------------------------------------------------------------------------- EditDistance


def _edit_shape(c: InferenceContext) -> TensorShape:
    sparse_rank(c, 0)
    sparse_rank(c, 3)
    sizes = [c.constant_value(index) for index in (2, 5)]
    if sizes[0] is None or sizes[1] is None:
        return TensorShape(None)
    a, b = (np.asarray(one).tolist() for one in sizes)
    if len(a) != len(b):
        raise ValueError(
            f"Num elements of hypothesis_shape does not match truth_shape: {len(a)} vs. {len(b)}"
        )
    if len(a) < 2:
        raise ValueError(
            "Input Hypothesis SparseTensors must have rank at least 2, but hypothesis_shape rank "
            f"is: {len(a)}"
        )
    return shape_of_sizes([max(-1, *pair) for pair in zip(a[:-1], b)])


def levenshtein(a: list[Array], b: list[Array]) -> int:
    """Return how many insertions, deletions and substitutions turn one list into the other."""
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]


def _sequences(indices: Array, values: Array) -> list[tuple[list[int], list[Array]]]:
    """Return positions and the sequences there, followed by a position after all others."""
    keys = indices[:, :-1]
    starts = [*group_starts(keys).tolist(), len(keys)]
    items = values.tolist()
    return [*((keys[a].tolist(), items[a:b]) for a, b in pairwise(starts)), ([], [])]


def _check_sequences(parts: dict[str, Attr]) -> None:
    for name, part in parts.items():
        matrix = name.endswith("indices")
        if part.ndim != 1 + matrix:
            raise errors.invalid_argument(
                f"{name} should be a {'matrix' if matrix else 'vector'}, but got shape: "
                + shape_text(part.shape)
            )
    for side in ("hypothesis", "truth"):
        indices = parts[f"{side}_indices"]
        for name, axis, word in (("values", 0, "rows"), ("shape", 1, "cols")):
            part = parts[f"{side}_{name}"]
            if len(part) != indices.shape[axis]:
                raise errors.invalid_argument(
                    f"Expected {side}_{name}.NumElements == #{word}({side}_indices), their "
                    f"shapes are: {shape_text(part.shape)} and {shape_text(indices.shape)}"
                )


@register_op(
    "EditDistance",
    "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64 -> output: float",
    "normalize: bool = true",
    "T: type",
    shape=_edit_shape,
    devices=("CPU",),
    traits="rearranges",
)
def edit_distance_op(
    xp: Xp,
    hypothesis_indices: Array,
    hypothesis_values: Array,
    hypothesis_shape: Array,
    truth_indices: Array,
    truth_values: Array,
    truth_shape: Array,
    *,
    normalize: bool,
) -> Array:
    """Return the distances of the sequences along the last dimension from the true ones."""
    _check_sequences(
        {
            "hypothesis_indices": hypothesis_indices,
            "truth_indices": truth_indices,
            "hypothesis_values": hypothesis_values,
            "hypothesis_shape": hypothesis_shape,
            "truth_values": truth_values,
            "truth_shape": truth_shape,
        }
    )
    if len(truth_shape) < 2:
        raise errors.invalid_argument(
            "Input SparseTensors must have rank at least 2, but truth_shape rank is: "
            f"{len(truth_shape)}"
        )
    if truth_shape.shape != hypothesis_shape.shape:
        raise errors.invalid_argument(
            "Expected truth and hypothesis to have matching ranks, but their shapes are: "
            f"{shape_text(truth_shape.shape)} and {shape_text(hypothesis_shape.shape)}"
        )
    pairs = zip(sizes_of(hypothesis_shape), sizes_of(truth_shape))
    sizes = [max(pair) for pair in pairs][:-1]
    if 0 in sizes:
        raise errors.invalid_argument(f"Got output shape {shape_text(sizes)} which has 0 elements")
    check_fits(np, sizes, np.dtype(np.float32))
    out = np.zeros(math.prod(sizes), np.float32)
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    guesses = _sequences(hypothesis_indices, hypothesis_values)
    truths = _sequences(truth_indices, truth_values)
    i = j = 0
    while i < len(guesses) - 1 or j < len(truths) - 1:
        (guess_at, guess), (truth_at, truth) = guesses[i], truths[j]
        both = guess_at == truth_at
        takes_guess = both or not truth_at or bool(guess_at and guess_at < truth_at)
        place = guess_at if takes_guess else truth_at
        if not both:
            guess, truth = (guess, []) if takes_guess else ([], truth)
        at = sum(index * stride for index, stride in zip(place, strides))
        if not 0 <= at < len(out):
            raise errors.internal(
                f"Got an inner product {at} which would require writing to outside of the buffer "
                f"for the output tensor (max elements {len(out)})"
            )
        distance: float = levenshtein(guess, truth)
        if normalize:
            distance = distance / len(truth) if truth else float("inf")
        out[at] = distance
        i, j = i + takes_guess, j + (both or not takes_guess)
    return out.reshape(sizes)


edit_distance_op.not_differentiable()


def edit_distance(
    hypothesis: TensorLike,
    truth: TensorLike,
    normalize: bool = True,
    name: str | None = "edit_distance",
) -> TensorResult:
    """Return the Levenshtein distance between sequences.

    Args:
      hypothesis: a sparse tensor of sequences.
      truth: a sparse tensor of the true sequences.
      normalize: whether distances are divided by the length of the true sequence.
      name: the name of the op.

    Raises:
      TypeError: one of them is not sparse.
    """
    from tfnb.framework.sparse_tensor import SparseTensorValue

    parts = []
    for label, value in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{label} must be a SparseTensor.")
        parts += [value.indices, value.values, value.dense_shape]
    return edit_distance_op(*parts, normalize=normalize, name=name)
