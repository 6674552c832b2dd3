"""Subcommands of one magic, on IPython's own argument parsers, which are untyped."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.utils.process import arg_split  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_QUOTES = "'\""

F = TypeVar("F", bound="Callable[..., None]")


class HelpShown(UsageError):
    """Raised to end a magic that has printed its help."""


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """Return one argument or option, with the parameters of ``argparse``."""
    decorate: Callable[[Any], Any] = argument(*names, **settings)  # type: ignore[no-untyped-call]
    return decorate


def subcommand(name: str, *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Give a method a parser, which IPython's help and our completion read."""

    def decorate(method: F) -> F:
        decorated: Any = method
        for add in reversed(options):
            decorated = add(decorated)
        return magic_arguments(name)(decorated)  # type: ignore[no-any-return, no-untyped-call]

    return decorate


def asks_for_help(words: Sequence[str]) -> bool:
    """Return whether a line only requests the help of a subcommand."""
    return "-h" in words or "--help" in words


def print_help(method: Callable[..., None]) -> None:
    """Print the help of a subcommand, with its options."""
    text: str = method.parser.format_help()  # type: ignore[attr-defined]
    # IPython's parser makes a code block of its documentation.
    print(text.removeprefix("::\n\n").strip("\n"))


def parse(method: Callable[..., None], line: str) -> Any:
    """Parse a line; a request for help prints it and raises :class:`HelpShown`.

    Raises:
      UsageError: the line does not fit the subcommand.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if asks_for_help(words):
        print_help(method)
        raise HelpShown
    # IPython keeps quotes around a word, and backslashes, which shlex does not.
    parser: Any = method.parser  # type: ignore[attr-defined]
    return parser.parse_args([_unquoted(word) for word in arg_split(line)])


def _unquoted(word: str) -> str:
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in _QUOTES
    return word[1:-1] if is_quoted else word
