"""``tf.app``: the entry point of a script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

from tfnb.client.flags.absl_flags import parse_absl_flags
from tfnb.client.flags.flag import Error
from tfnb.client.flags.flag_values import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_HELP = ("help", "h", "?", "helpshort", "helpfull")


def _help_text(program: str, is_full: bool) -> str:
    """Return the script's description and its flags; with ``is_full`` those of all modules."""
    about = sys.modules["__main__"].__doc__ or f"\nUSAGE: {program} [flags]\n"
    help_of_flags = FLAGS.get_help() if is_full else FLAGS.main_module_help()
    return f"{about.replace('%s', program)}\nflags:\n{help_of_flags}"


def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Parse the flags, call ``main`` with the other words of the command line, and exit.

    Args:
        main: The function; ``main`` of the running script if none is given.
        argv: The command line; ``sys.argv`` if none is given. With ``--help`` the flags of the
            script are printed instead, with ``--helpfull`` all flags; the exit code is then 1.
    """
    if main is None:
        main = sys.modules["__main__"].main
    words = list(sys.argv if argv is None else argv)
    for word in words[1 : words.index("--") if "--" in words else None]:
        asked = word.lstrip("-") if word.startswith("-") else ""
        if asked in _HELP and asked not in FLAGS:
            print(_help_text(words[0], asked == "helpfull"))
            sys.exit(1)
    try:
        rest = parse_absl_flags(FLAGS(words))
    except Error as error:
        print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(main(rest))
