"""The command ``tfnb`` on files that were made to harm: a line, and an exit code."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tfnb.__main__ import main
from tfnb.client.command_line import convert
from tfnb.client.terminal_text import terminal_text

if TYPE_CHECKING:
    from pathlib import Path

CLEARS_THE_SCREEN = "\x1b[2J\x9b2J\x08\u202e"


def _graph(path: Path, *names: str) -> str:
    graph_def = tf.GraphDef()
    for name in names:
        node = graph_def.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
    path.write_bytes(graph_def.SerializeToString())
    return str(path)


@pytest.mark.parametrize("command", [["summary"], ["graph"], ["run", "--fetch", "y"]])
def test_names_of_a_file_do_not_control_the_terminal(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are written with escapes, in reports and in errors."""
    file = _graph(tmp_path / "m.pb", "x" + CLEARS_THE_SCREEN, "y")
    main([command[0], file, *command[1:]])
    output = capsys.readouterr()
    shown = output.out + output.err
    assert not set(shown) & set(CLEARS_THE_SCREEN) - set("[2J")
    assert r"\x1b[2J\x9b2J" in shown


def test_a_model_of_hostile_names_is_one_line_in_a_console(tmp_path: Path) -> None:
    """Its representation, and those of its signatures, have escapes."""
    key = "x\n" + CLEARS_THE_SCREEN
    with tf.load(_graph(tmp_path / "m.pb", "x", "y"), inputs={key: "x:0"}, outputs="y:0") as model:
        shown = repr(model)
    assert not set(shown) & (set(CLEARS_THE_SCREEN) - set("[2J") | {"\n"})
    assert r"x\n\x1b[2J\x9b2J" in shown


def test_a_text_without_control_characters_is_shown_as_it_is() -> None:
    """Lines, tabs and other alphabets stay."""
    text = "a\tb\nü 名前 🙂"
    assert terminal_text(text) == text
    assert terminal_text("\ud800\r\0") == r"\ud800\r\x00"


def test_fetches_may_have_names_that_numpy_uses(tmp_path: Path) -> None:
    """``file`` is an argument of numpy.savez."""
    names = ["file", "allow_pickle", "args", "kwds"]
    file = _graph(tmp_path / "m.pb", *names)
    words = [word for name in names for word in ("--fetch", name, "--feed", f"{name}=[1, 2]")]
    assert main(["run", file, *words, "-o", str(tmp_path / "o.npz")]) == 0
    found = np.load(tmp_path / "o.npz")
    assert {name: found[name].tolist() for name in found} == {name: [1, 2] for name in names}


def _damaged_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(1000))
    data = bytearray(buffer.getvalue())
    data[40:50] = b"\xff" * 10
    return bytes(data)


def _too_large() -> bytes:
    buffer = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 60,)}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


def _archive(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.npy", data)
    return buffer.getvalue()


def _with_header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        _damaged_archive(),
        _too_large(),
        _archive(_too_large()),
        _archive(b"\x93NUMPY\x01\x00\xff"),
        _with_header("{" * 9000 + "\n"),
        _with_header("'''\n"),
        _archive(_with_header("(" * 9000 + "\n")),
    ],
)
def test_a_damaged_array_file_is_a_mistake_of_the_command_line(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the reader of the file raises."""
    (tmp_path / "a.npz").write_bytes(data)
    file = _graph(tmp_path / "m.pb", "x")
    assert main(["run", file, "--fetch", "x", "--feed", f"x=@{tmp_path / 'a.npz'}[x]"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("tfnb: error: --feed x=@")


def test_a_value_nested_too_deep_is_a_mistake_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error does not repeat the value."""
    file = _graph(tmp_path / "m.pb", "x")
    assert main(["run", file, "--fetch", "x", "--feed", "x=" + "[" * 100_000]) == 2
    assert capsys.readouterr().err == "tfnb: error: --feed x: the value is nested too deep\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError(), "Memory is exhausted."),
        (AssertionError("wrong"), "AssertionError: wrong (--traceback shows"),
    ],
)
def test_every_error_is_a_line(
    error: Exception,
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unforeseen errors as well; --traceback shows where they came from."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(convert, "convert", fail)
    words = ["convert", _graph(tmp_path / "m.pb", "x"), "o.pb"]
    assert main(words) == 1
    assert capsys.readouterr().err.startswith(f"tfnb: error: {text}")
    assert main([*words, "--traceback"]) == 1
    assert "Traceback" in capsys.readouterr().err
