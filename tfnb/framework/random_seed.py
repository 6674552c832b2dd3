"""Graph-level and op-level seeds, combined as TensorFlow combines them."""

from __future__ import annotations

from tfnb.framework.default_graph import get_default_graph

EXPORTS = {
    "tf": ["get_seed", "set_random_seed"],
    "random": ["get_seed", "set_random_seed"],
}

DEFAULT_GRAPH_SEED = 87654321
_MAX_INT32 = 2**31 - 1


def set_random_seed(seed: int | None) -> None:
    """Set the graph-level seed of the default graph."""
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the pair of seeds for an op that was given ``op_seed``.

    With a graph-level seed and no op-level one, each op gets the next number of its graph.
    """
    graph = get_default_graph()
    graph_seed = graph.seed
    if graph_seed is None:
        if op_seed is None:
            return None, None
        seeds = DEFAULT_GRAPH_SEED, op_seed % _MAX_INT32
    else:
        if op_seed is None:
            op_seed = graph.next_op_seed()
        seeds = graph_seed % _MAX_INT32, op_seed % _MAX_INT32
    # Two zeros would mean a random seed to the kernel.
    return (0, _MAX_INT32) if seeds == (0, 0) else seeds
