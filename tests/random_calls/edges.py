"""Edges of calls: the same call with empty, scalar, infinite or extreme inputs.

:func:`variants` takes any call and changes its inputs in one way, so that every op with a stored
call or a maker is tested at every edge that its inputs can have. TensorFlow's answer, a value or an
error, is the expected result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import Resource, Sample

KINDS = ("empty", "scalar", "nan", "extreme")

_Change = Callable[[Any], Any]


def _flat(row: Sample) -> list[Any]:
    """Return the arrays of the call, with those of variables and resources."""
    entries = [item for e in row.inputs for item in (e if isinstance(e, list) else [e])]
    return [e.value if isinstance(e, Resource) else e for e in entries]


def _changed(row: Sample, changes: dict[int, _Change], **options: Any) -> Sample:
    """Return the call with some of its arrays changed, in the numbering of `_flat`."""
    position = -1

    def one(entry: Any) -> Any:
        nonlocal position
        position += 1
        change = changes.get(position)
        if change is None:
            return entry
        if isinstance(entry, Resource):
            return replace(entry, value=change(entry.value))
        return change(entry)

    inputs = tuple(
        type(entry)(one(item) for item in entry) if isinstance(entry, list) else one(entry)
        for entry in row.inputs
    )
    return replace(row, inputs=inputs, **options)


def applicable(row: Sample) -> set[str]:
    """The edges that inputs of this call can have."""
    arrays = [array for array in _flat(row) if isinstance(array, (np.ndarray, np.generic))]
    found = {"empty", "scalar"} if arrays else set()
    if any(_is_float(array) for array in arrays):
        found.add("nan")
    if any(array.dtype.kind in "iu" for array in arrays):
        found.add("extreme")
    return found


def _is_float(array: Any) -> bool:
    return array.dtype.kind not in "OSUbiu"


def _special(dtype: Any) -> Any:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.max, info.min, 0, 1, info.max // 2], dtype)
    return np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0]).astype(dtype)


def variants(row: Sample, random: np.random.RandomState) -> Iterator[tuple[str, Sample]]:
    """Yield kinds and calls: each changes the inputs of `row` towards one edge."""
    arrays = _flat(row)
    known = [i for i, array in enumerate(arrays) if isinstance(array, (np.ndarray, np.generic))]
    yield from _empty(row, arrays, known, random)
    yield from _scalar(row, arrays, known)
    # Products of infinite complex numbers differ between processors, and gradients have many.
    asked = row.gradient and not any(arrays[i].dtype.kind == "c" for i in known)
    for kind, chosen in (
        ("nan", [i for i in known if _is_float(arrays[i]) and arrays[i].size]),
        ("extreme", [i for i in known if arrays[i].dtype.kind in "iu" and arrays[i].size]),
    ):
        for position in chosen[:4]:
            special = _special(arrays[position].dtype)
            yield kind, _changed(row, {position: _sprinkled(special, random)}, gradient=asked)
            one = special[[random.randint(3)]]
            yield kind, _changed(row, {position: _filled(one)}, gradient=asked)


def _sprinkled(special: Any, random: np.random.RandomState) -> _Change:
    def change(array: Any) -> Any:
        found = np.array(array)
        flat = found.reshape(-1)
        flat[random.randint(flat.size)] = special[0]
        chosen = random.random_sample(flat.size) < 0.3
        flat[chosen] = special[random.randint(len(special), size=int(chosen.sum()))]
        return found

    return change


def _filled(value: Any) -> _Change:
    return lambda array: np.full_like(array, value[0])


def _emptied(size: int) -> _Change:
    """Replace every dimension of this size by 0."""

    def change(array: Any) -> Any:
        array = np.asarray(array)
        return array[(..., *(slice(0) if d == size else slice(None) for d in array.shape))]

    return change


def _empty(
    row: Sample, arrays: list[Any], known: list[int], random: np.random.RandomState
) -> Iterator[tuple[str, Sample]]:
    """Replace one size by 0 everywhere, or empty one input."""
    sizes = sorted({d for i in known for d in arrays[i].shape if d})
    for size in sizes[:4]:
        yield "empty", _changed(row, dict.fromkeys(known, _emptied(size)))
    for position in [i for i in known if arrays[i].size][:4]:
        shape = arrays[position].shape
        axis = random.randint(len(shape)) if shape else 0

        def alone(array: Any, axis: int = axis) -> Any:
            return np.take(np.atleast_1d(array), [], axis)

        yield "empty", _changed(row, {position: alone})


def _scalar(row: Sample, arrays: list[Any], known: list[int]) -> Iterator[tuple[str, Sample]]:
    """Replace one input, or all, by a single number; a scalar becomes a vector."""

    def first(array: Any) -> Any:
        array = np.asarray(array)
        return array.reshape(1) if array.shape == () else np.array(array.flat[0], array.dtype)

    having = [i for i in known if arrays[i].size]
    for position in having[:4]:
        yield "scalar", _changed(row, {position: first})
    ranked = [i for i in having if arrays[i].shape]
    if len(ranked) > 1:
        yield "scalar", _changed(row, dict.fromkeys(ranked, first))
