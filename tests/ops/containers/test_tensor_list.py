"""The elements of tensor lists: derived lists keep their elements."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.containers.tensor_list import Places, TensorList, as_places


@pytest.mark.parametrize("seed", range(20))
def test_every_version_of_a_list_keeps_its_elements(seed):
    """Elements are set in any version and read in any order."""
    rng = random.Random(seed)
    count = rng.randint(1, 9)
    wanted: list[list[int | None]] = [[None] * count]
    versions = [Places({}, count)]
    for step in range(200):
        number = rng.choice([len(versions) - 1, rng.randrange(len(versions))])
        if rng.random() < 0.7:
            index = rng.randrange(count)
            versions.append(versions[number].replaced(index, step))
            wanted.append([*wanted[number][:index], step, *wanted[number][index + 1 :]])
        elif rng.random() < 0.5:
            index = rng.randrange(-count, count)
            assert versions[number][index] == wanted[number][index]
        else:
            assert list(versions[number]) == wanted[number]
        assert len(versions[number]) == count
    assert [list(one) for one in versions] == wanted
    assert [one[1:] for one in versions] == [one[1:] for one in wanted]


def test_keeping_the_first_of_many_versions_keeps_few_of_them():
    """A loop of any length needs the same memory."""
    newest = first = Places({}, 3)
    for step in range(10_000):
        newest = newest.replaced(step % 3, step)
    between, one = 0, first
    while one._newer is not None:
        between, one = between + 1, one._newer
    assert between < 100
    assert list(newest) == [9999, 9997, 9998]
    assert list(first) == [None, None, None]


def test_a_place_that_is_not_there_is_refused():
    """The error is that of any sequence."""
    places = as_places((None, 1))
    for index in (2, -3):
        with pytest.raises(IndexError):
            places[index]
    with pytest.raises(IndexError):
        Places({}, 0)[0]


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_list_with_few_elements_is_added_place_by_place(is_swapped):
    """The sums are those of two whole lists, which stay unchanged."""

    def list_of(elements):
        return TensorList(dtypes.float32, TensorShape([]), elements)

    whole = list_of(tuple(np.float32(i) if i % 3 else None for i in range(40)))
    few = list_of(Places({}, 40).replaced(4, np.float32(0.5)).replaced(6, np.float32(2.0)))
    total = few + whole if is_swapped else whole + few
    again = total + few
    assert list(total.elements) == [
        0.5 + 4 if i == 4 else 2.0 if i == 6 else x for i, x in enumerate(whole.elements)
    ]
    assert [again.elements[4], again.elements[6], again.elements[0]] == [5.0, 4.0, None]
    assert [x for x in few.elements if x is not None] == [0.5, 2.0]
    assert total.elements[4] == 4.5
