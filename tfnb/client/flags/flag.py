"""One flag of a command line: ``tf.flags.Flag``, its subclasses, and the errors of flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.flags import flag_parsers

if TYPE_CHECKING:
    import enum
    from collections.abc import Callable, Iterable

EXPORTS = {
    "flags": [
        "BooleanFlag", "CantOpenFlagFileError", "DuplicateFlagError", "EnumClassFlag", "EnumFlag",
        "Error", "Flag", "FlagNameConflictsWithMethodError", "IllegalFlagValueError",
        "MultiEnumClassFlag", "MultiFlag", "UnparsedFlagAccessError", "UnrecognizedFlagError",
        "ValidationError",
    ]
}  # fmt: skip


class Error(Exception):
    """The base class of errors about flags."""


class IllegalFlagValueError(Error):
    """A value does not fit its flag."""


class UnrecognizedFlagError(Error, AttributeError):
    """No flag has this name.

    Args:
        flagname: The name.
        flagvalue: The given value.
        suggestions: Similar names.
    """

    def __init__(self, flagname: str, flagvalue: str = "", suggestions: Iterable[str] = ()) -> None:
        self.flagname = flagname
        self.flagvalue = flagvalue
        close = f". Did you mean: {', '.join(suggestions)} ?" if suggestions else ""
        super().__init__(f"Unknown command line flag '{flagname}'{close}")


class ValidationError(Error):
    """A validator refuses a value, with its own message."""


class CantOpenFlagFileError(Error):
    """A file of flags cannot be read."""


class DuplicateFlagError(Error):
    """Two flags have the same name."""

    @classmethod
    def from_flag(cls, flagname: str, flag_values: Any, other_flag_values: Any = None) -> Self:
        """Return the error for a flag that is defined in two modules."""
        first = flag_values.find_module_defining_flag(flagname, default="<unknown>")
        second = "<unknown>"
        if other_flag_values is not None:
            second = other_flag_values.find_module_defining_flag(flagname, default="<unknown>")
        return cls(
            f"The flag '{flagname}' is defined twice. First from {first}, Second from {second}."
        )


class FlagNameConflictsWithMethodError(Error):
    """A flag has the name of a method of ``FlagValues``."""


class UnparsedFlagAccessError(Error):
    """The value of a flag was read before the command line was parsed."""


@dataclass(frozen=True, slots=True)
class Validator:
    """A condition on the values of flags.

    Attributes:
        names: The flags.
        holds: Takes their values by name; returns False or raises a ValidationError to refuse them.
        message: The error message.
    """

    names: tuple[str, ...]
    holds: Callable[[dict[str, Any]], bool]
    message: str


class Flag:
    """A flag.

    Args:
        parser: Converts a text to a value.
        serializer: Converts a value to a text.
        name: The flag's name.
        default: The default value, or its text.
        help_string: The help text.
        short_name: Another, short name.
        boolean: Whether it may be given without a value.
        allow_override: Whether it may be defined again; here every flag may.
        allow_override_cpp: Not used.
        allow_hide_cpp: Not used.
        allow_overwrite: Whether it may be given several times.
        allow_using_method_names: Whether it may have the name of a method of ``FlagValues``.

    Attributes:
        value: The flag's value.
        present: How often it was given.
        using_default_value: Whether its value is the default.
        validators: The conditions on its value; stored here, so that a cell that defines its flags
            again begins without validators.
    """

    is_multiple = False

    def __init__(
        self,
        parser: flag_parsers.ArgumentParser,
        serializer: flag_parsers.ArgumentSerializer | None,
        name: str,
        default: Any,
        help_string: str | None,
        short_name: str | None = None,
        boolean: bool = False,
        allow_override: bool = False,
        allow_override_cpp: bool = False,
        allow_hide_cpp: bool = False,
        allow_overwrite: bool = True,
        allow_using_method_names: bool = False,
    ) -> None:
        self.name = name
        self.help = help_string or "(no help available)"
        self.short_name = short_name
        self.boolean = boolean
        self.parser = parser
        self.serializer = serializer
        self.allow_override = allow_override
        self.allow_override_cpp = allow_override_cpp
        self.allow_hide_cpp = allow_hide_cpp
        self.allow_overwrite = allow_overwrite
        self.allow_using_method_names = allow_using_method_names
        self.present = 0
        self.using_default_value = True
        self.is_required = False
        self.validators: list[Validator] = []
        self._set_default(default)

    def _set_default(self, value: Any) -> None:
        self.default_unparsed = value
        self.default = None if value is None else self._parse(value)
        self.default_as_str = self._as_string(self.default)
        if self.using_default_value:
            self.value = self.default

    def _as_string(self, value: Any) -> str | None:
        if value is None:
            return None
        if self.serializer is not None:
            return repr(self.serializer.serialize(value))
        if self.boolean:
            return repr("true" if value else "false")
        return repr(str(value))

    def _parse(self, argument: Any) -> Any:
        try:
            return self.parser.parse(argument)
        except (TypeError, ValueError, OverflowError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={argument}: {error}") from None

    def parse(self, argument: Any) -> None:
        """Set the value from the command line.

        Raises:
            IllegalFlagValueError: The text is not valid, or the flag was given already and must not
                be given again.
        """
        if self.present and not self.allow_overwrite:
            raise IllegalFlagValueError(
                f"flag --{self.name}={argument}: already defined as {self.value}"
            )
        self.value = self._parse(argument)
        self.using_default_value = False
        self.present += 1

    def unparse(self) -> None:
        """Reset the flag to its default."""
        self.value = self.default
        self.using_default_value = True
        self.present = 0

    def serialize(self) -> str:
        """Return the word of a command line that sets the flag's value; "" for None."""
        return self._serialize(self.value)

    def _serialize(self, value: Any) -> str:
        if value is None:
            return ""
        if self.boolean:
            return f"--{self.name}" if value else f"--no{self.name}"
        if self.serializer is None:
            raise Error(f"Serializer not present for flag {self.name}")
        return f"--{self.name}={self.serializer.serialize(value)}"

    def flag_type(self) -> str:
        """Return the name of its type."""
        return self.parser.flag_type()


