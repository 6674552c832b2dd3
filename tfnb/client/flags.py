"""Command-line flags: ``tf.flags``, which is also ``tf.app.flags``.

    tf.flags.DEFINE_integer("batch_size", 32, "Rows per step.")
    FLAGS = tf.flags.FLAGS
    FLAGS.batch_size

Flags are read from ``sys.argv`` when a value is first asked for, or when ``tf.app.run`` starts.
Words that are no known flag are left for ``main``. It differs from absl in two ways, both for
notebooks: the kernel's own arguments do not disturb, and a cell that defines a flag may be run
again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import enum
    from collections.abc import Callable, Iterable, Iterator


class Error(Exception):
    """Something is wrong with a flag."""


class IllegalFlagValueError(Error):
    """A value does not fit its flag."""


class UnrecognizedFlagError(Error, AttributeError):
    """No flag has this name."""


class ValidationError(Error):
    """A validator refuses a value, with words of its own."""


@dataclass(frozen=True, slots=True)
class _Validator:
    """Something that must hold for the values of flags.

    Attributes:
        names: The flags.
        holds: Takes their values by name; False or a ValidationError refuses.
        message: What to say then.
    """

    names: tuple[str, ...]
    holds: Callable[[dict[str, Any]], bool]
    message: str


@dataclass(slots=True)
class _Flag:
    """One flag.

    Attributes:
        parse: Gives the value that a text means; ValueError where it means none.
        is_boolean: Whether the flag may stand without a value.
        is_multiple: Whether it may be given several times; its value is then a list.
    """

    name: str
    value: Any
    help: str
    parse: Callable[[str], Any]
    is_boolean: bool = False
    is_multiple: bool = False
    is_required: bool = False
    is_given: bool = False
    # Kept here, so that a cell that defines its flags anew begins without validators.
    validators: list[_Validator] = field(default_factory=list)

    def set(self, text: str) -> None:
        """Take a value from the command line."""
        try:
            parsed = self.parse(text)
        except ValueError as error:
            raise IllegalFlagValueError(f"flag --{self.name}={text}: {error}") from None
        if not self.is_multiple:
            self.value = parsed
        elif self.is_given:
            self.value = [*self.value, parsed]
        else:
            self.value = [parsed]
        self.is_given = True


class FlagValues:
    """All flags, their values as attributes."""

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_is_parsed"] = False

    def __call__(self, argv: Iterable[str]) -> list[str]:
        """Read a command line; gives its first word and those that are no flags.

        Raises:
            IllegalFlagValueError: A value does not fit its flag, or a required flag is missing.
        """
        program, *words = argv
        rest = [program]
        words = words[::-1]
        while words:
            word = words.pop()
            if word == "--":
                rest += words[::-1]
                break
            if not self._take(word, words):
                rest.append(word)
        self.__dict__["_is_parsed"] = True
        missing = [f.name for f in self._flags.values() if f.is_required and f.value is None]
        if missing:
            raise IllegalFlagValueError(f"Flag --{missing[0]} must have a value other than None.")
        self._validate(self._flags.values())
        return rest

    def _validate(self, flags: Iterable[_Flag]) -> None:
        """Ask the validators of some flags, each once.

        Raises:
            IllegalFlagValueError: One refuses.
        """
        for validator in dict.fromkeys(v for flag in flags for v in flag.validators):
            values = {name: self._find(name).value for name in validator.names}
            message = validator.message
            try:
                if validator.holds(values):
                    continue
            except ValidationError as error:
                message = str(error)
            if len(values) == 1:
                ((name, value),) = values.items()
                raise IllegalFlagValueError(f"flag --{name}={value}: {message}")
            shown = ", ".join(f"{name}={value}" for name, value in values.items())
            raise IllegalFlagValueError(f"flags {shown}: {message}")

    def _take(self, word: str, following: list[str]) -> bool:
        """Use one word as a flag, with the next as its value if need be; False if it is none."""
        if not word.startswith("-") or word.lstrip("-") == "":
            return False
        name, equals, text = word.lstrip("-").partition("=")
        flag = self._flags.get(name)
        if flag is None and name.startswith("no") and not equals:
            flag = self._flags.get(name[2:])
            if flag is not None and flag.is_boolean:
                flag.set("false")
                return True
            return False
        if flag is None:
            return False
        if flag.is_boolean and not equals:
            text = "true"
        elif not equals:
            if not following:
                raise IllegalFlagValueError(f"Missing value for flag --{name}")
            text = following.pop()
        flag.set(text)
        return True

    def is_parsed(self) -> bool:
        """Whether a command line was read."""
        return bool(self._is_parsed)

    def mark_as_parsed(self) -> None:
        """Keep the defaults, whatever the command line says."""
        self.__dict__["_is_parsed"] = True

    def flag_values_dict(self) -> dict[str, Any]:
        """Name -> value of every flag."""
        self._parse_if_needed()
        return {name: flag.value for name, flag in self._flags.items()}

    def _parse_if_needed(self) -> None:
        if not self._is_parsed:
            self(sys.argv)

    def _define(self, flag: _Flag) -> None:
        self._flags[flag.name] = flag
        # The command line may have been read by an earlier cell.
        if self._is_parsed:
            self(sys.argv)

    def _find(self, name: str) -> _Flag:
        found: _Flag | None = self._flags.get(name)
        if found is None:
            raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        flag = self._find(name)
        self._parse_if_needed()
        return flag.value

    def __setattr__(self, name: str, value: Any) -> None:
        self._parse_if_needed()
        flag = self._find(name)
        before, flag.value = flag.value, value
        try:
            self._validate([flag])
        except IllegalFlagValueError:
            flag.value = before
            raise

    def __delattr__(self, name: str) -> None:
        self._find(name)
        del self._flags[name]

    __getitem__ = __getattr__
    __setitem__ = __setattr__

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted([*object.__dir__(self), *self._flags])


FLAGS = FlagValues()


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered in ("true", "t", "1", "yes", "y"):
        return True
    if lowered in ("false", "f", "0", "no", "n"):
        return False
    raise ValueError("Non-boolean argument to boolean flag")


def _integer(text: str) -> int:
    return int(text, 0)


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def DEFINE_string(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag whose value is any text."""
    FLAGS._define(_Flag(name, default, help, str))


