"""Conds, loops and their gradients are built and computed as in TensorFlow.

The programs are in the ``*_scenarios.py`` files, TensorFlow's answers in
golden/control_flow_graphs.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.library.control_flow import gradient_scenarios, nested_scenarios, variable_scenarios  # noqa: F401  # register programs
from tests.library.control_flow.control_flow_scenarios import (
    FORWARD,
    GRADIENTS,
    described,
    nodes_of,
    values_of,
    without_tensors,
)

_GOLDEN = Path(__file__).parents[2] / "golden" / "control_flow_graphs.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted({*FORWARD, *GRADIENTS}))
def test_scenario_is_as_in_tensorflow(name: str) -> None:
    """Nodes, results, values and errors equal TensorFlow's."""
    answer = _ANSWERS[name]
    program = FORWARD.get(name) or GRADIENTS[name]
    with tf.Graph().as_default() as graph:
        if "error" in answer:
            with pytest.raises(Exception) as info:  # noqa: PT011  # the text is compared
                program(tf)
            assert answer["error"] == without_tensors(info.value)
            return
        result = program(tf)
        expected = {node[0]: node[1:] for node in answer["nodes"]}
        actual = {node[0]: node[1:] for node in nodes_of(graph, only_control=name in GRADIENTS)}
        assert expected == actual
        if name in FORWARD:
            assert answer["result"] == described(result)
        _check_values(answer["values"], values_of(tf, graph, result))


def _check_values(expected: list[Any], actual: list[Any]) -> None:
    assert len(expected) == len(actual)
    for wanted, got in zip(expected, actual, strict=True):
        if isinstance(wanted, str) or isinstance(got, str):
            assert wanted == got
            continue
        assert len(wanted) == len(got)
        for one, other in zip(wanted, got, strict=True):
            if one is None or other is None:
                assert one is other
                continue
            assert one[0] == other[0]
            if one[0] == "string":
                assert one[1] == other[1]
                continue
            np.testing.assert_allclose(other[1], one[1], rtol=1e-5, atol=1e-6)
