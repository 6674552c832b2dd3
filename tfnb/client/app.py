"""``tf.app``: the frame of a script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

from tfnb.client import flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Read the flags, call ``main`` with the other words of the command line, and exit.

    Args:
        main: The function; ``main`` of the running script where none is given.
        argv: The command line; ``sys.argv`` where none is given.
    """
    if main is None:
        main = sys.modules["__main__"].main
    try:
        rest = flags.FLAGS(sys.argv if argv is None else argv)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(main(rest))