class BooleanFlag(Flag):
    """A flag that is on or off."""

    def __init__(
        self,
        name: str,
        default: Any,
        help: str | None,
        short_name: str | None = None,
        **args: Any,
    ) -> None:
        parser = flag_parsers.BooleanParser()
        super().__init__(parser, None, name, default, help, short_name, True, **args)


class EnumFlag(Flag):
    """A flag whose value is one of a few words."""

    def __init__(
        self,
        name: str,
        default: Any,
        help: str | None,
        enum_values: Iterable[str],
        short_name: str | None = None,
        case_sensitive: bool = True,
        **args: Any,
    ) -> None:
        parser = flag_parsers.EnumParser(enum_values, case_sensitive)
        serializer = flag_parsers.ArgumentSerializer()
        super().__init__(parser, serializer, name, default, help, short_name, **args)
        words = "|".join(parser.enum_values)
        self.help = f"<{words}>: {self.help}"


class EnumClassFlag(Flag):
    """A flag whose value is a member of an enumeration."""

    def __init__(
        self,
        name: str,
        default: Any,
        help: str | None,
        enum_class: type[enum.Enum],
        short_name: str | None = None,
        case_sensitive: bool = False,
        **args: Any,
    ) -> None:
        parser = flag_parsers.EnumClassParser(enum_class, case_sensitive)
        serializer = flag_parsers.EnumClassSerializer(lowercase=not case_sensitive)
        super().__init__(parser, serializer, name, default, help, short_name, **args)
        self.help = f"<{'|'.join(parser.member_names)}>: {self.help}"


class MultiFlag(Flag):
    """A flag that may be given several times; its value is a list."""

    is_multiple = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help += ";\n    repeat this option to specify a list of values"

    def parse(self, arguments: Any) -> None:  # noqa: D102 - see Flag
        given = self._parse(arguments)
        self.value = (self.value or []) + given if self.present else given
        self.using_default_value = False
        self.present += len(given)

    def _parse(self, argument: Any) -> list[Any]:
        is_many = not isinstance(argument, str) and _is_iterable(argument)
        values: list[Any] = list(argument) if is_many else [argument]
        return [Flag._parse(self, one) for one in values]

    def _as_string(self, value: Any) -> str | None:
        return None if value is None else repr(",".join(map(self._one_as_text, value)))

    def _one_as_text(self, value: Any) -> str:
        return str(value) if self.serializer is None else self.serializer.serialize(value)

    def _serialize(self, value: Any) -> str:
        if self.serializer is None:
            raise Error(f"Serializer not present for flag {self.name}")
        return "\n".join(Flag._serialize(self, one) for one in value or ())

    def flag_type(self) -> str:
        """Return the name of its type."""
        return "multi " + self.parser.flag_type()


class MultiEnumClassFlag(MultiFlag):
    """A flag whose value is a list of members of an enumeration."""

    def __init__(
        self,
        name: str,
        default: Any,
        help_string: str,
        enum_class: type[enum.Enum],
        case_sensitive: bool = False,
        **args: Any,
    ) -> None:
        parser = flag_parsers.EnumClassParser(enum_class, case_sensitive)
        serializer = flag_parsers.EnumClassListSerializer(",", lowercase=not case_sensitive)
        super().__init__(parser, serializer, name, default, help_string, **args)
        self.help = f"<{'|'.join(parser.member_names)}>: {self.help}"


def _is_iterable(value: Any) -> bool:
    try:
        iter(value)
    except TypeError:
        return False
    return True
