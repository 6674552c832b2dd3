r"""RE2's regular expressions, translated to those of Python's ``re``.

The two syntaxes agree in most patterns. Differences are rewritten here: ``$`` is the very end of
the text, ``\z``, ``\Q...\E``, ``\pL``, ``\x{...}`` and ``[[:alpha:]]`` exist, flags may be set in
the middle, and ``(?U)`` exchanges greedy and lazy. As in RE2, lookaround, backreferences,
possessive repetitions and counts above 1000 are refused. Texts are matched as UTF-8.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

from tfnb.ops.strings.linear_regex import BoundedPattern

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
# RE2's \s has no vertical tab.
_PERL = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}
_CONTROL = {
    "a": r"\x07", "f": r"\f", "n": r"\n", "r": r"\r", "t": r"\t", "v": r"\x0b",
}  # fmt: skip
_MAX_REPEAT = 1000
# Maximum depth of nested groups; RE2 accepts more.
_MAX_DEPTH = 4000
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]*))?([:)])")
_NAMED = re.compile(r"\(\?P<\w+>")


_TOO_DEEP = "groups are nested deeper than Python's stack has room for"


class PatternError(ValueError):
    """A pattern that RE2 does not accept; the message is RE2's."""


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> BoundedPattern:
    """Return the pattern for Python, to be applied to text decoded from UTF-8.

    Raises:
      PatternError: RE2 does not accept the pattern.
    """
    translated = _Translator(pattern).translate()
    try:
        compiled = BoundedPattern(translated)
    except re.error as error:
        raise PatternError(f"bad pattern: {error}") from error
    except RecursionError:
        raise PatternError(_TOO_DEEP) from None
    size = compiled.repetition_size()
    if size:
        raise PatternError(f"invalid repetition size: {{{size}}}")
    return compiled


