"""`%%tfnb cell` replaces operations of the cell's last run, and reports the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.notebook.extension import extension_of

if TYPE_CHECKING:
    import pytest

CELL = "%%tfnb cell\nx = tf.constant(1.0, name='x')\ny = tf.multiply(x, {}, name='y')"


def run(shell: Any, cell: str, capsys: pytest.CaptureFixture[str], cell_id: str = "a") -> str:
    """Return the output of a cell."""
    capsys.readouterr()
    shell.run_cell(cell, store_history=True, cell_id=cell_id)
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_a_cell_that_runs_again_adds_nothing(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same objects exist, as made by the latest run."""
    assert run(loaded, CELL.format(2.0), capsys) == ""
    first = loaded.user_ns["y"]
    assert run(loaded, CELL.format(2.0), capsys) == "3 kept; 3 in the graph\n"
    assert loaded.user_ns["y"] is first
    site = first.op.creation_site
    assert (site.cell, site.line) == (loaded.execution_count - 1, 3)


def test_users_of_replaced_operations_are_reported(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report has the cell and line to run again."""
    run(loaded, CELL.format(2.0), capsys)
    number = loaded.execution_count
    run(loaded, "z = tf.negative(y, name='z')\nz.eval()", capsys, "b")
    text = run(loaded, CELL.format(5.0), capsys)
    assert text == (
        "1 kept, 2 replaced; 6 in the graph\n"
        f"'z' (cell {number}, line 1) still uses 'former/y' of the run before\n"
        "Run the cells that made these again to have them use what is there now.\n"
    )
    assert run(loaded, "print(z.eval(), y.eval())", capsys, "c").endswith("-2.0 5.0\n")


def test_cells_are_told_apart(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A cell is identified by the front end or by a given name; without either it is an error."""
    run(loaded, CELL.format(2.0), capsys, "a")
    run(loaded, CELL.format(2.0), capsys, "b")
    assert len(get_default_graph().get_operations()) == 6
    run(loaded, CELL.replace("cell", "cell model").format(3.0), capsys, "")
    run(loaded, CELL.replace("cell", "cell model").format(4.0), capsys, "")
    assert len(get_default_graph().get_operations()) == 9
    text = run(loaded, CELL.format(2.0), capsys, "")
    assert "give it a name: %%tfnb cell NAME" in text
    assert "Traceback" not in text


def test_a_cell_that_fails_is_told_as_ever(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is shown, and the next run replaces the operations."""
    run(loaded, CELL.format(2.0), capsys)
    assert "ZeroDivisionError" in run(loaded, CELL.format("1 / 0"), capsys)
    run(loaded, CELL.format(2.0), capsys)
    assert len(get_default_graph().get_operations()) == 3


def test_diff_names_what_a_replaced_cell_changed(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The difference has values, new nodes and removed nodes."""
    assert "No cell has added operations twice" in run(loaded, "%tfnb diff", capsys)
    first = loaded.execution_count
    run(loaded, CELL.format(2.0), capsys)
    run(loaded, CELL.format(5.0) + "\nz = tf.negative(y, name='z')", capsys)
    assert run(loaded, "%tfnb diff", capsys) == (
        f"cell {first + 1}, compared with its run as cell {first}: "
        "1 changed, 1 new, 0 gone, 2 the same\n"
        "  * y/y  Const  value: 2.0 → 5.0\n"
        "  + z  Neg\n"
    )


def test_diff_of_a_cell_that_ran_twice_ignores_numbers_in_names(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cell without the magic makes equal nodes with new numbers."""
    for factor in (2.0, 3.0):
        run(loaded, CELL.partition("\n")[2].format(factor), capsys)
    text = run(loaded, "%tfnb diff", capsys)
    assert "1 changed, 0 new, 0 gone, 2 the same" in text
    assert "  * y_1/y  Const  value: 2.0 → 3.0" in text


def test_diff_compares_with_a_kept_state_and_other_graphs(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The graph is compared with a kept state and with a variable."""
    run(loaded, "x = tf.constant(1.0, name='x')", capsys)
    assert run(loaded, "%tfnb diff --keep before", capsys) == "Kept as 'before': 1 nodes.\n"
    run(loaded, "with tf.device('/cpu:0'):\n    n = tf.negative(x, name='n')", capsys)
    assert run(loaded, "%tfnb diff before", capsys) == (
        "0 changed, 1 new, 0 gone, 1 the same\n  + n  Neg\n"
    )
    cell = "other = tf.Graph()\nwith other.as_default():\n    tf.negative(tf.ones([2]), name='n')"
    run(loaded, cell, capsys)
    text = run(loaded, "%tfnb diff other", capsys)
    assert "  * n  Neg  device: any → /device:CPU:0; inputs: ones → x" in text
    assert "  - ones  Const" in text
    assert "is neither a variable" in run(loaded, "%tfnb diff nowhere", capsys)


def test_hostile_names_stay_text_in_differences(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters are shown as text; long names are shortened."""
    from tfnb.notebook.graph_difference import compare_nodes
    from tfnb.proto.graph_pb2 import GraphDef

    graph_def = GraphDef()
    graph_def.node.add(name="a\x1b[31m\n" + "b" * 1_000_000, op="<img onerror=x>")
    text = str(compare_nodes([], graph_def.node))
    assert len(text) < 300
    assert "\x1b" not in text
    assert text.count("\n") == 1


def test_the_badge_stays_silent_where_the_cell_speaks(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first run reports the growth of the graph, later ones the replacements."""
    extension = extension_of(loaded)
    assert extension is not None
    run(loaded, CELL.format(2.0), capsys)
    assert extension.growth.text == "+3 ops, 3 in the graph"
    run(loaded, CELL.format(3.0), capsys)
    assert extension.growth.text == ""
