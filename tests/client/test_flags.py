"""Command-line flags and the frame of a script."""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.flags.FlagValues]:
    """No flags, and the command line of a notebook's kernel."""
    monkeypatch.setattr(sys, "argv", ["kernel", "-f", "/run/kernel-1.json"])
    values = tf.flags.FlagValues()
    monkeypatch.setitem(tf.flags.FLAGS.__dict__, "_flags", values._flags)
    monkeypatch.setitem(tf.flags.FLAGS.__dict__, "_is_parsed", False)
    for name in ("_by_module", "_key_flags"):
        monkeypatch.setitem(tf.flags.FLAGS.__dict__, name, {})
    return tf.flags.FLAGS


def test_defaults_hold_in_a_notebook(flags: tf.flags.FlagValues) -> None:
    """The arguments of the notebook's kernel are ignored."""
    tf.flags.DEFINE_string("name", "x", "A name.")
    tf.flags.DEFINE_integer("number", 3, "A number.")
    tf.flags.DEFINE_float("rate", 1, "A rate.")
    tf.flags.DEFINE_boolean("on", True, "A switch.")
    assert (flags.name, flags.number, flags.rate, flags.on) == ("x", 3, 1.0, True)
    assert flags.flag_values_dict() == {"name": "x", "number": 3, "rate": 1.0, "on": True}


