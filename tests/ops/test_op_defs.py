"""Every registered op has the OpDef of TensorFlow."""

from __future__ import annotations

import copy
import importlib
import pickle
from pathlib import Path

import pytest

import tfnb as tf
from tests.ops.op_def_text import op_def_line
from tfnb.core import op_registry
from tfnb.core.op_def_proto import op_def_to_proto

_LINES = {
    line.split("(", 1)[0]: line
    for line in (Path(__file__).parents[1] / "golden" / "op_defs.txt").read_text().splitlines()
}

# Ops that exist only here.
_OURS: frozenset[str] = frozenset()


@pytest.fixture(scope="module")
def registered() -> dict[str, op_registry.OpDefinition]:
    """All ops, after every family was imported."""
    importlib.import_module("tfnb.ops.all_ops")
    return op_registry.all_ops()


def test_op_defs_equal_tensorflows(registered: dict[str, op_registry.OpDefinition]) -> None:
    """Names, order, types, allowed values, defaults and flags are TensorFlow's."""
    wrong = []
    for name, definition in sorted(registered.items()):
        if name in _OURS or name not in _LINES:
            continue
        found = op_def_line(op_def_to_proto(definition.op_def))
        if found != _LINES[name]:
            wrong.append(f"ours:         {found}\nTensorFlow's: {_LINES[name]}")
    assert not wrong, "\n\n".join(wrong)


def test_every_op_is_an_op_of_tensorflow(registered: dict[str, op_registry.OpDefinition]) -> None:
    """Every op exists in TensorFlow, apart from the listed ones and those of other tests."""
    ours = {
        name
        for name, definition in registered.items()
        if not getattr(definition.function, "__module__", "tfnb").startswith("tests.")
        and not name.startswith("Test")
    }
    assert sorted(ours - set(_LINES) - _OURS) == []


def test_every_op_says_what_it_does(registered: dict[str, op_registry.OpDefinition]) -> None:
    """Each op with a kernel has a docstring."""
    silent = [name for name, d in registered.items() if d.function is not None and not d.__doc__]
    assert sorted(silent) == []


def test_an_op_is_copied_as_a_function_is() -> None:
    """By its name: tables of layers that programs copy hold ops."""
    relu = op_registry.get("Relu")

    assert copy.deepcopy({"layers": [relu]})["layers"][0] is relu
    assert pickle.loads(pickle.dumps(relu)) is relu
    assert relu.__qualname__ == relu.__name__ == "relu"


def test_zeros_like_takes_false_for_a_type_where_the_shape_is_known() -> None:
    """As TensorFlow; programs mean `optimize` by it."""
    with tf.Graph().as_default():
        assert tf.zeros_like(tf.placeholder(tf.int64, [2]), False).dtype == tf.int64
        with pytest.raises(TypeError, match="Cannot convert the argument `type_value`: False"):
            tf.zeros_like(tf.placeholder(tf.int64, [None]), False)
