"""Conversion between the text and the value of a flag: ``tf.flags.ArgumentParser`` and others."""

from __future__ import annotations

import csv
import enum
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

EXPORTS = {
    "flags": [
        "ArgumentParser", "ArgumentSerializer", "BaseListParser", "BooleanParser",
        "CsvListSerializer", "EnumClassListSerializer", "EnumClassParser", "EnumClassSerializer",
        "EnumParser", "FloatParser", "IntegerParser", "ListParser", "ListSerializer",
        "WhitespaceSeparatedListParser",
    ]
}  # fmt: skip


class ArgumentParser:
    """The base class of parsers, which accepts any text unchanged.

    Attributes:
        syntactic_help: A description of valid arguments, for messages.
    """

    syntactic_help = ""

    def parse(self, argument: Any) -> Any:
        """Return the value for an argument, which may be a value already.

        Raises:
            ValueError: The text is not valid.
            TypeError: It is of another type.
        """
        if not isinstance(argument, str):
            raise TypeError(f"flag value must be a string, found {type(argument)!r}")
        return argument

    def flag_type(self) -> str:
        """Return the name of the type."""
        return "string"


class ArgumentSerializer:
    """The base class of serializers, which convert a value to text."""

    def serialize(self, value: Any) -> str:
        """Return the text."""
        return str(value)


class _NumericParser(ArgumentParser):
    """A parser of numbers, perhaps within bounds."""

    number_article = ""
    number_name = ""

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.syntactic_help = self._described()

    def _described(self) -> str:
        low, high, name = self.lower_bound, self.upper_bound, self.number_name
        text = f"{self.number_article} {name}"
        if low is not None and high is not None:
            return f"{text} in the range [{low}, {high}]"
        if low == 0:
            return f"a non-negative {name}"
        if high == 0:
            return f"a non-positive {name}"
        if isinstance(self, IntegerParser) and low == 1:
            return f"a positive {name}"
        if isinstance(self, IntegerParser) and high == -1:
            return f"a negative {name}"
        if high is not None:
            return f"{text} <= {high}"
        return text if low is None else f"{text} >= {low}"

    def is_outside_bounds(self, val: Any) -> bool:
        """Return whether a number is less than the lower bound or more than the upper one."""
        return (self.lower_bound is not None and val < self.lower_bound) or (
            self.upper_bound is not None and val > self.upper_bound
        )

    def parse(self, argument: Any) -> Any:
        """Return the number; ValueError if it is outside the bounds."""
        value = self.convert(argument)
        if self.is_outside_bounds(value):
            raise ValueError(f"{value} is not {self.syntactic_help}")
        return value

    def convert(self, argument: Any) -> Any:
        """Return the number; the bounds are not checked."""
        raise NotImplementedError


class FloatParser(_NumericParser):
    """A parser of floating-point numbers."""

    number_article = "a"
    number_name = "number"

    def convert(self, argument: Any) -> float:
        """Return the number; the bounds are not checked."""
        if not isinstance(argument, (int, float, str)) or isinstance(argument, bool):
            raise TypeError(
                f"Expect argument to be a string, int, or float, found {type(argument)}"
            )
        return float(argument)

    def flag_type(self) -> str:
        """Return the name of the type."""
        return "float"


class IntegerParser(_NumericParser):
    """A parser of integers; text may be hexadecimal (``0x10``) or octal (``0o7``)."""

    number_article = "an"
    number_name = "integer"

    def convert(self, argument: Any) -> int:
        """Return the number; the bounds are not checked."""
        if isinstance(argument, int) and not isinstance(argument, bool):
            return argument
        if not isinstance(argument, str):
            raise TypeError(f"Expect argument to be a string or int, found {type(argument)}")
        base = {"0x": 16, "0o": 8}.get(argument[:2].lower(), 10)
        return int(argument, base)

    def flag_type(self) -> str:
        """Return the name of the type."""
        return "int"


class BooleanParser(ArgumentParser):
    """A parser of True and False: ``true``, ``t``, ``1``, ``false``, ``f``, ``0`` in any case."""

    def parse(self, argument: Any) -> bool:
        """Return the value."""
        if isinstance(argument, str):
            if argument.lower() in ("true", "t", "1"):
                return True
            if argument.lower() in ("false", "f", "0"):
                return False
            raise ValueError("Non-boolean argument to boolean flag", argument)
        if isinstance(argument, int) and argument in (0, 1):
            return bool(argument)
        raise TypeError("Non-boolean argument to boolean flag", argument)

    def flag_type(self) -> str:
        """Return the name of the type."""
        return "bool"


class EnumParser(ArgumentParser):
    """A parser of one of a few words.

    Args:
        enum_values: The words.
        case_sensitive: Whether upper and lower case differ.

    Raises:
        ValueError: There are no words.
    """

    def __init__(self, enum_values: Iterable[str], case_sensitive: bool = True) -> None:
        self.enum_values = list(enum_values)
        if not self.enum_values:
            raise ValueError(f'enum_values cannot be empty, found "{enum_values}"')
        self.case_sensitive = case_sensitive

    def parse(self, argument: Any) -> str:
        """Return the word, spelled as in the list."""
        for word in self.enum_values:
            if argument == word or (
                not self.case_sensitive and str(argument).upper() == word.upper()
            ):
                return word
        raise ValueError(f"value should be one of <{'|'.join(self.enum_values)}>")

    def flag_type(self) -> str:
        """Return the name of the type."""
        return "string enum"


