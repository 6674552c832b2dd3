"""Requests that arrive twice: which ids a service remembers, and what they take of memory."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from tfnb.core import errors
from tfnb.distributed_runtime.grpc_services import RecentRequestIds


def test_an_id_that_comes_again_is_refused_and_0_stands_for_none() -> None:
    """An id of a request names it; clients that have none send 0."""
    seen = RecentRequestIds()
    seen.note(7, "RunStep")
    with pytest.raises(errors.AbortedError, match=r"same RunStep request was received twice.* 7"):
        seen.note(7, "RunStep")
    seen.note(0, "RunStep")
    seen.note(0, "RunStep")


def _random_ids(count: int) -> list[int]:
    return random.Random(1).sample(range(1, 2**63), count)


@pytest.mark.parametrize(
    "ids",
    [
        range(1, 1000),
        [number << 54 for number in range(1, 1000)],
        [-number for number in range(1, 1000)],
        _random_ids(1000),
    ],
    ids=["in sequence", "large", "negative", "random"],
)
def test_the_last_ids_are_known_and_twice_as_many_at_most(ids: list[int]) -> None:
    """Ids are forgotten in two portions, whatever their values."""
    most = 100
    seen = RecentRequestIds(most)
    ids = list(ids)
    for index, number in enumerate(ids):
        seen.note(number, "RunStep")
        for known in ids[max(0, index - most + 1) : index + 1]:
            with pytest.raises(errors.AbortedError):
                seen.note(known, "RunStep")
    for number in ids[: -2 * most]:
        seen.note(number, "RunStep")  # long ago: not known any longer


def test_ids_of_many_requests_take_a_few_megabytes() -> None:
    """A server that has answered for weeks has not grown by its ids."""
    ids = _random_ids(150_000)
    tracemalloc.start()
    try:
        seen = RecentRequestIds()
        for number in ids:
            seen.note(number, "RunStep")
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 6 * 2**20
