"""Slices of tensors as text, as keys and as indexes."""

from __future__ import annotations

import pytest

from tfnb.core import errors
from tfnb.core.files.tensor_slice import (
    TensorSlice,
    parse_shape_and_slice,
    parse_slice_key,
    slice_key,
)


@pytest.mark.parametrize("text", ["-", "0,10:-:4,1", "300,70000"])
def test_text_round_trips(text: str) -> None:
    """A slice prints as it was written."""
    assert str(TensorSlice.parse(text)) == text


@pytest.mark.parametrize("text", ["zz", "0,0", "1", "-:x"])
def test_other_text_is_refused(text: str) -> None:
    """What is not a slice is an error that quotes it."""
    with pytest.raises(errors.InvalidArgumentError, match="Expected a pair of numbers or '-'"):
        TensorSlice.parse(text)


def test_shape_and_slice_gives_all_three_parts() -> None:
    """The whole shape, the slice and the part's shape."""
    shape, where, part = parse_shape_and_slice("4 10 0,2:-")
    assert (shape, str(where), part) == ((4, 10), "0,2:-", (2, 10))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("4", "least two elements"),
        ("4 x 0,2:-", "Non numerical"),
        ("4 -", None),
        ("4 4 -", "Mismatching ranks"),
        ("4 3,2", "out of bounds"),
    ],
)
def test_shape_and_slice_that_do_not_fit(spec: str, message: str | None) -> None:
    """Each mistake has its own sentence."""
    if message is None:
        assert parse_shape_and_slice(spec)[2] == (4,)
        return
    with pytest.raises(errors.InvalidArgumentError, match=message):
        parse_shape_and_slice(spec)


@pytest.mark.parametrize("start", [0, 1, 63, 64, 8191, 8192, 1 << 40, (1 << 62) - 1])
def test_keys_round_trip(start: int) -> None:
    """Name and slice come back from a key, whatever bytes and numbers are in them."""
    where = TensorSlice(((start, 5), (0, -1)))
    assert parse_slice_key(slice_key("a\0b\xff", where)) == ("a\0b\xff", where)


def test_keys_sort_as_their_slices() -> None:
    """Slices further back have greater keys."""
    keys = [slice_key("v", TensorSlice(((s, 1),))) for s in (0, 1, 63, 64, 200, 8191, 8192, 10**9)]
    assert keys == sorted(keys)


def test_a_cut_key_is_data_loss() -> None:
    """A key that ends early is refused."""
    with pytest.raises(errors.DataLossError, match="Bad tensor slice key"):
        parse_slice_key(slice_key("v", TensorSlice(((1000, 5),)))[:-2])


def test_overlap_is_where_both_are() -> None:
    """The common part, seen from each side."""
    a, b = TensorSlice.parse("0,4:-"), TensorSlice.parse("2,5:1,1")
    assert a.overlap(b, (10, 3)) == (
        (slice(2, 4), slice(1, 2)),
        (slice(0, 2), slice(0, 1)),
    )
    assert a.overlap(TensorSlice.parse("4,2:-"), (10, 3)) is None