class EnumClassParser(ArgumentParser):
    """A parser of members of an enumeration, by name.

    Args:
        enum_class: The enumeration.
        case_sensitive: Whether upper and lower case differ.

    Raises:
        TypeError: ``enum_class`` is not an enumeration.
        ValueError: It has no members, or several whose names differ by case only.
    """

    def __init__(self, enum_class: type[enum.Enum], case_sensitive: bool = True) -> None:
        if not (isinstance(enum_class, type) and issubclass(enum_class, enum.Enum)):
            raise TypeError(f"{enum_class} is not a subclass of Enum.")
        if not enum_class.__members__:
            raise ValueError(f'enum_class cannot be empty, but "{enum_class}" is empty.')
        self.enum_class = enum_class
        self._fold = str if case_sensitive else str.lower
        self._members = {self._fold(name): one for name, one in enum_class.__members__.items()}
        if len(self._members) < len(enum_class.__members__):
            raise ValueError(f"Duplicate enum values for {enum_class} using case_sensitive=False")

    @property
    def member_names(self) -> list[str]:
        """The accepted names."""
        return list(self._members)

    def parse(self, argument: Any) -> enum.Enum:
        """Return the member."""
        if isinstance(argument, self.enum_class):
            return argument
        if not isinstance(argument, str):
            raise ValueError(f"{argument} is not an enum member or a name of a member")
        found = self._members.get(self._fold(argument))
        if found is None:
            raise ValueError(f"value should be one of <{'|'.join(self._members)}>")
        return found

    def flag_type(self) -> str:
        """Return the name of the type."""
        return "enum class"


class BaseListParser(ArgumentParser):
    """A parser of a list of texts with a separator.

    Args:
        token: The separator; whitespace if None.
        name: The name of the result in messages.
    """

    def __init__(self, token: str | None = None, name: str | None = None) -> None:
        if not name:
            raise AssertionError("a list parser needs a name")
        self._token = token
        self._name = name
        self.syntactic_help = f"a {name} separated list"

    def parse(self, argument: Any) -> list[str]:
        """Return the texts."""
        if isinstance(argument, list):
            return argument
        return [text.strip() for text in argument.split(self._token)] if argument else []

    def flag_type(self) -> str:
        """Return the name of the type."""
        return f"{self._name} separated list of strings"


class ListParser(BaseListParser):
    """A parser of texts separated by commas; texts with commas are quoted as in a CSV file."""

    def __init__(self) -> None:
        super().__init__(",", "comma")

    def parse(self, argument: Any) -> list[str]:
        """Return the texts."""
        if isinstance(argument, list):
            return argument
        if not argument:
            return []
        try:
            return [text.strip() for text in next(csv.reader([argument], strict=True))]
        except csv.Error as error:
            raise ValueError(
                f"Unable to parse the value {argument!r} as a {self.flag_type()}: {error}"
            ) from None


class WhitespaceSeparatedListParser(BaseListParser):
    """A parser of texts separated by whitespace; with ``comma_compat`` also by commas."""

    def __init__(self, comma_compat: bool = False) -> None:
        self._comma_compat = comma_compat
        super().__init__(None, "whitespace or comma" if comma_compat else "whitespace")

    def parse(self, argument: Any) -> list[str]:
        """Return the texts."""
        if isinstance(argument, list):
            return argument
        text = argument or ""
        return (text.replace(",", " ") if self._comma_compat else text).split()


class ListSerializer(ArgumentSerializer):
    """A serializer of texts with a separator."""

    def __init__(self, list_sep: str) -> None:
        self.list_sep = list_sep

    def serialize(self, value: Any) -> str:
        """Return the text."""
        return self.list_sep.join(str(one) for one in value)


class CsvListSerializer(ListSerializer):
    """A serializer of texts as a line of a CSV file."""

    def serialize(self, value: Any) -> str:
        """Return the text."""
        line = io.StringIO()
        csv.writer(line, delimiter=self.list_sep).writerow([str(one) for one in value])
        return line.getvalue().strip()


class EnumClassSerializer(ArgumentSerializer):
    """A serializer of a member of an enumeration as its name."""

    def __init__(self, lowercase: bool) -> None:
        self._lowercase = lowercase

    def serialize(self, value: Any) -> str:
        """Return the text."""
        return str(value.name.lower() if self._lowercase else value.name)


class EnumClassListSerializer(ListSerializer):
    """A serializer of members of an enumeration as their names."""

    def __init__(self, list_sep: str, **kwargs: Any) -> None:
        super().__init__(list_sep)
        self._one = EnumClassSerializer(**kwargs)

    def serialize(self, value: Any) -> str:
        """Return the text."""
        members = value if isinstance(value, list) else [value]
        return self.list_sep.join(self._one.serialize(member) for member in members)