def test_command_line_is_read_at_first_use(
    flags: tf.flags.FlagValues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line is parsed at the first use: one dash or two, ``=`` or the next word."""
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
    """Arguments that are not flags are left for main."""
    tf.flags.DEFINE_integer("number", 3, "")
    assert flags(["p", "x", "--number=1", "--other", "--", "--number=2"]) == [
        "p",
        "x",
        "--other",
        "--number=2",
    ]
    assert flags.number == 1


def test_values_must_fit(flags: tf.flags.FlagValues) -> None:
    """The message names the flag and the value."""
    tf.flags.DEFINE_integer("number", 3, "")
    tf.flags.DEFINE_enum("kind", "a", ["a", "b"], "")
    with pytest.raises(tf.flags.IllegalFlagValueError, match="flag --number=x"):
        flags(["p", "--number=x"])
    with pytest.raises(tf.flags.IllegalFlagValueError, match=r"one of <a\|b>"):
        flags(["p", "--kind=c"])
    with pytest.raises(tf.flags.IllegalFlagValueError, match="Missing value for flag --number"):
        flags(["p", "--number"])


def test_required_flags_must_be_given(flags: tf.flags.FlagValues) -> None:
    """A required flag is given on the command line or has a default."""
    tf.flags.DEFINE_string("name", None, "")
    tf.flags.mark_flag_as_required("name")
    with pytest.raises(tf.flags.IllegalFlagValueError, match="--name must have a value"):
        flags(["p"])


def test_a_flag_may_be_defined_again(flags: tf.flags.FlagValues) -> None:
    """A flag may be defined again, because a cell runs twice."""
    for default in (1, 2):
        tf.flags.DEFINE_integer("number", default, "")
        assert flags.number == default


def test_flags_can_be_set_and_listed(flags: tf.flags.FlagValues) -> None:
    """Flags are set and listed as attributes or items."""
    tf.flags.DEFINE_integer("number", 3, "")
    flags.number = 5
    assert flags["number"].value == 5
    assert "number" in flags
    assert list(flags) == ["number"]
    with pytest.raises(AttributeError, match="Unknown command line flag 'other'"):
        flags.other  # noqa: B018
    assert not hasattr(flags, "other")


def test_app_run_calls_main_and_exits(flags: tf.flags.FlagValues) -> None:
    """The exit status is what main returns."""
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
    """Errors go to standard error, with exit code 1."""
    tf.flags.DEFINE_integer("number", 3, "")
    with pytest.raises(SystemExit) as ended:
        tf.app.run(lambda argv: None, ["p", "--number=x"])
    assert ended.value.code == 1
    assert "flag --number=x" in capsys.readouterr().err


def test_validators_refuse_values(flags: tf.flags.FlagValues) -> None:
    """A refused value, on the command line or later, leaves the earlier value."""
    tf.flags.DEFINE_integer("n", 5, "")
    tf.flags.register_validator("n", lambda value: value > 0, message="must be positive")
    with pytest.raises(tf.flags.IllegalFlagValueError, match="flag --n=-1: must be positive"):
        flags(["p", "--n=-1"])
    flags(["p", "--n=2"])
    with pytest.raises(tf.flags.IllegalFlagValueError, match="flag --n=-3: must be positive"):
        flags.n = -3
    assert flags.n == 2
    with pytest.raises(tf.flags.UnrecognizedFlagError, match="other"):
        tf.flags.register_validator("other", bool)


def test_validators_have_words_of_their_own(flags: tf.flags.FlagValues) -> None:
    """Validators have their own messages; as decorators they check one flag or several."""
    tf.flags.DEFINE_integer("low", 1, "")
    tf.flags.DEFINE_integer("high", 2, "")

    @tf.flags.validator("low")
    def not_seven(value: int) -> bool:
        if value == 7:
            raise tf.flags.ValidationError("anything but seven")
        return True

    @tf.flags.multi_flags_validator(["low", "high"], message="low must not exceed high")
    def in_order(values: dict[str, int]) -> bool:
        return values["low"] <= values["high"]

    with pytest.raises(tf.flags.IllegalFlagValueError, match="--low=7: anything but seven"):
        flags(["p", "--low=7", "--high=8"])
    with pytest.raises(tf.flags.IllegalFlagValueError, match="flags low=3, high=2: low must not"):
        flags(["p", "--low=3", "--high=2"])


def test_flags_that_exclude_each_other(flags: tf.flags.FlagValues) -> None:
    """The flags may be optional, or exactly one of them required."""
    tf.flags.DEFINE_integer("a", None, "")
    tf.flags.DEFINE_integer("b", None, "")
    tf.flags.mark_flags_as_mutual_exclusive(["a", "b"], required=True)
    for words in ([], ["--a=1", "--b=2"]):
        with pytest.raises(tf.flags.IllegalFlagValueError, match=r"Exactly one of \(a, b\) must"):
            flags(["p", *words])


def test_switches_that_exclude_each_other(flags: tf.flags.FlagValues) -> None:
    """Both switches may be off."""
    tf.flags.DEFINE_bool("on", False, "")
    tf.flags.DEFINE_bool("off", False, "")
    tf.flags.mark_bool_flags_as_mutual_exclusive(["on", "off"])
    flags(["p"])
    with pytest.raises(tf.flags.IllegalFlagValueError, match=r"At most one of .* must be True"):
        flags(["p", "--on", "--off"])


def test_enumerations_and_other_names(flags: tf.flags.FlagValues) -> None:
    """Enumerations accept members in any case or several words; an alias is the same flag."""

    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

    tf.flags.DEFINE_enum_class("colour", "red", Colour, "")
    tf.flags.DEFINE_multi_enum("words", ["u"], ["u", "v"], "")
    tf.flags.DEFINE_alias("color", "colour")
    assert flags.colour is Colour.RED
    flags(["p", "--color=Blue", "--words=v", "--words=u"])
    assert (flags.colour, flags.color, flags.words) == (Colour.BLUE, Colour.BLUE, ["v", "u"])
    for word in ("--colour=green", "--words=w"):
        with pytest.raises(tf.flags.IllegalFlagValueError, match="value should be one of <"):
            flags(["p", word])


def test_flags_as_words_of_a_command_line() -> None:
    """The words of set flags start another program with the same values."""
    given = {"on": True, "off": False, "bare": None, "list": [1, 2], "x": "y"}
    assert list(tf.flags.flag_dict_to_args(given)) == [
        "--on", "--nooff", "--bare", "--list=1,2", "--x=y",
    ]  # fmt: skip


def test_numbers_have_bounds(flags: tf.flags.FlagValues) -> None:
    """The message states the bounds."""
    tf.flags.DEFINE_integer("n", 1, "", lower_bound=0)
    tf.flags.DEFINE_float("x", 0.5, "", lower_bound=0.0, upper_bound=1.0)
    for word, text in (
        ("--n=-1", "-1 is not a non-negative integer"),
        ("--x=2", "2.0 is not a number in the range"),
    ):
        with pytest.raises(tf.flags.IllegalFlagValueError, match=text):
            flags(["p", word])
    with pytest.raises(
        tf.flags.IllegalFlagValueError, match="flag --k=5: 5 is not an integer <= 4"
    ):
        tf.flags.DEFINE_integer("k", 5, "", upper_bound=4)


def test_defining_gives_a_holder(flags: tf.flags.FlagValues) -> None:
    """A definition returns a holder with the flag's value; the holder itself is not a value."""
    holder = tf.flags.DEFINE_integer("n", 3, "", short_name="s")
    assert (holder.name, holder.value, holder.default, holder.present) == ("n", 3, 3, False)
    flags(["p", "-s", "4"])
    assert (holder.value, holder.present, holder.serialize()) == (4, True, "--n=4")
    with pytest.raises(TypeError, match=r"did you mean to use 'n\.value'"):
        bool(holder)
    tf.flags.set_default(holder, 7)
    flags.unparse_flags()
    flags(["p"])
    assert holder.value == 7
    tf.flags.override_value(holder, 9)
    assert flags.n == 9
    needed = tf.flags.DEFINE_string("needed", None, "", required=True)
    with pytest.raises(tf.flags.IllegalFlagValueError, match="--needed must have a value"):
        flags(["p"])
    assert flags(["p", "--needed=x"]) == ["p"]
    assert needed.value == "x"


def test_flags_are_made_of_parsers_and_serializers(flags: tf.flags.FlagValues) -> None:
    """A program may define parsers and serializers."""

    class Pair(tf.flags.ArgumentParser):
        def parse(self, argument: str) -> tuple[str, ...]:
            return tuple(argument.split("x"))

    tf.flags.DEFINE(Pair(), "size", "2x3", "Rows x columns.")
    assert flags.size == ("2", "3")
    assert tf.flags.ListParser().parse('a,"b,c"') == ["a", "b,c"]
    assert tf.flags.CsvListSerializer(",").serialize(["a", "b,c"]) == 'a,"b,c"'
    assert tf.flags.WhitespaceSeparatedListParser(comma_compat=True).parse("a,b c") == [
        "a",
        "b",
        "c",
    ]
    assert tf.flags.IntegerParser().parse("0x1f") == 31
    with pytest.raises(ValueError, match="Non-boolean argument"):
        tf.flags.BooleanParser().parse("yes")
    assert tf.flags.EnumParser(["Ab"], case_sensitive=False).parse("aB") == "Ab"
    flag = tf.flags.BooleanFlag("b", True, "A switch.")
    tf.flags.DEFINE_flag(flag, flags)
    assert flags["b"] is flag
    assert (flag.flag_type(), flag.serialize()) == ("bool", "--b")


def test_all_flags_as_text(
    flags: tf.flags.FlagValues, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All flags are written to a file and read from one."""
    tf.flags.DEFINE_integer("n", 3, "A number.")
    tf.flags.DEFINE_list("words", "a,b", "Words.")
    tf.flags.DEFINE_bool("on", False, "A switch.")
    text = "--n=3\n--words=a,b\n--noon\n"
    assert flags.flags_into_string() == text
    path = tmp_path / "flags"
    flags.append_flags_into_file(str(path))
    assert path.read_text() == text
    path.write_text("# comment\n--n=5\n--on\n")
    assert flags(["p", f"--flagfile={path}", "x"]) == ["p", "x"]
    assert (flags.n, flags.on) == (5, True)
    with pytest.raises(tf.flags.CantOpenFlagFileError, match="Unable to open flagfile"):
        flags(["p", f"--flagfile={tmp_path / 'none'}"])
    assert flags.get_flag_value("n", 0) == 5
    assert flags.get_flag_value("other", 7) == 7


def test_help_names_the_flags_of_a_module(
    flags: tf.flags.FlagValues, capsys: pytest.CaptureFixture[str]
) -> None:
    """The help has the defaults; tf.app.run prints the flags of the script."""
    tf.flags.DEFINE_integer("n", 3, "A number.", lower_bound=1)
    tf.flags.DEFINE_bool("on", False, "A switch.", module_name="__main__")
    module = sys.modules[__name__]
    assert flags.find_module_defining_flag("n") == __name__
    assert [flag.name for flag in flags.get_key_flags_for_module(module)] == ["n"]
    assert "--n: A number.\n    (default: '3')\n    (a positive integer)" in flags.module_help(
        module
    )
    assert "--[no]on: A switch." in flags.get_help()
    with pytest.raises(SystemExit) as ended:
        tf.app.run(lambda argv: None, ["p", "--helpfull"])
    assert ended.value.code == 1
    assert "--n: A number." in capsys.readouterr().out
    assert "<name>n</name>" in (flags.write_help_in_xml_format() or capsys.readouterr().out)
    assert tf.flags.text_wrap("one two three", 9, "  ") == "  one two\n  three"
    assert tf.flags.doc_to_help("One\n  two.\n\n  Three.") == "One two.\nThree."


def test_a_flag_may_not_hide_a_method(flags: tf.flags.FlagValues) -> None:
    """A flag with the name of a method is refused, unless it allows that."""
    with pytest.raises(tf.flags.FlagNameConflictsWithMethodError, match="conflicts with a method"):
        tf.flags.DEFINE_string("get_help", "", "")


def test_the_dictionary_of_flags_holds_flags(flags: tf.flags.FlagValues) -> None:
    """`FLAGS.__flags["x"].value` works, as programs of TensorFlow 1 use it."""
    tf.flags.DEFINE_integer("x", 3, "")
    held = getattr(flags, "__flags")
    assert (held["x"].value, held["x"].default) == (3, 3)
    flags.x = 5
    assert held["x"].value == 5
    assert [flag.value for flag in held.values()] == [5]
