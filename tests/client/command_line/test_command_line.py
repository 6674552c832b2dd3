"""The command ``tfnb``: its output, its files, its exit codes."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.command_line.completion import SHELLS, completion_script
from tfnb.client.command_line.main import main, parser

ROOT = Path(__file__).parents[3]


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    """y = 2 * x + 1, as a binary GraphDef."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.add(x * 2.0, 1.0, name="y")
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@pytest.fixture
def saved_model(tmp_path: Path) -> Path:
    """y = w * x with a variable w of 3."""
    folder = tmp_path / "model"
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.get_variable("w", initializer=3.0)
        y = tf.multiply(w, x, name="y")
        sess.run(w.initializer)
        tf.saved_model.simple_save(sess, str(folder), {"input": x}, {"result": y})
    return folder


def test_a_summary_says_what_a_graph_takes_and_gives(
    graph_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A summary lists inputs with types and shapes, outputs, and the number of ops of each kind."""
    assert main(["summary", str(graph_file)]) == 0
    text = capsys.readouterr().out
    assert "GraphDef, 5 nodes" in text
    assert "x float32 (?, 2)" in text
    assert "outputs (1)\n  y" in text
    assert "2 Const" in text


def test_a_summary_as_json(saved_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` includes signatures, tags and variables."""
    assert main(["summary", str(saved_model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "SavedModel"
    assert found["tags"] == ["serve"]
    assert found["variables"][0]["name"] == "w"
    signature = found["signatures"]["serving_default"]
    assert signature["inputs"]["input"] == {"tensor": "x:0", "dtype": "float32", "shape": [None]}
    assert main(["summary", str(saved_model / "saved_model.pb")]) == 0
    assert "signature serving_default" in capsys.readouterr().out


def _run_as_told(text: str) -> int:
    """Run the line with which a summary ends."""
    words = shlex.split(text.splitlines()[-1])
    assert words[:2] == ["tfnb", "run"]
    return main(words[1:])


def test_the_line_that_a_summary_proposes_runs(
    graph_file: Path, saved_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line has every feed that the output needs, and the checkpoint beside the file."""
    with tf.Graph().as_default() as graph:
        inputs = [tf.placeholder(tf.float32, [None, 2], name=f"in{i}") for i in range(6)]
        text = tf.placeholder(tf.string, [2], name="text")
        unused = tf.placeholder_with_default(1.0, [], name="spare")
        with tf.control_dependencies([tf.assert_equal(tf.size(text), 2), unused]):
            tf.add_n(inputs, name="sum")
    wide = tmp_path / "wide graph.pb"
    wide.write_bytes(graph.as_graph_def().SerializeToString())
    (tmp_path / "trained").mkdir()
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=[4.0])
        tf.multiply(v, tf.placeholder(tf.float32, [1], name="x"), name="y")
        sess.run(v.initializer)
        prefix = tf.train.Saver().save(sess, str(tmp_path / "trained" / "model"))
    for path in (graph_file, saved_model, wide, f"{prefix}.meta"):
        assert main(["summary", str(path)]) == 0
        told = capsys.readouterr().out
        assert "spare=" not in told
        assert _run_as_told(told) == 0
        assert " = " in capsys.readouterr().out
    assert _run_as_told(repr(tf.summary(wide))) == 0


def test_a_checkpoint_is_summed_up_and_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkpoint is found by its prefix, one of its files or its folder, in either format."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=[4.0, 5.0])
        sess.run(v.initializer)
        tf.train.Saver().save(sess, str(tmp_path / "new"))
        saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)
        old = saver.save(sess, str(tmp_path / "old"), write_meta_graph=False)
    whole = tmp_path / "new"
    for path in (whole, f"{whole}.index", f"{whole}.data-00000-of-00001", tmp_path, old):
        assert main(["summary", str(path)]) == 0
        assert "checkpoint\nvariables (1)\n  v float32 (2,)" in capsys.readouterr().out
        assert "v float32 (2,)" in repr(tf.summary(path))
    assert main(["run", str(whole), "--fetch", "v"]) == 3
    assert "is a checkpoint, which has the values of variables" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["none.pb", "none.pbtxt", "none.meta"])
@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_file_is_no_model(
    name: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says that the file is empty, and not that it has 0 nodes."""
    path = tmp_path / name
    path.write_text(content)
    for arguments in (["summary"], ["run", "--fetch", "y"]):
        assert main([*arguments, str(path)]) == 3
        assert f"is empty ({len(content)} bytes)" in capsys.readouterr().err


def _bash_completes(*words: str) -> list[str]:
    """Return what bash would offer for the last word."""
    script = completion_script(parser(), "bash")
    call = (
        f"{script}\nCOMP_WORDS=(tfnb {shlex.join(words)}); COMP_CWORD={len(words)}; _tfnb; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", call], capture_output=True, text=True, timeout=280, check=True
    )
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_options_values_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The completions are those of the parser."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    (tmp_path / "model.pb").touch()
    monkeypatch.chdir(tmp_path)
    assert _bash_completes("su") == ["summary"]
    assert _bash_completes("run", "--fe") == ["--feed", "--fetch"]
    assert _bash_completes("run", "--allow", "re") == ["read"]
    assert _bash_completes("summary", "mo") == ["model.pb"]
    assert _bash_completes("run", "m.pb", "--checkpoint", "mo") == ["model.pb"]
    assert _bash_completes("completion", "") == ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_names_every_command_and_option(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text names all commands and options, and an installed shell can read it."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("summary", "run", "convert", "completion", "allow", "checkpoint", "json"):
        assert word in script
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=script, text=True, timeout=280, check=True)


def test_ops_that_are_not_known_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A summary names unregistered ops, although the graph cannot run."""
    path = tmp_path / "strange.pbtxt"
    path.write_text('node { name: "a" op: "NobodyKnowsThis" }')
    assert main(["summary", str(path)]) == 0
    assert "ops that tfnb does not know (1)\n  NobodyKnowsThis" in capsys.readouterr().out
    assert main(["run", str(path), "--fetch", "a"]) == 1
    assert "NobodyKnowsThis" in capsys.readouterr().err


def test_a_run_takes_and_gives_arrays(graph_file: Path, tmp_path: Path) -> None:
    """Inputs come from .npy and .npz files, outputs go into .npz files."""
    x = np.array([[1, 2]], np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "all.npz", x=x, other=x)
    for source in ("x.npy", "all.npz[x]"):
        out = tmp_path / "out.npz"
        feed = f"x=@{tmp_path / source}"
        arguments = ["run", str(graph_file), "--feed", feed, "--fetch", "y:0", "-o", str(out)]
        assert main(arguments) == 0
        with np.load(out) as found:
            assert found["y:0"].tolist() == [[3, 5]]


def test_a_run_prints_what_has_no_file(
    graph_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an output file results are printed; feeds may be JSON."""
    assert main(["run", str(graph_file), "--feed", "x=[[1, 2]]", "--fetch", "y"]) == 0
    assert capsys.readouterr().out == "y = [[3. 5.]]\n"


def test_a_run_says_what_took_how_long(
    graph_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Times by type of op go to standard error; standard output has only results."""
    arguments = ["run", str(graph_file), "--feed", "x=[[1, 2]]", "--fetch", "y", "--times"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out == "y = [[3. 5.]]\n"
    head, *rows = captured.err.splitlines()
    assert head.split() == ["time", "share", "runs", "op"]
    told = {row.split()[-1]: row.split() for row in rows}
    assert {"Mul", "AddV2"} <= set(told) or {"Mul", "Add"} <= set(told)
    assert told["Mul"][3] == "1"
    shares = [float(row[2].rstrip("%")) for row in told.values()]
    assert shares == sorted(shares, reverse=True)


def test_a_saved_model_runs_by_the_names_of_its_signature(
    saved_model: Path, tmp_path: Path
) -> None:
    """Without ``--fetch`` all outputs of the signature are fetched."""
    out = tmp_path / "out.npy"
    assert main(["run", str(saved_model), "--feed", "input=[2]", "-o", str(out)]) == 0
    assert np.load(out).tolist() == [6]


def test_a_meta_graph_runs_with_its_checkpoint(tmp_path: Path) -> None:
    """The checkpoint beside a MetaGraphDef gives the variables their values."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=[4.0])
        tf.identity(v, name="y")
        sess.run(v.initializer)
        prefix = tf.train.Saver().save(sess, str(tmp_path / "model"))
    out = str(tmp_path / "out.npy")
    arguments = ["run", f"{prefix}.meta", "--fetch", "y", "--checkpoint", prefix, "-o", out]
    assert main(arguments) == 0
    assert np.load(out).tolist() == [4]


def _checkpoint_of_graph(folder: Path, use_resource: bool, with_saver: bool) -> Path:
    """Make a GraphDef with a plain, a partitioned and a local variable, and a checkpoint."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.get_variable("v", initializer=[4.0, 5.0], use_resource=use_resource)
        w = tf.get_variable(
            *("w", [3, 2]),
            initializer=tf.ones_initializer(),
            partitioner=tf.fixed_size_partitioner(2),
            use_resource=use_resource,
        )
        local = tf.get_variable(
            "local", initializer=7.0, collections=[tf.GraphKeys.LOCAL_VARIABLES]
        )
        tf.add(v, tf.reduce_sum(w), name="y")
        tf.identity(local, name="z")
        before = graph.as_graph_def()
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(folder / "model"), write_meta_graph=False)
    path = folder / "graph.pb"
    saved = graph.as_graph_def() if with_saver else before
    path.write_bytes(saved.SerializeToString())
    return path


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("with_saver", [False, True])
def test_a_graph_runs_and_is_frozen_with_the_checkpoint_beside_it(
    tmp_path: Path, use_resource: bool, with_saver: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Values are restored by the saver's nodes, else by variable names.

    A folder means its latest checkpoint.
    """
    path = str(_checkpoint_of_graph(tmp_path, use_resource, with_saver))
    out = str(tmp_path / "out.npy")
    for checkpoint in (str(tmp_path / "model"), str(tmp_path)):
        assert main(["run", path, "--fetch", "y", "--checkpoint", checkpoint, "-o", out]) == 0
        assert np.load(out).tolist() == [10, 11]
    err = capsys.readouterr().err
    assert ("has no value for local" in err) is not with_saver
    frozen = str(tmp_path / "frozen.pb")
    assert main(["convert", path, frozen, "--output", "y", "--checkpoint", checkpoint]) == 0
    assert main(["run", frozen, "--fetch", "y", "-o", out]) == 0
    assert np.load(out).tolist() == [10, 11]


def test_a_checkpoint_that_does_not_fit_a_graph_says_so(
    tmp_path: Path, graph_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names missing variables of the graph or checkpoint, or the other shape."""
    _checkpoint_of_graph(tmp_path, False, False)
    prefix = str(tmp_path / "model")

    def error_of(build: Any) -> str:
        with tf.Graph().as_default() as graph:
            build()
        path = tmp_path / "other.pb"
        path.write_bytes(graph.as_graph_def().SerializeToString())
        assert main(["run", str(path), "--fetch", "y", "--checkpoint", prefix]) == 1
        return capsys.readouterr().err

    assert "has no variables" in error_of(lambda: tf.constant(1.0, name="y"))
    assert "no value for any variable of the graph: y" in error_of(
        lambda: tf.get_variable("y", initializer=1.0)
    )
    assert "differ in 1 of 1" in error_of(lambda: tf.get_variable("v", [3]))
    parts = tf.fixed_size_partitioner(2)
    assert "do not make up the shape [3, 2]" in error_of(
        lambda: tf.get_variable("w", [4, 2], partitioner=parts)
    )


def test_strings_come_as_bytes(tmp_path: Path) -> None:
    """String results are stored as bytes, without pickling."""
    with tf.Graph().as_default() as graph:
        tf.constant(["one", "three"], name="s")
    path = tmp_path / "g.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    assert main(["run", str(path), "--fetch", "s", "-o", str(tmp_path / "s.npy")]) == 0
    assert np.load(tmp_path / "s.npy", allow_pickle=False).tolist() == [b"one", b"three"]


def test_effects_need_leave(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A graph from a file reads files only with ``--allow read``."""
    secret = tmp_path / "secret"
    secret.write_text("s")
    with tf.Graph().as_default() as graph:
        tf.read_file(str(secret), name="r")
    path = tmp_path / "g.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    assert main(["run", str(path), "--fetch", "r"]) == 1
    assert "wants to" in capsys.readouterr().err
    assert main(["run", str(path), "--fetch", "r", "--allow", "read"]) == 0


def test_binary_and_text_are_converted_both_ways(graph_file: Path, tmp_path: Path) -> None:
    """A graph converted to text and back is the same graph."""
    text, binary = tmp_path / "g.pbtxt", tmp_path / "back.pb"
    assert main(["convert", str(graph_file), str(text)]) == 0
    assert 'name: "y"' in text.read_text()
    assert main(["convert", str(text), str(binary)]) == 0
    first, last = (tf.GraphDef.FromString(p.read_bytes()) for p in (graph_file, binary))
    assert first == last


def test_a_saved_model_is_frozen(saved_model: Path, tmp_path: Path) -> None:
    """The frozen graph has no variable and gives the same results."""
    frozen = tmp_path / "frozen.pb"
    assert main(["convert", str(saved_model), str(frozen)]) == 0
    graph_def = tf.GraphDef.FromString(frozen.read_bytes())
    assert not any("Variable" in node.op for node in graph_def.node)
    out = tmp_path / "out.npy"
    assert main(["run", str(frozen), "--feed", "x=[2]", "--fetch", "y", "-o", str(out)]) == 0
    assert np.load(out).tolist() == [6]
    assert main(["convert", str(saved_model), str(frozen), "--output", "w"]) == 0
    assert [n.name for n in tf.GraphDef.FromString(frozen.read_bytes()).node] == ["w"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["summary", "none.pb"], 3, "none.pb; No such file"),
        (["summary", "{junk}"], 3, "is no GraphDef"),
        (["summary", "{folder}"], 3, "folder without saved_model.pb"),
        (["summary", "{graph}", "--tags", "serve"], 3, "no SavedModel folder"),
        (["summary", "{model}", "--tags", "train"], 3, "no graph with the tags train"),
        (["run", "{graph}"], 2, "--fetch is needed"),
        (["run", "{graph}", "--fetch", "y", "--feed", "x"], 2, "say name=value"),
        (["run", "{graph}", "--fetch", "y", "--feed", "x=abc"], 2, "no JSON"),
        (["run", "{graph}", "--fetch", "y", "--feed", "x=@{junk}"], 2, "no array file"),
        (["run", "{graph}", "--fetch", "y", "-o", "a.txt"], 2, "must end with .npz"),
        (["run", "{graph}", "--fetch", "y", "--fetch", "x", "-o", "a.npy"], 2, "need a .npz"),
        (["run", "{graph}", "--fetch", "nobody"], 1, "nobody"),
        (["run", "{graph}", "--fetch", "y"], 1, "x"),
        (["run", "{graph}", "--fetch", "y", "--feed", "x=[1]"], 1, "shape"),
        (["run", "{graph}", "--fetch", "y", "--checkpoint", "c"], 3, "there is no checkpoint"),
        (["run", "{model}", "--checkpoint", "c"], 3, "has its own variables"),
        (["run", "{model}", "--signature", "other"], 3, "no signature 'other'"),
        (["convert", "{graph}", "a.tflite"], 2, "must end with .pb"),
        (["convert", "{graph}", "a.meta"], 3, "no MetaGraphDef"),
        (["convert", "{graph}", "a.pb", "--output", "y"], 2, "graphs that are frozen"),
    ],
)
def test_mistakes_have_exit_codes_and_one_line(
    arguments: list[str],
    code: int,
    message: str,
    graph_file: Path,
    saved_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exit code tells scripts the kind of mistake; one line tells users the details."""
    monkeypatch.chdir(tmp_path)
    junk = tmp_path / "junk.pb"
    junk.write_bytes(b"\x00\x01\xff junk \x00")
    (tmp_path / "folder").mkdir()
    names = {
        "junk": junk, "graph": graph_file, "model": saved_model, "folder": tmp_path / "folder",
    }  # fmt: skip
    assert main([argument.format(**names) for argument in arguments]) == code
    err = capsys.readouterr().err
    assert err.startswith("tfnb: error: ")
    assert message in err
    assert "Traceback" not in err


def test_a_failed_run_leaves_the_output_as_it_was(graph_file: Path, tmp_path: Path) -> None:
    """Output files are written completely or not at all."""
    out = tmp_path / "out.npz"
    out.write_bytes(b"before")
    assert main(["run", str(graph_file), "--fetch", "y", "-o", str(out)]) == 1
    assert out.read_bytes() == b"before"


def test_progress_goes_to_standard_error(
    graph_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Progress is printed when a run takes long, but not with ``--quiet``."""
    arguments = ["run", str(graph_file), "--feed", "x=[[1, 2]]", "--fetch", "y"]
    main([*arguments, "--progress-after", "0"])
    captured = capsys.readouterr()
    assert "tfnb: loading 5 nodes ..." in captured.err
    assert "loading" not in captured.out
    main([*arguments, "--progress-after", "0", "--quiet"])
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_it_is_a_program(
    graph_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``tfnb`` runs as a subprocess, and its exit codes tell scripts what went wrong."""

    def call(*arguments: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "tfnb", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )

    out = tmp_path / "out.npz"
    done = call("run", str(graph_file), "--feed", "x=[[1,2]]", "--fetch", "y", "-o", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    with np.load(out) as found:
        assert found["y"].tolist() == [[3, 5]]
    assert call("run", str(graph_file)).returncode == 2
    assert main(["summary", str(tmp_path / "none")]) == 3
    with pytest.raises(SystemExit) as unknown:
        main(["nonsense"])
    assert unknown.value.code == 2
    with pytest.raises(SystemExit) as version:
        main(["--version"])
    assert version.value.code == 0
    assert capsys.readouterr().out.startswith("tfnb ")
