"""Regular expressions in time that is linear in the length of the text, as in RE2.

Python's ``re`` tries one path after the other. Some patterns, as ``(a+)+$``, take exponential time,
and the match cannot be interrupted. Where that may happen, the pattern runs here as a machine that
follows all paths at once, the preferred ones first (Pike's; see
https://swtch.com/~rsc/regexp/regexp2.html). It finds the same matches, and is slower where ``re``
is fast.

:class:`BoundedPattern` selects the method. Patterns are those that ``re2_syntax`` translates:
without lookaround and without backreferences.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.core.kernel_types import Array

    type_of_test = Callable[[str], bool]

# Maximum steps of ``re``, about a second; above it the machine is used.
_MAX_STEPS: Final = 10**8
# A text of up to this length is matched fast by any pattern.
_MAX_NESTED: Final = 12
_UNBOUNDED: Final = int(re._constants.MAXREPEAT)  # type: ignore[attr-defined]
# Number of groups up to which a thousand nested calls are enough to compile a pattern; and the
# maximum number of calls per group.
_FEW_GROUPS: Final = 100
_MOST_GROUPS: Final = 15_000
_CALLS_OF_GROUP: Final = 8
_stack_lock = Lock()
_WORD: Final = re.compile(r"\w", re.ASCII)


class Match(Protocol):
    """The interface of matches of both methods."""

    def start(self) -> int:
        """Return the start of the match."""

    def end(self) -> int:
        """Return the end of the match."""

    def group(self, number: int, /) -> Any:
        """Return the text of a group, or None."""


class LinearMatch:
    """A match found by the machine."""

    def __init__(self, text: str, spans: tuple[int, ...]) -> None:
        self._text = text
        self._spans = spans

    def start(self) -> int:
        """Return the start of the match."""
        return self._spans[0]

    def end(self) -> int:
        """Return the end of the match."""
        return self._spans[1]

    def group(self, number: int, /) -> str | None:
        """Return the text of a group, or None."""
        begin, end = self._spans[2 * number : 2 * number + 2]
        return None if begin < 0 or end < 0 else self._text[begin:end]


class BoundedPattern:
    """A compiled pattern whose matching time is bounded.

    Attributes:
      groups: the number of groups.
    """

    def __init__(self, pattern: str) -> None:
        """Compile a pattern for Python.

        Raises:
          re.error: the pattern is invalid.
          RecursionError: its groups are nested too deeply.
        """
        self._num_parentheses = pattern.count("(")
        with _deep_stack(self._num_parentheses):
            self._quick = re.compile(pattern)
            self._tree = re._parser.parse(pattern)  # type: ignore[attr-defined]
            self._nests = _nests(self._tree)
            self._loops_on_nothing = _loops_on_nothing(self._tree)
        self.groups = self._quick.groups

    @cached_property
    def _slow(self) -> _Machine:
        with _deep_stack(self._num_parentheses):
            return _Machine(self._tree, self.groups)

    @cached_property
    def _loops_of_search(self) -> int:
        with _deep_stack(self._num_parentheses):
            return _loops(self._tree, is_last=True)

    @cached_property
    def _loops_of_full_match(self) -> int:
        with _deep_stack(self._num_parentheses):
            return _loops(self._tree, is_last=False)

    def fullmatch(self, text: str) -> Match | None:
        """Return the match of the whole text."""
        if self._is_quick(len(text), self._loops_of_full_match):
            return self._quick.fullmatch(text)
        return self._slow.run(text, 0, whole=True)

    def search(self, text: str, position: int = 0) -> Match | None:
        """Return the first match that begins at ``position`` or later."""
        # A loop that fails starts again at each character.
        num_loops = self._loops_of_search
        if self._is_quick(len(text), num_loops + (num_loops > 0)):
            return self._quick.search(text, position)
        return self._slow.run(text, position, whole=False)

    def _is_quick(self, size: int, power: int) -> bool:
        if self._loops_on_nothing:
            return False
        if self._nests:
            return size <= _MAX_NESTED
        return power <= 1 or size**power <= _MAX_STEPS

    def repetition_size(self) -> int:
        """Return the count with which nested repetitions exceed 1000 together; 0 if none does."""
        with _deep_stack(self._num_parentheses):
            return _too_large(self._tree, 1000)


@contextmanager
def _deep_stack(num_parentheses: int) -> Iterator[None]:
    """Provide a stack that is deep enough for nested groups.

    Python parses patterns recursively.
    """
    if num_parentheses <= _FEW_GROUPS:
        yield
        return
    with _stack_lock:
        before = sys.getrecursionlimit()
        raised = before + _CALLS_OF_GROUP * min(num_parentheses, _MOST_GROUPS)
        try:
            sys.setrecursionlimit(raised)
            yield
        finally:
            if sys.getrecursionlimit() == raised:
                sys.setrecursionlimit(before)


def _kind(node: Array) -> str:
    return str(node[0])


def _parts(node: Array) -> list[Array]:
    """Return the sequences inside a node of the tree."""
    kind, arguments = _kind(node), node[1]
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        return [arguments[2]]
    if kind == "SUBPATTERN":
        return [arguments[3]]
    return list(arguments[1]) if kind == "BRANCH" else []


def _loops(tree: Any, is_last: bool) -> int:
    """Return the number of loops that may be retried, because the rest of the pattern fails.

    Args:
      tree: a sequence of the pattern.
      is_last: whether the sequence is the end of the pattern.
    """
    nodes, count = list(tree), 0
    for node in nodes:
        ends = is_last and node is nodes[-1]
        is_loop = _is_loop(node)
        inner = [_loops(part, ends and not is_loop) for part in _parts(node)]
        count += max(inner, default=0) + (is_loop and not ends)
    return count


def _is_loop(node: Array) -> bool:
    return _kind(node) in ("MAX_REPEAT", "MIN_REPEAT") and node[1][1] > 1


def _nests(tree: Array) -> bool:
    """Return whether a loop contains further choices."""
    # Not any(): the calls of a generator need space on the C stack.
    for node in tree:
        for part in _parts(node):
            if (_is_loop(node) and _has_choice(part)) or _nests(part):
                return True
    return False


def _loops_on_nothing(tree: Array) -> bool:
    """Return whether the body of a loop can match the empty text.

    Python's loop then ends with an empty iteration, whose spans the groups inside keep.
    """
    for node in tree:
        for part in _parts(node):
            if (_is_loop(node) and part.getwidth()[0] == 0) or _loops_on_nothing(part):
                return True
    return False


def _has_choice(tree: Array) -> bool:
    for node in tree:
        kind = _kind(node)
        if kind == "BRANCH" or (kind in ("MAX_REPEAT", "MIN_REPEAT") and node[1][0] != node[1][1]):
            return True
        for part in _parts(node):
            if _has_choice(part):
                return True
    return False


def _too_large(tree: Array, budget: int) -> int:
    for node in tree:
        left = budget
        if _kind(node) in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most = int(node[1][0]), int(node[1][1])
            size = least if most == _UNBOUNDED else most
            if size > 1:
                left //= size
                if not left:
                    return size
        for part in _parts(node):
            found = _too_large(part, left)
            if found:
                return found
    return 0


# -- the machine -----------------------------------------------------------------------------------

_CHAR, _SPLIT, _SAVE, _WHEN, _MATCH = range(5)


class _Machine:
    """A program of instructions (kind, argument, next places), and its interpreter.

    A *thread* is a place in the program with the spans of the groups so far. The threads at one
    character are in order of preference, with at most one for each place.
    """

    def __init__(self, tree: Any, num_groups: int) -> None:
        self._program: list[tuple[int, Any, tuple[int, ...]]] = [(_MATCH, None, ())]
        self._num_spans = 2 * (num_groups + 1)
        end = self._add(_SAVE, 1, 0)
        self._begin = self._add(_SAVE, 0, self._sequence(tree, tree.state.flags, end))

    def _add(self, kind: int, argument: Any, *following: int) -> int:
        self._program.append((kind, argument, following))
        return len(self._program) - 1

    def _sequence(self, tree: Any, flags: int, following: int) -> int:
        """Return the place where a sequence begins; it continues at ``following``."""
        for node in reversed(list(tree)):
            following = self._node(node, flags, following)
        return following

    def _node(self, node: Any, flags: int, following: int) -> int:
        kind, arguments = _kind(node), node[1]
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(arguments, flags, following, is_greedy=kind == "MAX_REPEAT")
        if kind == "SUBPATTERN":
            group, added, removed, part = arguments
            flags = (flags | added) & ~removed
            if group is None:
                return self._sequence(part, flags, following)
            closing = self._add(_SAVE, 2 * group + 1, following)
            return self._add(_SAVE, 2 * group, self._sequence(part, flags, closing))
        if kind == "BRANCH":
            ways = [self._sequence(part, flags, following) for part in arguments[1]]
            return self._add(_SPLIT, None, *ways)
        if kind == "AT":
            return self._add(_WHEN, _PLACES[str(arguments)], following)
        return self._add(_CHAR, _test(kind, arguments, flags), following)

    def _repeat(self, arguments: Any, flags: int, following: int, is_greedy: bool) -> int:
        least, most, part = int(arguments[0]), int(arguments[1]), arguments[2]

        def split(inside: int, outside: int) -> tuple[int, ...]:
            return (inside, outside) if is_greedy else (outside, inside)

        place = following
        if most == _UNBOUNDED:
            place = self._add(_SPLIT, None)
            inside = self._sequence(part, flags, place)
            self._program[place] = (_SPLIT, None, split(inside, following))
            if least:
                place, least = inside, least - 1
            elif part.getwidth()[0] == 0:
                # As in RE2, an empty iteration must not be taken for the entry into the loop.
                place = self._add(_SPLIT, None, *split(inside, following))
        else:
            for _ in range(most - least):
                inside = self._sequence(part, flags, place)
                place = self._add(_SPLIT, None, *split(inside, following))
        for _ in range(least):
            place = self._sequence(part, flags, place)
        return place

    def run(self, text: str, position: int, whole: bool) -> LinearMatch | None:
        """Return the preferred match: of the whole text, or the first one in it."""
        program = self._program
        nothing = (-1,) * self._num_spans
        best: tuple[int, ...] | None = None
        threads: list[tuple[int, tuple[int, ...]]] = []
        for here in range(position, len(text) + 1):
            alive: list[tuple[int, tuple[int, ...]]] = []
            seen: set[int] = set()
            if best is None and (here == position or not whole):
                threads = [*threads, (self._begin, nothing)]
            for place, spans in threads:
                self._follow(place, spans, text, here, seen, alive)
            threads = []
            for place, spans in alive:
                kind, test, following = program[place]
                if kind == _MATCH:
                    if whole and here < len(text):
                        continue
                    best = spans
                    break  # later threads are less preferred
                if here < len(text) and test(text[here]):
                    threads.append((following[0], spans))
            if not threads and (whole or best is not None):
                break
        return None if best is None else LinearMatch(text, best)

    def _follow(
        self,
        place: int,
        spans: tuple[int, ...],
        text: str,
        here: int,
        seen: set[int],
        alive: list[tuple[int, tuple[int, ...]]],
    ) -> None:
        """Add the places that can be reached without a character, in order of preference."""
        waiting = [(place, spans)]
        while waiting:
            place, spans = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            kind, argument, following = self._program[place]
            if kind == _SPLIT:
                waiting.extend((one, spans) for one in reversed(following))
            elif kind == _SAVE:
                saved = (*spans[:argument], here, *spans[argument + 1 :])
                waiting.append((following[0], saved))
            elif kind == _WHEN:
                if argument(text, here):
                    waiting.append((following[0], spans))
            else:
                alive.append((place, spans))


def _is_boundary(text: str, here: int) -> bool:
    before = here > 0 and _WORD.match(text[here - 1]) is not None
    after = here < len(text) and _WORD.match(text[here]) is not None
    return before != after


_PLACES: Final[dict[str, Callable[[str, int], bool]]] = {
    "AT_BEGINNING_STRING": lambda text, here: here == 0,
    "AT_END_STRING": lambda text, here: here == len(text),
    # Python's tree has these only for multiline patterns; otherwise they are translated.
    "AT_BEGINNING": lambda text, here: here == 0 or text[here - 1] == "\n",
    "AT_END": lambda text, here: here == len(text) or text[here] == "\n",
    "AT_BOUNDARY": _is_boundary,
    "AT_NON_BOUNDARY": lambda text, here: not _is_boundary(text, here),
}


def _test(kind: str, arguments: Any, flags: int) -> type_of_test:
    """Return whether a node accepts a character."""
    if kind == "ANY":
        return _anything if flags & re.DOTALL else _anything_in_line
    if kind in ("LITERAL", "NOT_LITERAL"):
        items = [("LITERAL", arguments)]
        negated = kind == "NOT_LITERAL"
    else:
        items = [(str(one[0]), one[1]) for one in arguments]
        negated = items[0][0] == "NEGATE"
        items = items[negated:]
    ranges = [(a, a) if kind == "LITERAL" else a for kind, a in items]
    ignores_case = bool(flags & re.IGNORECASE)

    def is_in(char: str) -> bool:
        code = ord(char)
        return any(low <= code <= high for low, high in ranges)

    def test(char: str) -> bool:
        found = is_in(char)
        if not found and ignores_case:
            found = any(len(one) == 1 and is_in(one) for one in (char.lower(), char.upper()))
        return found is not negated

    return test


def _anything(char: str) -> bool:
    return True


def _anything_in_line(char: str) -> bool:
    return char != "\n"