def DEFINE_integer(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag whose value is a whole number."""
    FLAGS._define(_Flag(name, None if default is None else int(default), help, _integer))


def DEFINE_float(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag whose value is a number."""
    FLAGS._define(_Flag(name, None if default is None else float(default), help, float))


def DEFINE_boolean(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag that is on or off: ``--name``, ``--noname``, ``--name=true``."""
    if isinstance(default, str):
        default = _boolean(default)
    default = None if default is None else bool(default)
    FLAGS._define(_Flag(name, default, help, _boolean, is_boolean=True))


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(
    name: str, default: Any, enum_values: Iterable[str], help: str = "", **_: Any
) -> None:
    """Define a flag whose value is one of a few."""
    FLAGS._define(_Flag(name, default, help, _one_of(list(enum_values))))


def _one_of(allowed: list[str]) -> Callable[[str], str]:
    """What reads one of a few words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"value should be one of <{'|'.join(allowed)}>")
        return text

    return parse


def DEFINE_multi_enum(
    name: str, default: Any, enum_values: Iterable[str], help: str = "", **_: Any
) -> None:
    """Define a flag whose value is one of a few, and that may be given several times."""
    parse = _one_of(list(enum_values))
    FLAGS._define(_Flag(name, _as_list(default), help, parse, is_multiple=True))


def DEFINE_enum_class(
    name: str, default: Any, enum_class: type[enum.Enum], help: str = "", **_: Any
) -> None:
    """Define a flag whose value is a member of an enumeration, given by its name in any case."""
    members = {member.name.lower(): member for member in enum_class}
    parse_name = _one_of(list(members))

    def parse(text: str) -> enum.Enum:
        return members[parse_name(text.lower())]

    if isinstance(default, str):
        default = parse(default)
    FLAGS._define(_Flag(name, default, help, parse))


def DEFINE_alias(name: str, original_name: str, **_: Any) -> None:
    """Give a flag another name."""
    FLAGS._flags[name] = FLAGS._find(original_name)


def DEFINE_list(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag whose value is texts separated by commas."""
    FLAGS._define(_Flag(name, _list(default) if isinstance(default, str) else default, help, _list))


def DEFINE_spaceseplist(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag whose value is texts separated by blanks."""
    default = default.split() if isinstance(default, str) else default
    FLAGS._define(_Flag(name, default, help, str.split))


def DEFINE_multi_string(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag that may be given several times."""
    FLAGS._define(_Flag(name, _as_list(default), help, str, is_multiple=True))


def DEFINE_multi_integer(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag of whole numbers that may be given several times."""
    FLAGS._define(_Flag(name, _as_list(default), help, _integer, is_multiple=True))


def DEFINE_multi_float(name: str, default: Any, help: str = "", **_: Any) -> None:
    """Define a flag of numbers that may be given several times."""
    FLAGS._define(_Flag(name, _as_list(default), help, float, is_multiple=True))


def _as_list(default: Any) -> list[Any] | None:
    if default is None:
        return None
    return list(default) if isinstance(default, list | tuple) else [default]


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Refuse a command line on which a flag without default is missing."""
    flag_values._find(flag_name).is_required = True


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues = FLAGS) -> None:
    """Do so for several flags."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def register_validator(
    flag_name: str,
    checker: Callable[[Any], bool],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Refuse values of a flag.

    Args:
        flag_name: The flag.
        checker: Takes its value; False refuses, and so does a ValidationError with words of its
            own.
        message: What to say.
        flag_values: Where the flag is.

    Raises:
        UnrecognizedFlagError: There is no such flag.
    """
    register_multi_flags_validator(
        [flag_name], lambda values: checker(values[flag_name]), message, flag_values
    )


def register_multi_flags_validator(
    flag_names: Iterable[str],
    multi_flags_checker: Callable[[dict[str, Any]], bool],
    message: str = "Flags validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Refuse values of several flags that do not go together.

    Args:
        flag_names: The flags.
        multi_flags_checker: Takes their values by name; see ``register_validator``.
        message: What to say.
        flag_values: Where the flags are.

    Raises:
        UnrecognizedFlagError: There is no such flag.
    """
    validator = _Validator(tuple(flag_names), multi_flags_checker, message)
    for flag in [flag_values._find(name) for name in validator.names]:
        flag.validators.append(validator)


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], bool]], Callable[[Any], bool]]:
    """``register_validator`` as a decorator."""

    def register(checker: Callable[[Any], bool]) -> Callable[[Any], bool]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return register


