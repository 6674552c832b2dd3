"""The debugger for a terminal: reads commands, prints text.

    with tfnb.debugger.TextDebugger(session) as debugger:
        debugger.break_at("loss", condition="nan")
        session.run(train_op)

Each stop reads commands until one of them continues the step; an empty line repeats the last.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.debugger.debugger import Debugger
from tfnb.core import array_module
from tfnb.core.errors import OpError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.client.debugger.stop import Stop
    from tfnb.client.session.session import BaseSession
    from tfnb.common_runtime.looking.step_inspection import FrameView
    from tfnb.core.step_events import StepEvents

EXPORTS = {"debugger": ["TextDebugger"]}

_HELP = """\
s, step              run one node              n, next        and a called function to its end
i, iteration         to the loop's next iteration              f, finish      to the loop's end
c, continue          to the next breakpoint    u, until NODE [ITERATION]      to that node
b, break NODE [iteration N] [frame F] [if CONDITION]           clear [NUMBER]; breaks lists them
p, print TENSOR      its value                 set TENSOR VALUE               changes it
e, eval TENSOR       runs it in a step of its own
w, why NODE          why it has not run        inputs          what lies before this node
frames               loops and iterations      nodes           those of this iteration
ready                what may run now          first NODE      runs it first
q, quit              cancel the step           h, help         this"""
_MOST_ROWS = 30


class TextDebugger(Debugger):
    """A :class:`Debugger` that is controlled in a terminal.

    Args:
      session: the session to debug; the default session if not given.
      events: in place of a session, the events of its runtime.
      stop_at_start: whether every step stops before its first node.
      read: reads a line, like ``input``; an EOFError cancels the step.
      write: prints a text, like ``print``.
    """

    def __init__(
        self,
        session: BaseSession | None = None,
        *,
        events: StepEvents | None = None,
        stop_at_start: bool = True,
        read: Callable[[str], str] = input,
        write: Callable[[str], object] = print,
    ) -> None:
        super().__init__(
            session, events=events, on_stop=self._converse, stop_at_start=stop_at_start
        )
        self._read = read
        self._write = write
        self._last = "step"
        self._commands: dict[str, Callable[[Stop, list[str]], bool]] = {
            name: command for names, command in self._table() for name in names.split()
        }

    def _table(self) -> list[tuple[str, Callable[[Stop, list[str]], bool]]]:
        return [
            ("s step", lambda _, __: _goes(self.step)),
            ("n next", lambda _, __: _goes(self.step_over)),
            ("i iteration", lambda _, __: _goes(self.step_iteration)),
            ("f finish", lambda _, __: _goes(self.step_frame)),
            ("c continue", lambda _, __: _goes(self.resume)),
            ("q quit", lambda _, __: _goes(self.cancel)),
            ("u until", self._until),
            ("b break", self._break),
            ("clear", self._clear),
            ("breaks", self._breaks),
            ("p print", self._print),
            ("set", self._set),
            ("e eval", self._evaluate),
            ("w why", self._why),
            ("inputs", self._inputs),
            ("frames", self._frames),
            ("nodes", self._nodes),
            ("ready", self._show_ready),
            ("first", self._first),
            ("h help", lambda _, __: self._say(_HELP)),
        ]

    # -- the conversation --------------------------------------------------------------------------

    def _converse(self, stop: Stop) -> None:
        self._write(_heading(stop))
        while True:
            try:
                line = self._read("(tfnb) ").strip() or self._last
            except EOFError:
                self.cancel()
                return
            self._last = line
            if self._obey(stop, line):
                return

    def _obey(self, stop: Stop, line: str) -> bool:
        """Carry out a command; return whether the step continues."""
        name, *words = line.split()
        command = self._commands.get(name)
        if command is None:
            return self._say(f"There is no command '{name}'; 'help' lists them.")
        try:
            return command(stop, words)
        except (ValueError, TypeError, RuntimeError, IndexError) as error:
            return self._say(str(error))
        except KeyError as error:
            return self._say(str(error.args[0]))
        except OpError as error:
            return self._say(f"{type(error).__name__}: {error.message}")

    def _say(self, text: str) -> bool:
        self._write(text)
        return False

    # -- commands ----------------------------------------------------------------------------------

    def _until(self, stop: Stop, words: list[str]) -> bool:
        node, *rest = _some(words, "until NODE [ITERATION]")
        self.run_to(node, iteration=int(rest[0]) if rest else None)
        return True

    def _break(self, stop: Stop, words: list[str]) -> bool:
        options: dict[str, Any] = {}
        node = ""
        rest = _some(words, "break NODE [iteration N] [frame F] [if CONDITION]")
        while rest:
            word, *rest = rest
            if word == "if":
                options["condition"] = " ".join(rest)
                break
            if word in ("iteration", "frame", "op"):
                value, *rest = _some(rest, f"break ... {word} VALUE")
                options[word] = int(value) if word == "iteration" else value
            else:
                node = word
        found = self.break_at(node, **options)
        return self._say(f"breakpoint {found.number}: {found}")

    def _clear(self, stop: Stop, words: list[str]) -> bool:
        self.clear(int(words[0]) if words else None)
        return False

    def _breaks(self, stop: Stop, words: list[str]) -> bool:
        lines = [f"{one.number}: {one}, hit {one.hits} times" for one in self.breakpoints]
        return self._say("\n".join(lines) or "There are no breakpoints.")

    def _print(self, stop: Stop, words: list[str]) -> bool:
        return self._say(value_text(self.value(_some(words, "print TENSOR")[0])))

    def _set(self, stop: Stop, words: list[str]) -> bool:
        tensor, *rest = _some(words, "set TENSOR VALUE")
        text = " ".join(_some(rest, "set TENSOR VALUE"))
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise ValueError(f"{text!r} is no number, text or nested list of them.") from None
        self.set_value(tensor, value)
        return self._say(f"{tensor} = {value_text(self.value(tensor))}")

    def _evaluate(self, stop: Stop, words: list[str]) -> bool:
        name = _some(words, "eval TENSOR")[0]
        return self._say(value_text(self.evaluate(name if ":" in name else f"{name}:0")))

    def _why(self, stop: Stop, words: list[str]) -> bool:
        return self._say(stop.why(_some(words, "why NODE")[0]).render())

    def _inputs(self, stop: Stop, words: list[str]) -> bool:
        rows = stop.inputs if stop.phase == "before" else stop.outputs
        lines = [f"{name} = {value_text(value)}" for name, value in rows]
        return self._say("\n".join(lines) or "It has none.")

    def _frames(self, stop: Stop, words: list[str]) -> bool:
        return self._say("\n".join(_frame_text(frame, stop) for frame in stop.frames()))

    def _nodes(self, stop: Stop, words: list[str]) -> bool:
        rows = stop.nodes()
        lines = [
            f"{row.state:>9}  {row.name} ({row.op})"
            + (f"  waits for {', '.join(row.missing[:3])}" if row.missing else "")
            for row in rows[:_MOST_ROWS]
        ]
        more = [f"... and {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
        return self._say("\n".join(lines + more))

    def _show_ready(self, stop: Stop, words: list[str]) -> bool:
        return self._say(", ".join(stop.ready) or "Nothing else is ready here.")

    def _first(self, stop: Stop, words: list[str]) -> bool:
        self.run_next(_some(words, "first NODE")[0])
        return True


def value_text(value: Any) -> str:
    """Return a value in a few lines: dtype, shape, and its elements, shortened."""
    if value is None:
        return "dead, or not there"
    if not hasattr(value, "dtype"):
        return str(value)
    array = array_module.as_host_array(value)
    shape = "x".join(map(str, array.shape)) or "scalar"
    text = np.array2string(array, threshold=20, edgeitems=3, precision=6)
    return f"{text}  ({array.dtype.name}, {shape})"


def _goes(command: Callable[[], None]) -> bool:
    command()
    return True


def _some(words: list[str], usage: str) -> list[str]:
    if not words:
        raise ValueError(f"usage: {usage}")
    return words


def _heading(stop: Stop) -> str:
    where = "".join(f", iteration {loop.iteration} of '{loop.frame}'" for loop in stop.loops)
    inside = f", in function '{stop.function}'" if stop.function else ""
    dead = ", dead" if stop.is_dead else ""
    return f"[{stop.reason}] {stop.phase} '{stop.node}' ({stop.op}){where}{inside}{dead}"


def _frame_text(frame: FrameView, stop: Stop) -> str:
    here = frame.partition == stop.partition and frame.id == stop.frame_id
    name = f"frame '{frame.name}'" if frame.name else "the graph"
    lines = [f"{'>' if here else ' '} {name} on {frame.device}"]
    if frame.name:
        lines[0] += f", at most {frame.parallel_iterations} iterations at a time"
    for iteration in frame.iterations:
        states = ", ".join(f"{count} {state}" for state, count in iteration.states.items())
        mark = ">" if here and iteration.number == stop.iteration else " "
        lines.append(f"  {mark} iteration {iteration.number}: {states}")
    if frame.deferred:
        lines.append(
            f"    iteration {frame.iteration_count + 1} is held back: {', '.join(frame.deferred)}"
        )
    return "\n".join(lines)
