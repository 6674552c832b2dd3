"""The nodes that gradients add to a graph are TensorFlow's, name for name."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tfnb
from tests.library.gradients.gradient_graph_scenarios import SCENARIOS, nodes

_PATH = Path(__file__).parents[2] / "golden/gradient_graphs.json.xz"


@cache
def _wanted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(_PATH.read_bytes()))
    return found


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_gradients_make_tensorflows_nodes(name: str) -> None:
    """Names, ops, inputs (control inputs too) and keep_dims of all nodes are the same."""
    assert nodes(tfnb, name) == _wanted()[name]


def test_batches_that_are_known_to_agree_need_no_sum() -> None:
    """An unknown side of the matrices does not require the sum over repeated batches."""
    with tfnb.Graph().as_default() as graph:
        x, y = (
            tfnb.placeholder(tfnb.float32, [2, None, 3]),
            tfnb.placeholder(tfnb.float32, [2, 3, 4]),
        )
        tfnb.gradients(tfnb.matmul(x, y), [x, y])
    assert "BroadcastGradientArgs" not in {op.type for op in graph.get_operations()}


def test_the_stacked_gradient_of_an_unstacked_array_has_its_elements_shape() -> None:
    """The handle of the array has the shape, as in TensorFlow; the attribute has none."""
    with tfnb.Graph().as_default():
        x = tfnb.placeholder(tfnb.float32, [None, 3])
        (slope,) = tfnb.gradients(tfnb.map_fn(lambda row: row * row, x), x)
        assert slope.op.type == "TensorArrayGatherV3"
        assert slope.shape.as_list() == [None, 3]
        array = tfnb.TensorArray(tfnb.float32, 4, element_shape=[2])
        assert array.stack().shape.as_list() == [4, 2]


def test_the_gradient_of_a_gathered_concat_has_tensorflows_nodes() -> None:
    """The ends of the slices are gathered along a positive axis."""
    with tfnb.Graph().as_default() as graph:
        x = tfnb.placeholder(tfnb.float32, [2, 3])
        tfnb.gradients(tfnb.gather(tfnb.concat([x, x], 0), [0]), x)
    names = {op.name for op in graph.get_operations()}
    assert {"gradients/concat_grad/Rank", "gradients/concat_grad/mod"} <= names
