"""`%tfnb` and `%%tfnb` in a terminal: text, clean errors, completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.completer import provisionalcompleter

import tfnb as tf
from tfnb.notebook.completion import completions
from tfnb.notebook.extension import extension_of
from tfnb.notebook.magics import CELL_COMMANDS, LINE_COMMANDS, without_empty_body

if TYPE_CHECKING:
    from pathlib import Path

    from tfnb.notebook.magics import TfnbMagics


def out(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of a cell."""
    capsys.readouterr()
    shell.run_cell(cell, store_history=True)
    captured = capsys.readouterr()
    return captured.out + captured.err


def magics_of(shell: Any) -> TfnbMagics:
    """Return the magics object of a shell."""
    extension = extension_of(shell)
    assert extension is not None
    return extension.magics


def test_alone_it_prints_what_there_is(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`%tfnb` alone lists the sessions and commands."""
    text = out(loaded, "%tfnb", capsys)

    for subcommand in ("graph", "placement", "partitions", "devices", "watch"):
        assert subcommand in text


def test_source_prints_what_a_graph_runs_as(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each graph is a function with a line per node; without a run there is none."""
    assert "No graph of the default session runs" in out(loaded, "%tfnb source", capsys)
    text = out(
        loaded,
        "loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])\n"
        "with tf.Session() as session:\n"
        "    three = session.run(loop)\n"
        "    get_ipython().run_line_magic('tfnb', 'source')",
        capsys,
    )
    assert "for turn1 in count():" in text
    assert "# 'while/Less' (Less)" in text


def test_running_prints_the_nodes_of_steps_in_other_threads(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step in a Python function is reported in the next cell."""
    assert out(loaded, "%tfnb running", capsys) == "No step is in flight.\n"
    loaded.run_cell(
        "import threading\n"
        "here, go = threading.Event(), threading.Event()\n"
        "slow = tf.py_func(lambda: here.set() or go.wait(60), [], tf.bool, name='slow')\n"
        "session = tf.Session()\n"
        "thread = threading.Thread(target=session.run, args=(slow,))\n"
        "thread.start()\n"
        "here.wait(60)"
    )
    text = out(loaded, "%tfnb running", capsys)
    loaded.run_cell("go.set()\nthread.join(60)\nsession.close()")
    assert "'slow' (PyFunc) runs, made at cell " in text


def test_graph_prints_a_tree(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal shows the scopes as text."""
    loaded.run_cell("with tf.name_scope('s'):\n    x = tf.constant(1.0, name='x')")

    assert out(loaded, "%tfnb graph", capsys) == (
        "graph: 1 nodes, 0 edges\n└─ s/  1 nodes\n   └─ x  Const  float32 ()\n"
    )


def test_graph_takes_variables_files_and_names(
    loaded: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The target is a variable, a file or a name."""
    other = tf.Graph()
    with other.as_default():
        tf.constant(1.0, name="elsewhere")
    file = tmp_path / "g.pb"
    file.write_bytes(other.as_graph_def().SerializeToString())
    loaded.user_ns["other"] = other
    loaded.run_cell("x = tf.constant(1.0, name='here')")

    assert "elsewhere" in out(loaded, "%tfnb graph other", capsys)
    assert "elsewhere" in out(loaded, f"%tfnb graph {file}", capsys)
    assert "here" in out(loaded, "%tfnb graph x", capsys)
    assert "here" in out(loaded, "%tfnb graph here", capsys)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%tfnb nonsense", "has no 'nonsense'; there are graph, dot, placement"),
        ("%tfnb graph nowhere", "'nowhere' is neither a variable with a graph, nor a file"),
        ("%tfnb graph missing.pb", "There is no file 'missing.pb'"),
        ("%tfnb graph --colour pink", "invalid choice: 'pink'"),
        ("%tfnb watch", "write %%tfnb watch on its first line"),
        ("%tfnb placement", "Nothing has run yet"),
        ("%%tfnb graph\n1", "before a cell there are watch, record, debug"),
    ],
)
def test_mistakes_are_usage_errors(
    loaded: Any, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    """A usage error is one line with the remedy, without a traceback."""
    text = out(loaded, line, capsys)

    assert message in text
    assert "Traceback" not in text


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_name_with_a_space_stands_in_quotes(
    loaded: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, quote: str
) -> None:
    """The quotes are no part of it."""
    file = tmp_path / "a graph.dot"

    assert "bytes" in out(loaded, f"%tfnb export {quote}{file}{quote}", capsys)
    assert file.read_text().startswith("digraph")


def test_help_of_a_subcommand_names_its_options(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-h` prints the parser's help and raises no error."""
    text = out(loaded, "%tfnb graph -h", capsys)

    assert "--colour" in text
    assert "Error" not in text


@pytest.mark.parametrize("command", CELL_COMMANDS)
@pytest.mark.parametrize("line", ["%tfnb {} -h", "%%tfnb {} --help", "%%tfnb {} -h\nprint('ran')"])
def test_help_needs_no_cell(
    loaded: Any, capsys: pytest.CaptureFixture[str], command: str, line: str
) -> None:
    """Help runs no cell and needs none."""
    text = out(loaded, line.format(command), capsys)

    assert text.lstrip().startswith(f"%%tfnb {command}")
    assert "Run the cell" in text
    assert "ran\n" not in text
    assert "Error" not in text


@pytest.mark.parametrize("line", ["%tfnb?", "%%tfnb?", "tfnb?", "%%tfnb", "%%tfnb -h", "%%tfnb\n1"])
def test_every_way_to_ask_lists_the_subcommands(
    loaded: Any, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """IPython's question mark works as well."""
    text = out(loaded, line, capsys)

    for command in (*LINE_COMMANDS, *CELL_COMMANDS):
        if command != "help":
            assert f"%tfnb {command}" in text


def test_a_cell_magic_without_a_cell_says_so(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message is tfnb's; other magics have IPython's."""
    assert "watch needs a cell" in out(loaded, "%%tfnb watch\n\n", capsys)
    loaded.run_line_magic("unload_ext", "tfnb")
    assert without_empty_body not in loaded.input_transformers_cleanup


def test_placement_and_partitions_show_the_last_run(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signature that ran last is shown, not the newest one."""
    loaded.run_cell("p = tf.placeholder(tf.float32, [], name='p')")
    loaded.run_cell("a = tf.add(p, 1.0, name='a')\nb = tf.multiply(p, 3.0, name='b')")
    loaded.run_cell("_ = a.eval({p: 1}), b.eval({p: 1}), a.eval({p: 1})")

    text = out(loaded, "%tfnb placement", capsys)
    assert text.startswith("CPU:0: ")
    assert "\na " in text
    assert "\nb " not in text
    assert "\nb " in out(loaded, "%tfnb placement b", capsys)
    assert out(loaded, "%tfnb partitions b", capsys).startswith("CPU:0: 4 nodes")


def test_placement_of_what_never_ran_is_prepared(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fetch is placed without running it."""
    loaded.run_cell("p = tf.placeholder(tf.float32, name='p')\nq = p + 1.0")

    assert "\np " in out(loaded, "%tfnb placement q", capsys)


def test_placement_says_what_passes_did(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The changes of passes are listed below the table."""
    loaded.run_cell("p = tf.placeholder(tf.float32, name='p')\nq = tf.identity(p, name='q') + 1.0")
    loaded.run_cell("r = tf.exp(q, name='r')")

    text = out(loaded, "%tfnb placement r", capsys)
    assert "changed since by passes:" in text
    assert "'q' (Identity) only passes 'p:0' on" in text
    assert "changed since" not in out(loaded, "%tfnb placement p", capsys)


def test_watch_runs_the_cell_and_sums_up(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The value of the cell is displayed, followed by the summary."""
    loaded.run_cell("p = tf.placeholder(tf.float32, [])")
    text = out(loaded, "%%tfnb watch\nx = p + 1.0\nfloat(x.eval({p: 20}))", capsys)

    assert "21.0" in text
    assert "done: 1 step" in text
    assert "CPU:0: 4 of 4 nodes, 4 runs" in text


def test_watch_knows_lines_and_lets_errors_out(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line numbers of the cell are right for operations and tracebacks."""
    result = loaded.run_cell(
        "%%tfnb watch\nx = tf.constant(1.0)\ny = x + 1.0\nraise KeyError('mine')",
        store_history=True,
    )

    assert isinstance(result.error_in_exec, KeyError)
    site = loaded.user_ns["y"].op.creation_site
    assert (site.cell, site.line) == (loaded.execution_count - 1, 3)
    assert "line 4" in capsys.readouterr().out


def test_watch_includes_sessions_opened_in_the_cell(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sessions that are opened and closed in the cell count."""
    cell = (
        "%%tfnb watch\n"
        "with tf.Session() as s:\n"
        "    _ = s.run(tf.constant(1.0)), s.run(tf.constant(2.0))"
    )

    assert "done: 2 steps" in out(loaded, cell, capsys)


def test_watch_tells_of_a_failed_step(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary has the error, and the cell fails."""
    cell = "%%tfnb watch\n(tf.constant([1.0]) + tf.placeholder(tf.float32, name='p')).eval()"
    text = out(loaded, cell, capsys)

    assert "failed: 0 steps, 1 failed" in text
    assert "InvalidArgumentError" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%tfnb gr", ["graph"]),
        ("%tfnb p", ["placement", "partitions", "passes", "partial"]),
        ("%%tfnb ", ["watch", "record", "debug", "cell", "values"]),
        ("%tfnb graph --c", ["--colour"]),
        ("%tfnb graph --colour d", ["device"]),
        ("%tfnb graph lay", ["layer_out", "layer/"]),
        ("%tfnb graph layer/in", ["layer/inner/"]),
        ("%tfnb graph layer/inner/", ["layer/inner/x"]),
        ("x = %tfnb", []),
        ("print(1)", []),
    ],
)
def test_completion(loaded: Any, text: str, expected: list[str]) -> None:
    """Subcommands, options, choices, variables and scopes, level by level, are completed."""
    with tf.name_scope("layer/inner"):
        loaded.user_ns["layer_out"] = tf.constant(1.0, name="x")

    assert completions(magics_of(loaded), text) == expected


def test_ipython_asks_for_completion(loaded: Any) -> None:
    """The matcher is installed, and other completions are suppressed."""
    line = "%tfnb pl"
    with provisionalcompleter():
        found = [completion.text for completion in loaded.Completer.completions(line, len(line))]

    assert found == ["placement"]


def test_the_shell_configures_the_magics(loaded: Any) -> None:
    """`%config TfnbMagics.height = 600` changes the default height."""
    loaded.run_line_magic("config", "TfnbMagics.height = 600")

    assert magics_of(loaded).height == 600


def test_a_semicolon_keeps_the_last_value_to_itself(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A semicolon suppresses the display of the value, as in any cell."""
    loaded.run_cell("%%tfnb cell one\n41 + 1;  # quiet")
    assert "42" not in capsys.readouterr().out
    loaded.run_cell("%%tfnb cell one\n41 + 1")
    assert "42" in capsys.readouterr().out
