"""Random elementwise graphs give the same bits as compiled kernels and node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_batches
from tests.without_kernels import without_kernels
from tfnb.common_runtime.lowering.rewrite.compiled_clusters import CompiledCluster
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.core.compiled.helper import HELPER

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("llvmlite")

_SHAPES = [(7,), (5, 7), (6, 1), (1, 7), (2, 3, 5), (3, 4, 1), (0, 4), (17, 33), (3, 1, 5, 2)]
_SPECIAL = np.array([0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 1, -1, 0.5])
# Ops whose result is rounded once; the sign of zero that is the larger of two is undefined.
_UNARY: list[Callable[..., Any]] = [tf.negative, tf.abs, tf.square, tf.sign, tf.identity]
_OF_FLOATS: list[Callable[..., Any]] = [tf.sqrt, tf.floor, tf.nn.relu6, tf.nn.leaky_relu]
_BINARY: list[Callable[..., Any]] = [
    tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.squared_difference,
]  # fmt: skip
_CHOICES: list[Callable[..., Any]] = [tf.less, tf.greater_equal, tf.not_equal]


class _Graph:
    """A random graph and its feeds; made twice from one seed, it is the same."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.feeds: dict[Any, Any] = {}
        self._dtype = [np.float32, np.float32, np.float64, np.int32, np.int64][seed % 5]
        shape = _SHAPES[self.random.integers(len(_SHAPES))]
        nodes = [self._input(shape)]
        nodes += [self._input(self._broadcast(shape)) for _ in range(self.random.integers(1, 4))]
        unary = _UNARY + (_OF_FLOATS if np.dtype(self._dtype).kind == "f" else [])
        for _ in range(self.random.integers(3, 12)):
            x, y = (nodes[self.random.integers(len(nodes))] for _ in range(2))
            kind = self.random.integers(4)
            if kind == 0:
                nodes.append(unary[self.random.integers(len(unary))](x))
            elif kind == 1:
                chosen = _CHOICES[self.random.integers(len(_CHOICES))](x, y)
                nodes.append(tf.where_v2(chosen, y, nodes[0]))
            else:
                nodes.append(_BINARY[self.random.integers(len(_BINARY))](x, y))
        self.fetches = nodes[-3:]

    def _broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        dims = [1 if self.random.random() < 0.3 else size for size in shape]
        return tuple(dims[self.random.integers(len(dims)) if self.random.random() < 0.3 else 0 :])

    def _input(self, shape: tuple[int, ...]) -> Any:
        """Return a placeholder, a part of one, or a transposed one."""
        layout = self.random.integers(4)
        stored = (*shape[:-1], 3 * shape[-1]) if layout == 1 else shape
        stored = stored[::-1] if layout == 2 else stored
        values = self.random.normal(size=stored) * 9
        if np.dtype(self._dtype).kind == "f" and self.random.random() < 0.5:
            some = self.random.random(stored) < 0.2
            values[some] = self.random.choice(_SPECIAL, some.sum())
        place = tf.placeholder(self._dtype, [None] * len(stored))
        self.feeds[place] = values.astype(self._dtype)
        if layout == 1:
            return tf.split(place, 3, -1)[self.random.integers(3)]
        return tf.transpose(place) if layout == 2 else place


def _results(seed: int, when: Lowering, steps: int) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session, lowering(when):
        graph = _Graph(seed)
        with np.errstate(all="ignore"):
            for _ in range(steps):
                found = session.run(graph.fetches, graph.feeds)
                HELPER.wait()
    return list(found)


def _compare(seed: int) -> None:
    with without_kernels(), np.errstate(all="ignore"):
        wanted = _results(seed, Lowering.NEVER, 1)
    found = _results(seed, Lowering.ALWAYS, 5)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@in_batches("seed", range(24), size=4)
def test_kernels_give_the_bits_of_the_nodes(seed: int, kernels_at_once: None) -> None:
    """Broadcast inputs, parts of a split, transposed arrays, and numbers that are not finite."""
    _compare(seed)


@pytest.mark.slow
@pytest.mark.repeats
@in_batches("seed", range(24, 240), size=12)
def test_kernels_of_further_graphs_give_the_bits_of_the_nodes(
    seed: int, kernels_at_once: None
) -> None:
    """More graphs of the same kinds."""
    _compare(seed)


def test_graphs_run_as_kernels(kernels_at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the graphs have a cluster whose kernel is used."""
    used: list[int] = []
    call = CompiledCluster.__call__

    def noted(self: CompiledCluster, *args: Any) -> Any:
        found = call(self, *args)
        if found is not None:
            used.append(seed)
        return found

    monkeypatch.setattr(CompiledCluster, "__call__", noted)
    for seed in range(6):
        _results(seed, Lowering.ALWAYS, 5)
    assert len(set(used)) >= 3