def multi_flags_validator(
    flag_names: Iterable[str],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> Callable[[Callable[[dict[str, Any]], bool]], Callable[[dict[str, Any]], bool]]:
    """``register_multi_flags_validator`` as a decorator."""

    def register(checker: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], bool]:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return register


def mark_flags_as_mutual_exclusive(
    flag_names: Iterable[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Refuse values for more than one of some flags; or for none, where one is required."""
    condition = "have a value other than None"
    _exclude(list(flag_names), required, flag_values, lambda v: v is not None, condition)


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Iterable[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Refuse more than one of some switches that is on; or none, where one is required."""
    _exclude(list(flag_names), required, flag_values, bool, "be True")


def _exclude(
    names: list[str],
    required: bool,
    flag_values: FlagValues,
    is_used: Callable[[Any], bool],
    condition: str,
) -> None:
    def holds(values: dict[str, Any]) -> bool:
        count = sum(map(is_used, values.values()))
        return count == 1 or (count == 0 and not required)

    how = "Exactly" if required else "At most"
    message = f"{how} one of ({', '.join(names)}) must {condition}."
    register_multi_flags_validator(names, holds, message, flag_values)


def flag_dict_to_args(flag_map: dict[str, Any]) -> Iterator[str]:
    """The words of a command line that give flags their values.

    >>> list(flag_dict_to_args({"on": True, "off": False, "list": [1, 2], "x": 3}))
    ['--on', '--nooff', '--list=1,2', '--x=3']
    """
    for name, value in flag_map.items():
        if value is None or value is True:
            yield f"--{name}"
        elif value is False:
            yield f"--no{name}"
        elif isinstance(value, list | tuple):
            yield f"--{name}={','.join(map(str, value))}"
        else:
            yield f"--{name}={value}"
