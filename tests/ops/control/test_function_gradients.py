"""The gradients that SymbolicGradient runs: nodes, values and errors equal TensorFlow's.

The answers are in tests/golden/symbolic_gradients.json.xz, which
scripts/oracle/graphs/symbolic_gradients.py writes.
"""

from __future__ import annotations

import base64
import json
import lzma
import re
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_batches
from tfnb.core import errors, op_registry
from tfnb.ops.control.function_gradients import NO_GRADIENT, gradient_of_op, has_gradient

if TYPE_CHECKING:
    from collections.abc import Iterable

_GOLDEN = Path(__file__).parents[2] / "golden" / "symbolic_gradients.json.xz"


@cache
def _golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(_GOLDEN.read_bytes()))
    return found


def _array(packed: list[Any]) -> Any:
    dtype, shape, data = packed
    return np.frombuffer(base64.b85decode(data), dtype).reshape(shape)


def _answer(row: dict[str, Any], feeds: dict[str, Any], *, is_plain: bool) -> tuple[Any, list[str]]:
    with tf.Graph().as_default() as graph:
        message = zlib.decompress(base64.b85decode(row["graph"]))
        tf.import_graph_def(tf.GraphDef.FromString(message), name="")
    config = tf.ConfigProto()
    if is_plain:
        config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(graph=graph, config=config) as session:
        values = session.run(row["fetches"], feeds, options, metadata)
    rows = [row.timeline_label for dev in metadata.step_stats.dev_stats for row in dev.node_stats]
    return values, _comparable(row for row in rows if row[0] != "_")


def _comparable(labels: Iterable[str]) -> list[str]:
    """Return labels without memory and control edges; parts of a list do not name their node."""
    return sorted(re.sub(_UNSTABLE, "", label) for label in labels)


_UNSTABLE = r"^\[.*?\] |, \^[^,)]*|\^[^,)]*|(?<== _Retval)\((dx|Func/dx/input)[/:_0-9]*\)"


def _check(want: dict[str, Any], row: dict[str, Any], feeds: Any, *, is_plain: bool) -> None:
    if "error" in want:
        with pytest.raises(getattr(tf.errors, want["error"])):
            _answer(row, feeds, is_plain=is_plain)
        return
    values, nodes = _answer(row, feeds, is_plain=is_plain)
    for value, stored in zip(values, want["values"], strict=True):
        expected = _array(stored)
        assert value.dtype == expected.dtype
        assert value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=2e-6, atol=1e-7)
    if is_plain:
        assert nodes == _comparable(want["nodes"])


@in_batches("row", _golden()["ops"], told=lambda row: str(row["op"]))
def test_the_gradient_of_an_op_runs_tensorflows_nodes(row: dict[str, Any]) -> None:
    """Nodes and inputs are equal, and therefore values; or the class of the error."""
    feeds = {name: _array(value) for name, value in row["feeds"].items()}
    _check(row, row, feeds, is_plain=True)


@pytest.mark.parametrize("session", ["plain", "optimized"])
@in_batches("row", _golden()["functions"], told=lambda row: str(row["name"]))
def test_the_gradient_of_a_function_runs_tensorflows_nodes(
    row: dict[str, Any], session: str
) -> None:
    """Without optimizers nodes are equal; in a default session, values."""
    want = row[session]
    if session == "optimized" and row["name"] == "stop_gradient":
        # TensorFlow's optimizer removes the StopGradient before it differentiates.
        assert want["values"] != row["plain"]["values"]
        want = row["plain"]
    _check(want, row, {}, is_plain=session == "plain")


def test_there_is_a_gradient_of_the_ops_of_which_tensorflow_has_one() -> None:
    """Other ops are refused, as not differentiable or as unknown."""
    known = _golden()["known"]
    ours = {name for name in known["gradient"] if has_gradient(name)}
    assert ours == {*known["gradient"]} - {"SymbolicGradient"}
    assert {*known["none"]} == NO_GRADIENT
    sampled = {row["op"] for row in _golden()["ops"]}
    assert ours - sampled == {"ReadVariableOp"}  # which a function reads
    for name in sorted(op_registry.all_ops()):
        if name not in known["gradient"] and not name.startswith("_"):
            with pytest.raises((errors.NotFoundError, errors.InvalidArgumentError)):
                gradient_of_op(name, {})
