"""Where an op was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.framework import traceback_of_user

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def no_cells() -> Iterator[None]:
    """Remove the registered cells."""
    yield
    traceback_of_user.forget_cells()


def run_cell(source: str, filename: str, names: dict[str, object]) -> None:
    """Run source as a notebook runs a cell."""
    exec(compile(source, filename, "exec"), names)


def test_an_op_knows_file_line_and_function() -> None:
    """The innermost frame outside tfnb, with the text of the line."""
    site = tf.constant(1.0).op.creation_site
    assert site is not None
    assert site.file == __file__
    assert site.function == "test_an_op_knows_file_line_and_function"
    assert site.text == "site = tf.constant(1.0).op.creation_site"
    assert site.cell is None
    assert str(site) == f"{__file__}:{site.line}"


def test_operators_and_nested_calls_point_at_the_user_too() -> None:
    """Ops made deep inside of tfnb point to the user's line."""
    y = tf.constant(1.0) + 2.0
    for op in (y.op, y.op.inputs[1].op):
        site = op.creation_site
        assert site is not None
        assert site.text == "y = tf.constant(1.0) + 2.0"


def test_the_traceback_leads_to_the_line() -> None:
    """The outermost frame is first, as in Python."""

    def inner() -> tf.Operation:
        return tf.no_op()

    frames = inner().traceback
    assert [frame.name for frame in frames[-2:]] == [
        "test_the_traceback_leads_to_the_line",
        "inner",
    ]
    assert frames[-1].line == "return tf.no_op()"


def test_a_cell_is_named_by_its_number() -> None:
    """The line of the cell is used, even if a library's function made the op."""
    traceback_of_user.register_cell("/tmp/cell_a.py", 3, "x = 1\nop = make()\n")
    names: dict[str, object] = {"make": tf.no_op}
    run_cell("x = 1\nop = make()\n", "/tmp/cell_a.py", names)
    site = names["op"].creation_site  # type: ignore[attr-defined]
    assert (site.cell, site.line, site.text) == (3, 2, "op = make()")
    assert str(site) == "cell 3, line 2"


def test_a_cell_run_again_is_another_cell_run() -> None:
    """Both runs have the same file name; each op belongs to its run."""
    names: dict[str, object] = {"tf": tf, "ops": []}
    for count in (3, 7):
        traceback_of_user.register_cell("/tmp/cell_b.py", count, "ops.append(tf.no_op())")
        run_cell("ops.append(tf.no_op())", "/tmp/cell_b.py", names)
    assert [op.creation_site.cell for op in names["ops"]] == [3, 7]  # type: ignore[attr-defined]


def test_a_function_of_an_earlier_cell_belongs_to_that_cell() -> None:
    """The innermost cell is used."""
    traceback_of_user.register_cell("/tmp/cell_c.py", 1, "def f():\n  return tf.no_op()")
    names: dict[str, object] = {"tf": tf}
    run_cell("def f():\n  return tf.no_op()", "/tmp/cell_c.py", names)
    traceback_of_user.register_cell("/tmp/cell_d.py", 2, "op = f()")
    run_cell("op = f()", "/tmp/cell_d.py", names)
    site = names["op"].creation_site  # type: ignore[attr-defined]
    assert (site.cell, site.text, site.function) == (1, "return tf.no_op()", "f")


def test_a_site_taken_before_its_file_was_a_cell_is_none() -> None:
    """Registering a file as a cell does not change earlier sites."""
    names: dict[str, object] = {"tf": tf}
    run_cell("op = tf.no_op()", "/tmp/cell_e.py", names)
    traceback_of_user.register_cell("/tmp/cell_e.py", 1, "op = tf.no_op()")
    site = names["op"].creation_site  # type: ignore[attr-defined]
    assert (site.cell, site.file) == (None, "/tmp/cell_e.py")
    assert traceback_of_user.cell_of(names["op"].site) is None  # type: ignore[attr-defined]


def test_few_frames_are_kept() -> None:
    """A deep recursion does not make ops large."""

    def deep(depth: int) -> tf.Operation:
        return deep(depth - 1) if depth else tf.no_op()

    assert len(deep(50).traceback) == traceback_of_user.MAX_FRAMES
