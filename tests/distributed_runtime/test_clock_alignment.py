"""Clocks of tasks move only where an order of two moments is violated, and then keep it."""

from __future__ import annotations

from tfnb.distributed_runtime.clock_alignment import CLIENT, Order, offsets_of

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


def test_clocks_that_keep_all_orders_stay() -> None:
    """Tasks of one machine have one clock."""
    orders = [
        Order(CLIENT, 0, PS, 10),
        Order(PS, 20, WORKER, 25),
        Order(WORKER, 30, CLIENT, 40),
    ]

    assert offsets_of(orders) == {PS: 0, WORKER: 0}


def test_a_clock_moves_to_the_middle_of_its_limits() -> None:
    """The task ran between request and response, wherever its clock stands."""
    late = 1_000_000

    assert offsets_of([Order(CLIENT, 0, PS, late + 2), Order(PS, late + 6, CLIENT, 10)]) == {
        PS: 1 - late
    }


def test_no_tensor_arrives_before_it_is_sent() -> None:
    """Two tasks are limited by what they send each other, the client by one of them."""
    ahead = 5_000
    orders = [
        Order(CLIENT, 0, WORKER, 100),
        Order(WORKER, 900, CLIENT, 1_000),
        Order(PS, ahead + 200, WORKER, 300),
        Order(WORKER, 400, PS, ahead + 500),
    ]

    found = offsets_of(orders)

    assert found[WORKER] == 0
    assert ahead + 200 + found[PS] <= 300
    assert ahead + 500 + found[PS] >= 400


def test_a_limit_through_a_third_task_counts() -> None:
    """The client knows one end of a chain of transfers only."""
    orders = [
        Order(PS, 5_000, WORKER, 10),
        Order(WORKER, 20, CLIENT, 30),
        Order(CLIENT, 0, PS, 4_990),
    ]

    found = offsets_of(orders)

    assert 5_000 + found[PS] <= 10 + found[WORKER]
    assert 20 + found[WORKER] <= 30
    assert 4_990 + found[PS] >= 0
