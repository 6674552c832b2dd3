"""Command-line flags: ``tf.flags``, which is also ``tf.app.flags``.

    tf.flags.DEFINE_integer("batch_size", 32, "Rows per step.")
    FLAGS = tf.flags.FLAGS
    FLAGS.batch_size

Flags are parsed from ``sys.argv`` when a value is first read, or when ``tf.app.run`` starts. Words
that are not a known flag are left for ``main``. Two differences from absl serve notebooks: the
kernel's own arguments cause no error, and a cell that defines a flag may be run again.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from tfnb.client.flags.flag import (
    BooleanFlag,
    EnumClassFlag,
    EnumFlag,
    Error,
    Flag,
    IllegalFlagValueError,
    MultiEnumClassFlag,
    MultiFlag,
    Validator,
)
from tfnb.client.flags.flag_parsers import (
    ArgumentParser,
    ArgumentSerializer,
    CsvListSerializer,
    EnumParser,
    FloatParser,
    IntegerParser,
    ListParser,
    ListSerializer,
    WhitespaceSeparatedListParser,
)
from tfnb.client.flags.flag_values import FLAGS, FlagHolder, FlagValues, calling_module

if TYPE_CHECKING:
    import enum
    from collections.abc import Callable, Iterable, Iterator

EXPORTS = {
    "flags": [
        "DEFINE", "DEFINE_alias", "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum",
        "DEFINE_enum_class", "DEFINE_flag", "DEFINE_float", "DEFINE_integer", "DEFINE_list",
        "DEFINE_multi", "DEFINE_multi_enum", "DEFINE_multi_enum_class", "DEFINE_multi_float",
        "DEFINE_multi_integer", "DEFINE_multi_string", "DEFINE_spaceseplist", "DEFINE_string",
        "adopt_module_key_flags", "declare_key_flag", "doc_to_help", "flag_dict_to_args",
        "get_help_width", "mark_bool_flags_as_mutual_exclusive", "mark_flag_as_required",
        "mark_flags_as_mutual_exclusive", "mark_flags_as_required", "multi_flags_validator",
        "override_value", "register_multi_flags_validator", "register_validator", "set_default",
        "text_wrap", "validator",
    ]
}  # fmt: skip


# --------------------------------------------------------------------------------------- defining


def DEFINE_flag(
    flag: Flag,
    flag_values: FlagValues = FLAGS,
    module_name: str | None = None,
    required: bool = False,
) -> FlagHolder:
    """Add a flag.

    Args:
        flag: The flag.
        flag_values: The FlagValues to add it to.
        module_name: The module that defines it; the calling module if None.
        required: Whether it must have a value.

    Raises:
        ValueError: A required flag has a default.
    """
    if required and flag.default is not None:
        raise ValueError(f"Required flag --{flag.name} cannot have a non-None default")
    flag_values._define(flag, module_name)
    flag.is_required = required
    return FlagHolder(flag_values, flag, ensure_non_none_value=required)


def DEFINE(
    parser: ArgumentParser,
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    serializer: ArgumentSerializer | None = None,
    module_name: str | None = None,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag with a parser of its value; for more arguments see ``tf.flags.Flag``."""
    flag = Flag(parser, serializer, name, default, help, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


def DEFINE_multi(
    parser: ArgumentParser,
    serializer: ArgumentSerializer | None,
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    module_name: str | None = None,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag that may be given several times."""
    flag = MultiFlag(parser, serializer, name, default, help, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


def DEFINE_string(
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag whose value is any text."""
    return DEFINE(
        ArgumentParser(),
        name,
        default,
        help,
        flag_values,
        ArgumentSerializer(),
        required=required,
        **args,
    )


def DEFINE_integer(
    name: str,
    default: Any,
    help: str | None,
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag whose value is an integer, perhaps within bounds."""
    parser = IntegerParser(lower_bound, upper_bound)
    return DEFINE(
        parser, name, default, help, flag_values, ArgumentSerializer(), required=required, **args
    )


def DEFINE_float(
    name: str,
    default: Any,
    help: str | None,
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag whose value is a number, perhaps within bounds."""
    parser = FloatParser(lower_bound, upper_bound)
    return DEFINE(
        parser, name, default, help, flag_values, ArgumentSerializer(), required=required, **args
    )


def DEFINE_boolean(
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    module_name: str | None = None,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag that is on or off: ``--name``, ``--noname``, ``--name=true``."""
    flag = BooleanFlag(name, default, help, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(
    name: str,
    default: Any,
    enum_values: Iterable[str],
    help: str | None,
    flag_values: FlagValues = FLAGS,
    module_name: str | None = None,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag whose value is one of a few words."""
    flag = EnumFlag(name, default, help, enum_values, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


def DEFINE_enum_class(
    name: str,
    default: Any,
    enum_class: type[enum.Enum],
    help: str | None,
    flag_values: FlagValues = FLAGS,
    module_name: str | None = None,
    case_sensitive: bool = False,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag whose value is a member of an enumeration, given by its name."""
    flag = EnumClassFlag(name, default, help, enum_class, case_sensitive=case_sensitive, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


def DEFINE_list(
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag whose value is a list of texts separated by commas."""
    return DEFINE(
        ListParser(),
        name,
        default,
        help,
        flag_values,
        CsvListSerializer(","),
        required=required,
        **args,
    )


def DEFINE_spaceseplist(
    name: str,
    default: Any,
    help: str | None,
    comma_compat: bool = False,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag whose value is a list of texts separated by whitespace, perhaps also commas."""
    parser = WhitespaceSeparatedListParser(comma_compat)
    return DEFINE(
        parser, name, default, help, flag_values, ListSerializer(" "), required=required, **args
    )


def DEFINE_multi_string(
    name: str,
    default: Any,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag that may be given several times."""
    return DEFINE_multi(
        ArgumentParser(),
        ArgumentSerializer(),
        name,
        default,
        help,
        flag_values,
        required=required,
        **args,
    )


def DEFINE_multi_integer(
    name: str,
    default: Any,
    help: str | None,
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag of integers that may be given several times."""
    parser = IntegerParser(lower_bound, upper_bound)
    return DEFINE_multi(
        parser, ArgumentSerializer(), name, default, help, flag_values, required=required, **args
    )


def DEFINE_multi_float(
    name: str,
    default: Any,
    help: str | None,
    lower_bound: Any = None,
    upper_bound: Any = None,
    flag_values: FlagValues = FLAGS,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag of numbers that may be given several times."""
    parser = FloatParser(lower_bound, upper_bound)
    return DEFINE_multi(
        parser, ArgumentSerializer(), name, default, help, flag_values, required=required, **args
    )


def DEFINE_multi_enum(
    name: str,
    default: Any,
    enum_values: Iterable[str],
    help: str | None,
    flag_values: FlagValues = FLAGS,
    case_sensitive: bool = True,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag of words out of a few that may be given several times."""
    parser = EnumParser(enum_values, case_sensitive)
    return DEFINE_multi(
        parser, ArgumentSerializer(), name, default, help, flag_values, required=required, **args
    )


def DEFINE_multi_enum_class(
    name: str,
    default: Any,
    enum_class: type[enum.Enum],
    help: str | None,
    flag_values: FlagValues = FLAGS,
    module_name: str | None = None,
    case_sensitive: bool = False,
    required: bool = False,
    **args: Any,
) -> FlagHolder:
    """Define a flag of members of an enumeration that may be given several times."""
    flag = MultiEnumClassFlag(
        name, default, help or "", enum_class, case_sensitive=case_sensitive, **args
    )
    return DEFINE_flag(flag, flag_values, module_name, required)


def DEFINE_alias(
    name: str,
    original_name: str,
    flag_values: FlagValues = FLAGS,
    module_name: str | None = None,
) -> FlagHolder:
    """Define another name for a flag."""
    flag = flag_values[original_name]
    flag_values[name] = flag
    return FlagHolder(flag_values, flag)


def set_default(flag_holder: FlagHolder, value: Any) -> None:
    """Set the default of a flag."""
    flag_holder.flag_values.set_default(flag_holder.name, value)


def override_value(flag_holder: FlagHolder, value: Any) -> None:
    """Set the value of a flag, overriding the command line.

    Raises:
        IllegalFlagValueError: The value does not fit.
    """
    flag = flag_holder.flag_values[flag_holder.name]
    parsed = flag._parse(value)
    if parsed != value:
        raise IllegalFlagValueError(
            f"flag {flag.name}: parsed value {parsed!r} not equal to {value!r}"
        )
    setattr(flag_holder.flag_values, flag_holder.name, value)


def _name_of(flag: Any) -> str:
    """Return the name of a flag that is given by name or as FlagHolder."""
    return flag.name if isinstance(flag, FlagHolder) else flag


# ---------------------------------------------------------------------------------------- modules


def declare_key_flag(flag_name: Any, flag_values: FlagValues = FLAGS) -> None:
    """Declare a flag of another module as a key flag of the calling module."""
    flag = flag_values[_name_of(flag_name)]
    flag_values.register_key_flag_for_module(calling_module(), flag)


def adopt_module_key_flags(module: Any, flag_values: FlagValues = FLAGS) -> None:
    """Declare the key flags of a module as key flags of the calling module.

    Raises:
        Error: ``module`` is not a module.
    """
    if not hasattr(module, "__name__") or isinstance(module, str):
        raise Error(f"Expected a module object, not {module!r}.")
    for flag in flag_values.get_key_flags_for_module(module):
        flag_values.register_key_flag_for_module(calling_module(), flag)


# --------------------------------------------------------------------------------------- help texts


def get_help_width() -> int:
    """Return the number of columns of help texts."""
    if not sys.stdout.isatty():
        return 80
    return max(40, shutil.get_terminal_size().columns)


def text_wrap(
    text: str, length: int | None = None, indent: str = "", firstline_indent: str | None = None
) -> str:
    """Wrap text in lines; its own line breaks are kept.

    Args:
        text: The text.
        length: The number of columns; :func:`get_help_width` if None.
        indent: The beginning of each line.
        firstline_indent: The beginning of the first line; ``indent`` if None.

    Raises:
        ValueError: The indent leaves no room for text.
    """
    length = get_help_width() if length is None else length
    first = indent if firstline_indent is None else firstline_indent
    if len(indent) >= length:
        raise ValueError("Length of indent exceeds length")
    if len(first) >= length:
        raise ValueError("Length of first line indent exceeds length")
    lines: list[str] = []
    for paragraph in (line.strip() for line in text.expandtabs(4).splitlines()):
        start = first if not lines else indent
        wrapped = textwrap.wrap(paragraph, length, initial_indent=start, subsequent_indent=indent)
        lines += wrapped or [""]
    return "\n".join(lines)


def doc_to_help(doc: str) -> str:
    """Return a docstring as help: without common indentation, each paragraph in one line."""
    return "\n".join(
        " ".join(line.strip() for line in paragraph.splitlines() if line.strip())
        for paragraph in textwrap.dedent(doc.strip()).split("\n\n")
    )


# -------------------------------------------------------------------------------------- validators


def mark_flag_as_required(flag_name: Any, flag_values: FlagValues = FLAGS) -> None:
    """Refuse a command line without a value for a flag that has no default."""
    flag_values[_name_of(flag_name)].is_required = True


def mark_flags_as_required(flag_names: Iterable[Any], flag_values: FlagValues = FLAGS) -> None:
    """Mark several flags as required; see ``mark_flag_as_required``."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def register_validator(
    flag_name: Any,
    checker: Callable[[Any], bool],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Register a function that refuses values of a flag.

    Args:
        flag_name: The flag.
        checker: Takes its value; to refuse it, returns False or raises a ValidationError with its
            own message.
        message: The error message.
        flag_values: The FlagValues that hold the flag.

    Raises:
        UnrecognizedFlagError: The flag does not exist.
    """
    name = _name_of(flag_name)
    register_multi_flags_validator(
        [name], lambda values: checker(values[name]), message, flag_values
    )


def register_multi_flags_validator(
    flag_names: Iterable[Any],
    multi_flags_checker: Callable[[dict[str, Any]], bool],
    message: str = "Flags validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Register a function that refuses combinations of values of several flags.

    Args:
        flag_names: The flags.
        multi_flags_checker: Takes their values by name; see ``register_validator``.
        message: The error message.
        flag_values: The FlagValues that hold the flags.

    Raises:
        UnrecognizedFlagError: The flag does not exist.
    """
    validator = Validator(tuple(map(_name_of, flag_names)), multi_flags_checker, message)
    for flag in [flag_values[name] for name in validator.names]:
        flag.validators.append(validator)


def validator(
    flag_name: Any, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], bool]], Callable[[Any], bool]]:
    """Return ``register_validator`` as a decorator."""

    def register(checker: Callable[[Any], bool]) -> Callable[[Any], bool]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return register


def multi_flags_validator(
    flag_names: Iterable[Any],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> Callable[[Callable[[dict[str, Any]], bool]], Callable[[dict[str, Any]], bool]]:
    """Return ``register_multi_flags_validator`` as a decorator."""

    def register(checker: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], bool]:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return register


def mark_flags_as_mutual_exclusive(
    flag_names: Iterable[Any], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Refuse values for more than one of some flags; if ``required``, also for none."""
    condition = "have a value other than None"
    _exclude(
        list(map(_name_of, flag_names)), required, flag_values, lambda v: v is not None, condition
    )


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Iterable[Any], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Refuse more than one of some boolean flags that is on; if ``required``, also none."""
    _exclude(list(map(_name_of, flag_names)), required, flag_values, bool, "be True")


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


def flag_dict_to_args(
    flag_map: dict[str, Any], multi_flags: Iterable[str] | None = None
) -> Iterator[str]:
    """Yield the words of a command line that set flags.

    Args:
        flag_map: Name -> value.
        multi_flags: The flags to be given once for each member of a list.

    >>> list(flag_dict_to_args({"on": True, "off": False, "list": [1, 2], "x": 3}))
    ['--on', '--nooff', '--list=1,2', '--x=3']
    """
    many = set(multi_flags or ())
    for name, value in flag_map.items():
        if value is None or value is True:
            yield f"--{name}"
        elif value is False:
            yield f"--no{name}"
        elif isinstance(value, bytes | str):
            yield f"--{name}={value!s}"
        elif isinstance(value, list | tuple) and name in many:
            yield from (f"--{name}={one}" for one in value)
        elif isinstance(value, list | tuple):
            yield f"--{name}={','.join(map(str, value))}"
        else:
            yield f"--{name}={value}"
