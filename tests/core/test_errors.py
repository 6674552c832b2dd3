"""The exceptions of a graph run."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.core import golden_values
from tfnb.core import errors
from tfnb.proto import graph_pb2


@dataclass
class Op:
    """The attributes of an operation that an error reads."""

    name: str
    traceback: list[traceback.FrameSummary] = field(default_factory=list)
    _original_op: Any = None


def test_errors_are_tensorflows() -> None:
    """Codes, classes and fields are the recorded ones."""
    assert golden_values.disagreements("errors", golden_values.tfnb_names()) == []


def test_every_class_has_a_maker() -> None:
    """A runtime raises with one argument: errors.not_found(message), and so on."""
    for code in range(1, 17):
        cls = errors.exception_type_from_error_code(code)
        name = cls.__name__.removesuffix("Error")
        maker = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]
        error = getattr(errors, maker)("why")

        assert type(error) is cls
        assert (error.message, error.error_code, error.op) == ("why", code, None)


def test_an_error_survives_pickling_but_for_its_op() -> None:
    """Message, code, node, payloads and notes travel; the op belongs to the graph it was in."""
    error = errors.InvalidArgumentError(graph_pb2.NodeDef(name="n"), Op("n"), "why", {b"k": b"v"})
    error.node_name = "n"
    error.naming("m").add_note("a note")
    error.mistake, error.reports_memory = errors.Mistake.OUT_OF_MEMORY, True

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is errors.InvalidArgumentError
    assert (copy.message, copy.error_code, copy.node_name) == ("why", 3, "n")
    assert copy.named_node == "m"
    assert (copy.mistake, copy.reports_memory) == (errors.Mistake.OUT_OF_MEMORY, True)
    assert (copy.node_def.name, copy.op) == ("n", None)
    assert copy.experimental_payloads == {b"k": b"v"}
    assert copy.__notes__ == ["a note"]


def test_an_error_of_a_subclass_survives_pickling() -> None:
    """Pickling does not call the subclass's own constructor."""
    error = pickle.loads(pickle.dumps(SpecialError()))

    assert (type(error), str(error)) == (SpecialError, "special")


class SpecialError(errors.AbortedError):
    """An error with a constructor of its own."""

    def __init__(self) -> None:
        super().__init__(None, None, "special")


def test_str_tells_where_the_op_was_made() -> None:
    """The text ends in the lines where the op, and its original op, were made."""
    frame = traceback.FrameSummary("model.py", 7, "build", lookup_line=False, line="x = y")
    op = Op("grad", [frame], _original_op=Op("forward", [frame]))
    text = str(errors.InvalidArgumentError(None, op, "why"))

    assert text.startswith("why\n\nOriginal stack trace for 'grad':\n")
    assert text.count('File "model.py", line 7, in build') == 2
    assert "...which was originally created as op 'forward', defined at:" in text


def test_a_foreign_code_becomes_unknown_error() -> None:
    """A status from another process keeps a code that has no class here."""
    error = errors.from_code(77, "odd")

    assert type(error) is errors.UnknownError
    assert error.error_code == 77


def test_code_of_a_subclass_is_its_bases() -> None:
    """A class derived from one of ours has its code; any other is unknown, with a warning."""
    assert errors.error_code_from_exception_type(SpecialError) == errors.ABORTED
    with pytest.warns(UserWarning, match="No error code belongs to the class KeyError"):
        assert errors.error_code_from_exception_type(KeyError) == errors.UNKNOWN
