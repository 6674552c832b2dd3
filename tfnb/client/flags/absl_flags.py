"""Flags that a program defines by absl: TensorFlow's flags are the same ones.

A program may define flags by ``absl.flags``, and start with ``tf.app.run`` or read them from
``tf.flags.FLAGS``. absl is not imported here; its flags are there if the program imported it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def absl_flags() -> Any:
    """Return ``absl.flags.FLAGS``; None if the program has not imported it."""
    module = sys.modules.get("absl.flags")
    return None if module is None else getattr(module, "FLAGS", None)


def parse_absl_flags(words: Sequence[str]) -> list[str]:
    """Parse a command line as absl's flags; return its first word and those that are no flags.

    Raises:
      SystemExit: a value does not fit its flag.
    """
    flags = absl_flags()
    if flags is None:
        return list(words)
    try:
        found: list[str] = flags(list(words), known_only=True)
    except sys.modules["absl.flags"].Error as error:
        print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
        sys.exit(1)
    return found


def flags_with(name: str) -> Any:
    """Return absl's flags, parsed, if they have a flag of this name; else None."""
    flags = absl_flags()
    if flags is None or name not in flags:
        return None
    if not flags.is_parsed():
        parse_absl_flags(sys.argv)
    return flags