class _Translator:
    """A translator that reads one pattern from left to right.

    Attributes:
      flags: the active flags: i, m, s, U.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.out: list[str] = []
        self.flags: frozenset[str] = frozenset()
        # The flags outside each open group, and the number of additional groups to close with it.
        self.stack: list[tuple[frozenset[str], int]] = []
        self.extra = 0
        self.repeatable = False

    def translate(self) -> str:
        """Return the whole pattern."""
        while self.position < len(self.pattern):
            self._step()
        if self.stack:
            raise PatternError(f"missing ): {self.pattern}")
        return "".join(self.out) + ")" * self.extra

    def _step(self) -> None:
        char = self.pattern[self.position]
        if char == "\\":
            self._escape()
        elif char == "[":
            self.position, text = _class(self.pattern, self.position)
            self._atom(text)
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char in "*+?" or (char == "{" and _REPEAT.match(self.pattern, self.position)):
            self._repeat()
        else:
            self.position += 1
            if char == "|":
                self.out.append("|")
                self.repeatable = False
                self._restart_flags()
            elif char == ".":
                self._atom("(?s:.)" if "s" in self.flags else "[^\\n]")
            elif char == "^":
                self._atom("(?m:^)" if "m" in self.flags else r"(?:\A)")
            elif char == "$":
                self._atom("(?m:$)" if "m" in self.flags else r"(?:\Z)")
            else:
                self._atom(re.escape(char))

    def _atom(self, text: str) -> None:
        self.out.append(text)
        self.repeatable = True

    def _escape(self) -> None:
        pattern = self.pattern
        if self.position + 1 >= len(pattern):
            raise PatternError("trailing \\")
        char = pattern[self.position + 1]
        if char == "Q":
            end = pattern.find("\\E", self.position + 2)
            end = len(pattern) if end < 0 else end
            for one in pattern[self.position + 2 : end]:
                self._atom(re.escape(one))
            self.position = min(end + 2, len(pattern))
        elif char in "AzbB":
            # \b and \B are ASCII only.
            self._atom({"A": r"(?:\A)", "z": r"(?:\Z)", "b": r"(?a:\b)", "B": r"(?a:\B)"}[char])
            self.position += 2
        elif char == "C":
            self._atom("(?s:.)")
            self.position += 2
        else:
            self.position, text, is_set = _escaped(pattern, self.position)
            self._atom(f"[{text}]" if is_set else text)

    def _open(self) -> None:
        pattern, start = self.pattern, self.position
        if not pattern.startswith("(?", start):
            self.out.append("(")
            self.position += 1
            self._push()
            return
        named = _NAMED.match(pattern, start)
        if named:
            # Groups are only referenced by number, and names may occur twice.
            self.out.append("(")
            self.position = named.end()
            self._push()
            return
        found = _FLAGS.match(pattern, start)
        if found is None or (found.group(2) == "" and not found.group(1)):
            raise PatternError(f"invalid perl operator: {pattern[start : start + 3]}")
        wanted = (self.flags | set(found.group(1))) - set(found.group(2) or "")
        self.position = found.end()
        if found.group(3) == ":":
            self.out.append("(?:")
            self._push()
            self._set_flags(wanted)
        else:
            self._set_flags(wanted)
        self.repeatable = False

    def _push(self) -> None:
        if len(self.stack) == _MAX_DEPTH:
            raise PatternError(_TOO_DEEP)
        self.stack.append((self.flags, self.extra))
        self.extra = 0
        self.repeatable = False
        if "i" in self.flags:
            self.out.append("(?i:")
            self.extra = 1

    def _set_flags(self, flags: frozenset[str]) -> None:
        if ("i" in flags) != ("i" in self.flags):
            self.out.append("(?i:" if "i" in flags else "(?-i:")
            self.extra += 1
        self.flags = frozenset(flags)

    def _restart_flags(self) -> None:
        """Reopen the groups of flags that were set in the middle.

        An alternative ends these groups.
        """
        if self.extra:
            self.out[-1] = ")" * self.extra + "|"
            self.out.append("(?i:" if "i" in self.flags else "(?:")
            self.extra = 1

    def _close(self) -> None:
        if not self.stack:
            raise PatternError(f"unexpected ): {self.pattern}")
        self.out.append(")" * self.extra + ")")
        self.flags, self.extra = self.stack.pop()
        self.position += 1
        self.repeatable = True

    def _repeat(self) -> None:
        pattern, start = self.pattern, self.position
        if not self.repeatable:
            raise PatternError(f"no argument for repetition operator: {pattern[start]}")
        counted = _REPEAT.match(pattern, start)
        if counted:
            low = int(counted.group(1))
            high = int(counted.group(3)) if counted.group(3) else low
            if max(low, high) > _MAX_REPEAT or high < low:
                raise PatternError(f"invalid repetition size: {counted.group()}")
            end = counted.end()
        else:
            end = start + 1
        text = pattern[start:end]
        lazy = pattern.startswith("?", end)
        end += lazy
        again = _REPEAT.match(pattern, end)
        if again or pattern[end : end + 1] in ("*", "+", "?"):
            second = again.group() if again else pattern[end]
            raise PatternError(f"bad repetition operator: {pattern[start:end]}{second}")
        if "U" in self.flags:
            lazy = not lazy
        self.out.append(f"{text}?" if lazy else text)
        self.position = end
        self.repeatable = False


def _escaped(pattern: str, start: int) -> tuple[int, str, bool]:
    """Parse the text after a backslash.

    Returns its end, a text for Python, and whether it is a set.
    """
    if start + 1 >= len(pattern):
        raise PatternError("trailing \\")
    char = pattern[start + 1]
    if char in _CONTROL:
        return start + 2, _CONTROL[char], False
    if char in "dsw":
        return start + 2, _PERL[char], True
    if char in "DSW":
        return start + 2, "^" + _PERL[char.lower()], True
    if char in "pP":
        return _unicode_set(pattern, start)
    if char == "x":
        found = re.compile(r"\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))").match(pattern, start)
        if found is None or int(found.group(1) or found.group(2), 16) > sys.maxunicode:
            raise PatternError(f"invalid escape sequence: {pattern[start : start + 4]}")
        return found.end(), re.escape(chr(int(found.group(1) or found.group(2), 16))), False
    octal = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})").match(pattern, start)
    if octal:
        return octal.end(), re.escape(chr(int(octal.group(1), 8))), False
    if char.isalnum() and char.isascii():
        raise PatternError(f"invalid escape sequence: \\{char}")
    return start + 2, re.escape(char), False


def _unicode_set(pattern: str, start: int) -> tuple[int, str, bool]:
    found = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))").match(pattern, start)
    if found is None:
        raise PatternError(f"invalid character class range: {pattern[start : start + 3]}")
    letter, caret, long_name, short_name = found.groups()
    negated = (letter == "P") != bool(caret)
    name = long_name or short_name
    members = _members_of(name)
    if members is None:
        raise PatternError(f"invalid character class range: {found.group()}")
    return found.end(), ("^" if negated else "") + members, True


@lru_cache(maxsize=64)
def _members_of(name: str) -> str | None:
    """Return the characters of a Unicode category or script, as ranges."""
    from tfnb.ops.strings.unicode_scripts import SCRIPT_NAMES, script_ranges

    if name == "Any":
        return r"\x00-\U0010ffff"
    if name in SCRIPT_NAMES:
        ranges = script_ranges(name)
    elif len(name) <= 2 and name[0] in "CLMNPSZ":
        ranges = []
        for code in range(sys.maxunicode + 1):
            if unicodedata.category(chr(code)).startswith(name):
                if ranges and ranges[-1][1] == code - 1:
                    ranges[-1] = (ranges[-1][0], code)
                else:
                    ranges.append((code, code))
    else:
        return None
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) or None


def _class(pattern: str, start: int) -> tuple[int, str]:
    """Return the end of a character class, and the class for Python."""
    position = start + 1
    negated = pattern.startswith("^", position)
    position += negated
    parts: list[str] = []
    first = True
    while True:
        if position >= len(pattern):
            raise PatternError(f"missing ]: {pattern[start:]}")
        if pattern[position] == "]" and not first:
            break
        first = False
        posix = re.compile(r"\[:(\^?)(\w+):\]").match(pattern, position)
        if posix:
            if posix.group(2) not in _POSIX:
                raise PatternError(f"invalid character class range: {posix.group()}")
            parts.append(("^" if posix.group(1) else "") + _POSIX[posix.group(2)])
            position = posix.end()
            continue
        position, low, is_set = _class_member(pattern, position)
        if is_set or not re.compile(r"-[^\]]").match(pattern, position):
            parts.append(low)
            continue
        range_start = position
        position, high, is_set = _class_member(pattern, position + 1)
        if is_set or _plain(low) > _plain(high):
            raise PatternError(
                f"invalid character class range: {pattern[range_start - 1 : position]}"
            )
        parts.append(f"{low}-{high}")
    return position + 1, _joined_class(parts, negated)


def _class_member(pattern: str, position: int) -> tuple[int, str, bool]:
    if position >= len(pattern):
        raise PatternError(f"missing ]: {pattern}")
    if pattern[position] == "\\":
        return _escaped(pattern, position)
    return position + 1, _quoted(pattern[position]), False


def _quoted(char: str) -> str:
    """Return a character inside a class, with a backslash if Python could read it as syntax."""
    return f"\\{char}" if char in "\\]^-[&|~" else char


def _plain(text: str) -> str:
    found: str = re.sub(
        r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), text
    )
    return found


def _joined_class(parts: list[str], negated: bool) -> str:
    """Return one class for several; a negated set among others needs an alternative of its own."""
    plain = "".join(part for part in parts if not part.startswith("^"))
    outside = [part for part in parts if part.startswith("^")]
    if not outside:
        return f"[^{plain}]" if negated else f"[{plain}]"
    if not negated:
        choices = [f"[{part}]" for part in outside] + ([f"[{plain}]"] if plain else [])
        return f"(?:{'|'.join(choices)})"
    # In none of them: a character that all the negated classes exclude.
    inside = "".join(f"(?=[{part[1:]}])" for part in outside)
    return f"(?:{inside}[^{plain}])" if plain else f"(?:{inside}(?s:.))"
