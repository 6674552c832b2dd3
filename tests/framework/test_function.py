"""``Defun`` and what is built of functions is as in TensorFlow, by golden/functions.json."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.framework import (  # noqa: F401  # register programs
    cond_v2_scenarios,
    defun_scenarios,
    functional_scenarios,
    mixed_scenarios,
    while_v2_scenarios,
)
from tests.framework.function_scenarios import SCENARIOS, Kit, answer_of
from tfnb.framework.functions import function
from tfnb.library.control_flow import functional_control_flow

_GOLDEN = Path(__file__).parents[1] / "golden" / "functions.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


_SLOW = {"v2_map_scan_fold", "v2_while_gradients", "v2_while_nested_gradients"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in _SLOW else ())
        for name in sorted(SCENARIOS)
    ],
)
def test_program_is_as_in_tensorflow(name: str) -> None:
    """The same nodes, functions, values and classes of errors."""
    expected = _ANSWERS[name]
    actual = answer_of(tf, Kit(function, functional_control_flow), name)
    wanted, got = expected.pop("values", []), actual.pop("values", [])
    assert expected == actual
    assert len(wanted) == len(got)
    for one, other in zip(wanted, got, strict=True):
        if _has_text(one) or _has_text(other):
            assert one == other
        else:
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def _has_text(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_text, value))
    return value is None or isinstance(value, str)


def test_a_body_may_call_python() -> None:
    """A function of the body lives as long as the graph around it."""
    body = function.Defun(tf.float32, func_name="Doubled")(_doubled)
    with tf.Graph().as_default(), tf.Session() as session:
        y = body(2.0)
        gc.collect()
        assert session.run(y) == 4.0


def _doubled(x: tf.Tensor) -> tf.Tensor:
    found: tf.Tensor = tf.py_func(lambda value: value * 2, [x], tf.float32)
    return found


def test_a_failing_body_leaves_the_default_graph() -> None:
    """The caller gets the error."""
    body = function.Defun(tf.float32)(lambda x: x / tf.float99)
    with tf.Graph().as_default() as graph:
        with pytest.raises(AttributeError, match="float99"):
            body(2.0)
        assert tf.get_default_graph() is graph
        assert not graph._functions


def test_names_are_offered_where_tensorflow_has_them() -> None:
    """tfnb.python has the names of tensorflow.python."""
    from tfnb.python.framework import function as public_function
    from tfnb.python.ops import functional_ops

    assert public_function.Defun is function.Defun
    assert functional_ops.While is functional_control_flow.While
