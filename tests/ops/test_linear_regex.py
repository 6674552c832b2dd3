"""The machine finds what Python's re finds, in time that is linear in the text."""

from __future__ import annotations

import random
import re

import pytest

from tfnb.ops.linear_regex import BoundedPattern, _Machine
from tfnb.ops.re2_syntax import PatternError, compile_pattern

PATTERNS = (
    r"a", r"", r"a*", r"a+?b", r"(a|b)*c", r"(a|ab)(c|bcd)(d*)", r"(?:\A)a.b(?:\Z)", r"[^a-c]+",
    r"(?i:[a-c]B)+", r"(?m:^)b(?m:$)", r"(?s:a.b)", r"(?a:\b)a(?a:\B)", r"(a{2,3}){1,2}",
    r"(a*?)(b*)", r"(a)|(b)", r"x{3}", r"a{0,2}?b", r"((a)|b)+", r"[^\n]*b", r"(a+)(b+)?c?",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_are_those_of_re(pattern: str) -> None:
    """Spans and groups, searched from anywhere, and of the whole text."""
    quick = re.compile(pattern)
    slow = _Machine(re._parser.parse(pattern), quick.groups)  # type: ignore[attr-defined]
    numbers = random.Random(1)
    for _ in range(150):
        text = "".join(numbers.choices("aabbcdBx\n", k=numbers.randrange(8)))
        position = numbers.randrange(len(text) + 1)
        for wanted, found in (
            (quick.search(text, position), slow.run(text, position, whole=False)),
            (quick.fullmatch(text), slow.run(text, 0, whole=True)),
        ):
            assert (wanted is None) == (found is None), text
            if wanted is not None and found is not None:
                assert (found.start(), found.end()) == wanted.span(), text
                groups = [found.group(number) for number in range(1, quick.groups + 1)]
                assert groups == list(wanted.groups()), text


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|aa)+$", r"(a*)*b", r"([a-z]+)*=", r"(.*)(.*)(.*)(.*)(.*)y"]
)
def test_patterns_made_to_hurt_are_answered(pattern: str) -> None:
    """What re would try for longer than the universe is old."""
    compiled = compile_pattern(pattern)
    text = "a" * 300 + "!"
    assert compiled.fullmatch(text) is None
    assert compiled.search(text) is None
    assert (compiled.search("a" * 300 + "b=y") is None) == pattern.endswith("$")


def test_quick_patterns_stay_with_re() -> None:
    """A match of re is an object of re."""
    found = compile_pattern(r"\w+@\w+").search("mail me@there now")
    assert isinstance(found, re.Match)
    assert isinstance(BoundedPattern("a").fullmatch("a"), re.Match)


def test_counts_within_counts_are_limited() -> None:
    """Together at most 1000, as in RE2."""
    with pytest.raises(PatternError, match=r"invalid repetition size: \{1000\}"):
        compile_pattern("((a{1000}){1000}){1000}")
    assert compile_pattern("(a{10}){100}").fullmatch("a" * 1000) is not None
    assert compile_pattern("(a{2,3}){1,300}").fullmatch("a" * 601) is not None
