"""Completes ``%tfnb``: subcommands, options, variables, nodes and scopes, files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)

from tfnb.client.session.session import BaseSession
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.default_session import get_default_session
from tfnb.framework.graph import Graph
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor
from tfnb.notebook.magics import CELL_COMMANDS, LINE_COMMANDS
from tfnb.notebook.views.targets import GRAPH_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tfnb.notebook.magics import TfnbMagics

MAX_NAMES = 200
_LINE = re.compile(r"^\s*(%{1,2})tfnb\s+(.*)$")
_TARGETS = (Graph, BaseSession, Tensor, Operation)


def completions(magics: TfnbMagics, text: str) -> list[str]:
    """Return what may follow in a line up to the cursor; empty for lines of other magics."""
    match = _LINE.match(text)
    if match is None:
        return []
    sign, rest = match.groups()
    words = rest.split(" ")
    typed = words[-1]
    if len(words) == 1:
        commands = CELL_COMMANDS if sign == "%%" else LINE_COMMANDS
        return [command for command in commands if command.startswith(typed)]
    method = getattr(magics, words[0], None)
    parser = getattr(method, "parser", None)
    if parser is None:
        return []
    return _arguments(magics, parser, words[1:])


def _arguments(magics: TfnbMagics, parser: Any, words: list[str]) -> list[str]:
    typed = words[-1]
    options = {name: action for action in parser._actions for name in action.option_strings}
    before = words[-2] if len(words) > 1 else ""
    if before in options and options[before].choices:
        return [str(c) for c in options[before].choices if str(c).startswith(typed)]
    if before in _VALUES:
        return [name for name in _VALUES[before]() if name.startswith(typed)]
    if before in options and options[before].nargs != 0:
        return []  # a number or a text of the user's own
    if typed.startswith("-"):
        return sorted(name for name in options if name.startswith(typed) and name.startswith("--"))
    if any(not action.option_strings for action in parser._actions):
        return _targets(magics.namespace, typed)
    return []


def _frames() -> list[str]:
    """Return the loops of the default graph, by the names of their frames."""
    found = {
        op.attr("frame_name").decode("utf-8", "replace")
        for op in get_default_graph().get_operations()
        if op.type in ("Enter", "RefEnter")
    }
    return sorted(found)


def _devices() -> list[str]:
    """Return the devices of the default session, in the form that ``tf.device`` takes."""
    session = get_default_session()
    if not isinstance(session, BaseSession) or session.is_closed:
        return []
    names = [device.name for device in session.list_devices()]
    return [name[name.index("/device:") :] for name in names if "/device:" in name]


# Functions that complete the values of some options.
_VALUES = {"--frame": _frames, "--device": _devices}


def _targets(namespace: dict[str, Any], typed: str) -> list[str]:
    variables = [
        name
        for name, value in namespace.items()
        if name.startswith(typed)
        and not name.startswith("_")
        and (isinstance(value, _TARGETS) or isinstance(getattr(value, "op", None), Operation))
    ]
    return [*sorted(variables), *_nodes(typed), *_files(typed)]


def _nodes(typed: str) -> list[str]:
    """Return names of nodes and scopes, one level of scopes at a time."""
    found: dict[str, None] = {}
    for op in get_default_graph().get_operations():
        name = op.name
        if not name.startswith(typed):
            continue
        cut = name.find("/", len(typed))
        found[name if cut < 0 else name[: cut + 1]] = None
        if len(found) >= MAX_NAMES:
            break
    return list(found)


def _files(typed: str) -> Iterable[str]:
    folder = Path(typed) if typed.endswith("/") else Path(typed).parent
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    names = [f"{entry.as_posix()}/" if entry.is_dir() else entry.as_posix() for entry in entries]
    return [
        name
        for name in names
        if name.startswith(typed) and (name.endswith(GRAPH_FILES) or (typed and name[-1] == "/"))
    ]


def make_matcher(magics: TfnbMagics) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """Return the matcher that IPython calls."""

    @context_matcher(identifier="tfnb")  # type: ignore[untyped-decorator]
    def tfnb_matcher(context: CompletionContext) -> SimpleMatcherResult:
        text = context.text_until_cursor
        found = completions(magics, text)
        typed = text.rpartition(" ")[2]
        return SimpleMatcherResult(
            completions=[SimpleCompletion(text=name, type="tfnb") for name in found],
            matched_fragment=typed,
            suppress=_LINE.match(text) is not None,
            ordered=True,
        )

    return tfnb_matcher  # type: ignore[no-any-return]
