"""Command-line flags and the frame of a script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.flags.FlagValues]:
    """No flags, and the command line of a notebook's kernel."""
    monkeypatch.setattr(sys, "argv", ["kernel", "-f", "/run/kernel-1.json"])
    values = tf.flags.FlagValues()
    monkeypatch.setitem(tf.flags.FLAGS.__dict__, "_flags", values._flags)
    monkeypatch.setitem(tf.flags.FLAGS.__dict__, "_is_parsed", False)
    return tf.flags.FLAGS


def test_defaults_hold_in_a_notebook(flags: tf.flags.FlagValues) -> None:
    """The kernel's own arguments are no flags of ours."""
    tf.flags.DEFINE_string("name", "x", "A name.")
    tf.flags.DEFINE_integer("number", 3, "A number.")
    tf.flags.DEFINE_float("rate", 1, "A rate.")
    tf.flags.DEFINE_boolean("on", True, "A switch.")
    assert (flags.name, flags.number, flags.rate, flags.on) == ("x", 3, 1.0, True)
    assert flags.flag_values_dict() == {"name": "x", "number": 3, "rate": 1.0, "on": True}


def test_command_line_is_read_at_first_use(
    flags: tf.flags.FlagValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one dash or two, with ``=`` or the next word."""
    tf.flags.DEFINE_string("name", None, "")
    tf.flags.DEFINE_integer("number", 3, "")
    tf.flags.DEFINE_bool("on", True, "")
    tf.flags.DEFINE_bool("off", False, "")
    tf.flags.DEFINE_list("words", "", "")
    tf.flags.DEFINE_multi_integer("many", None, "")
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "p",
            "--name=n",
            "-number",
            "0x10",
            "--noon",
            "--off",
            "--words=a,b",
            "--many",
            "1",
            "--many",
            "2",
        ],
    )
    assert (flags.name, flags.number, flags.on, flags.off) == ("n", 16, False, True)
    assert (flags.words, flags.many) == (["a", "b"], [1, 2])


def test_other_words_are_left_over(flags: tf.flags.FlagValues) -> None:
    """For main."""
    tf.flags.DEFINE_integer("number", 3, "")
    assert flags(["p", "x", "--number=1", "--other", "--", "--number=2"]) == [
        "p",
        "x",
        "--other",
        "--number=2",
    ]
    assert flags.number == 1


def test_values_must_fit(flags: tf.flags.FlagValues) -> None:
    """The message names flag and value."""
    tf.flags.DEFINE_integer("number", 3, "")
    tf.flags.DEFINE_enum("kind", "a", ["a", "b"], "")
    with pytest.raises(tf.flags.IllegalFlagValueError, match="flag --number=x"):
        flags(["p", "--number=x"])
    with pytest.raises(tf.flags.IllegalFlagValueError, match=r"one of <a\|b>"):
        flags(["p", "--kind=c"])
    with pytest.raises(tf.flags.IllegalFlagValueError, match="Missing value for flag --number"):
        flags(["p", "--number"])


def test_required_flags_must_be_given(flags: tf.flags.FlagValues) -> None:
    """Or have a default."""
    tf.flags.DEFINE_string("name", None, "")
    tf.flags.mark_flag_as_required("name")
    with pytest.raises(tf.flags.IllegalFlagValueError, match="--name must have a value"):
        flags(["p"])


def test_a_flag_may_be_defined_again(flags: tf.flags.FlagValues) -> None:
    """A cell is run twice."""
    for default in (1, 2):
        tf.flags.DEFINE_integer("number", default, "")
        assert flags.number == default


def test_flags_can_be_set_and_listed(flags: tf.flags.FlagValues) -> None:
    """As attributes or items."""
    tf.flags.DEFINE_integer("number", 3, "")
    flags.number = 5
    assert flags["number"] == 5
    assert "number" in flags
    assert list(flags) == ["number"]
    with pytest.raises(AttributeError, match="Unknown command line flag 'other'"):
        flags.other  # noqa: B018
    assert not hasattr(flags, "other")


def test_app_run_calls_main_and_exits(flags: tf.flags.FlagValues) -> None:
    """With what main returns."""
    assert tf.app.flags.FLAGS is flags
    tf.flags.DEFINE_integer("number", 3, "")
    seen = []
    with pytest.raises(SystemExit) as ended:
        tf.app.run(lambda argv: seen.append((argv, flags.number)), ["p", "--number=4", "x"])
    assert ended.value.code is None
    assert seen == [(["p", "x"], 4)]


def test_app_run_reports_bad_flags(
    flags: tf.flags.FlagValues, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, with exit code 1."""
    tf.flags.DEFINE_integer("number", 3, "")
    with pytest.raises(SystemExit) as ended:
        tf.app.run(lambda argv: None, ["p", "--number=x"])
    assert ended.value.code == 1
    assert "flag --number=x" in capsys.readouterr().err
