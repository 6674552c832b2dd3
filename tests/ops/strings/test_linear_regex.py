"""The matcher finds what Python's re finds, in time linear in the text."""

from __future__ import annotations

import random
import re
import sys
import threading

import pytest

import tfnb as tf
from tests.repeats import few
from tfnb.ops.strings.linear_regex import BoundedPattern, _Machine
from tfnb.ops.strings.re2_syntax import PatternError, compile_pattern

PATTERNS = (
    r"a", r"", r"a*", r"a+?b", r"(a|b)*c", r"(a|ab)(c|bcd)(d*)", r"(?:\A)a.b(?:\Z)", r"[^a-c]+",
    r"(?i:[a-c]B)+", r"(?m:^)b(?m:$)", r"(?s:a.b)", r"(?a:\b)a(?a:\B)", r"(a{2,3}){1,2}",
    r"(a*?)(b*)", r"(a)|(b)", r"x{3}", r"a{0,2}?b", r"((a)|b)+", r"[^\n]*b", r"(a+)(b+)?c?",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_are_those_of_re(pattern: str) -> None:
    """Spans and groups are compared, searching from any position, and matching the whole text."""
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
    """Patterns with exponential time in re are matched."""
    compiled = compile_pattern(pattern)
    text = "a" * 300 + "!"
    assert compiled.fullmatch(text) is None
    assert compiled.search(text) is None
    assert (compiled.search("a" * 300 + "b=y") is None) == pattern.endswith("$")


def test_quick_patterns_stay_with_re() -> None:
    """Simple patterns are matched by re."""
    found = compile_pattern(r"\w+@\w+").search("mail me@there now")
    assert isinstance(found, re.Match)
    assert isinstance(BoundedPattern("a").fullmatch("a"), re.Match)


def test_counts_within_counts_are_limited() -> None:
    """Nested counts multiply to at most 1000, as in RE2."""
    with pytest.raises(PatternError, match=r"invalid repetition size: \{1000\}"):
        compile_pattern("((a{1000}){1000}){1000}")
    assert compile_pattern("(a{10}){100}").fullmatch("a" * 1000) is not None
    assert compile_pattern("(a{2,3}){1,300}").fullmatch("a" * 601) is not None


@pytest.mark.parametrize(
    ("pattern", "text", "replaced"),
    [
        (r"((a)*)*", "aab", "<aa>b<>"),
        (r"(a*)+", "abaa", "<a>b<aa>"),
        (r"(a|b?)*", "ab", "<b>"),
        (r"(a?){2,}", "aab", "<a>b<>"),
        (r"(a*?)*", "ab", "<>a<>b<>"),
        (r"(|a)+", "aa", "<>a<>a<>"),
        (r"(?:(a*)|b)*", "bab", "<>b<a>"),
        (r"(\b|a)*", "aab", "<>a<a>b<>"),
        (r"(|a){0,3}b", "ab", "<a>"),
    ],
)
def test_a_loop_of_what_may_be_empty_gives_what_tensorflow_gives(
    pattern: str, text: str, replaced: str
) -> None:
    """An empty iteration changes no group, and is not taken if another one is possible."""
    with tf.Graph().as_default(), tf.Session() as sess:
        for size in (1, 7):  # short texts and long ones
            found = sess.run(tf.strings.regex_replace("\n".join([text] * size), pattern, r"<\1>"))
            assert found.decode() == "\n".join([replaced] * size)


@pytest.mark.parametrize(
    ("inside", "end", "replaced"),
    [
        ("(", ")", b"b<a>"),
        ("(?:", ")", b"ba"),
        ("(", ")*", b"<>b<a>"),
        ("(", ")??", b"<>b<>a<>"),
        ("(b|", ")", b"<b><a>"),
        ("(b?", ")", b"<ba>"),
        ("(?i:", ")", b"ba"),
    ],
)
def test_a_thousand_groups_in_each_other_are_read(inside: str, end: str, replaced: bytes) -> None:
    """Nested groups are parsed in a thread, and the stack limit is restored."""
    before = sys.getrecursionlimit()
    pattern = inside * 1000 + "a" + end * 1000
    found: list[object] = []

    def ask() -> None:
        with tf.Graph().as_default(), tf.Session() as sess:
            found.append(sess.run(tf.strings.regex_replace("ba", pattern, rewrite)))

    rewrite = r"\0" if "?" in inside[1:2] else r"<\1>"
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [replaced] * 2
    assert sys.getrecursionlimit() == before


@pytest.mark.slow
@pytest.mark.parametrize("inside", few(["(", "(a|", "(?i:(?-i)", "(?i:"], 1))
def test_groups_nested_without_end_are_refused(inside: str) -> None:
    """Too deep nesting is an error and does not end the process; accepted patterns are matched."""
    with pytest.raises(PatternError, match="groups are nested deeper than"):
        compile_pattern(inside * 4001 + "a" + ")*" * 4001)
    compiled = compile_pattern(inside * 4000 + "a" + ")*" * 4000)
    assert compiled.fullmatch("aa") is not None
    assert compiled.search("b") is not None
