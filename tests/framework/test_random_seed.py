"""Seeds of graph and op."""

from __future__ import annotations

import pytest

import tfnb as tf

MAX = 2**31 - 1


@pytest.mark.parametrize(
    ("graph_seed", "op_seed", "seeds"),
    [
        (None, None, (None, None)),
        (None, 3, (87654321, 3)),
        (7, 3, (7, 3)),
        (7, None, (7, 0)),
        (0, 0, (0, MAX)),
        (0, 2**31, (0, 1)),
        (2**31 + 4, -1, (5, MAX - 1)),
    ],
)
def test_seeds_combine(
    graph_seed: int | None, op_seed: int | None, seeds: tuple[int | None, int | None]
) -> None:
    """Both are cut to 31 bits, and (0, 0), which would mean random, is avoided."""
    tf.set_random_seed(graph_seed)
    assert tf.get_seed(op_seed) == seeds


def test_ops_without_a_seed_count_up_per_graph(graph: tf.Graph) -> None:
    """A seed given in between is not counted."""
    tf.set_random_seed(7)
    assert [tf.get_seed(None), tf.get_seed(5), tf.get_seed(None)] == [(7, 0), (7, 5), (7, 1)]
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        assert tf.get_seed(None) == (7, 0)
    assert graph.seed == 7
