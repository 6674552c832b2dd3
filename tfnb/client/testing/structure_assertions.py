"""Assertions of ``tf.test.TestCase`` about sequences, structures, order, and output."""

# ruff: noqa: PT009, PT027 - this is unittest, and its assertions are not stripped by python -O

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import subprocess
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib import parse

if TYPE_CHECKING:
    from collections.abc import Iterator


class StructureAssertions(unittest.TestCase):
    """The assertions of absl's test cases that programs' tests use, second part."""

    def assertSequenceStartsWith(self, prefix: Any, whole: Any, msg: str | None = None) -> None:
        """Refuse a sequence with another beginning; an empty prefix fits an empty sequence only."""
        wanted = list(prefix) if isinstance(prefix, Sequence) else [prefix]
        if not wanted and len(whole):
            self.fail(msg or f"Prefix length is 0 but whole length is {len(whole)}: {whole!r}")
        found = list(whole[: len(wanted)])
        self.assertEqual(
            wanted, found, msg or f"prefix: {prefix!r} not found at start of {whole!r}"
        )

    def assertContainsSubsequence(
        self, container: Any, subsequence: Any, msg: str | None = None
    ) -> None:
        """Refuse a sequence that lacks some elements, or has them in another order."""
        rest = iter(container)
        for element in subsequence:
            if not any(element == one for one in rest):
                self.fail(
                    msg
                    or f"{subsequence!r} not a subsequence of {container!r}. First non-matching "
                    f"element: {element!r}"
                )

    def assertContainsExactSubsequence(
        self, container: Any, subsequence: Any, msg: str | None = None
    ) -> None:
        """Refuse a sequence that does not contain some elements one directly after the other."""
        whole, part = list(container), list(subsequence)
        places = range(len(whole) - len(part) + 1)
        is_there = any(whole[place : place + len(part)] == part for place in places)
        self.assertTrue(is_there, msg or f"{part!r} not an exact subsequence of {whole!r}")

    def assertContainsInOrder(self, strings: Any, target: str, msg: str | None = None) -> None:
        """Refuse a text that lacks some texts, or has them in another order."""
        wanted: list[str] = [strings] if isinstance(strings, str) else list(strings)
        place = 0
        for text in wanted:
            found = target.find(text, place)
            if found < 0:
                self.fail(msg or f"Did not find {text!r} behind place {place} of {target!r}")
            place = found + len(text)

    def assertTotallyOrdered(self, *groups: Any, **kwargs: Any) -> None:
        """Refuse groups of equal values that are not in ascending order."""
        msg = kwargs.get("msg")
        for index, group in enumerate(groups):
            for one, other in itertools.product(group, group):
                self.assertTrue(one == other and one <= other and not one < other, msg)
            for later in groups[index + 1 :]:
                for one, other in itertools.product(group, later):
                    is_less = one < other and one <= other and one != other and other > one
                    self.assertTrue(is_less, msg or f"{one!r} is not less than {other!r}")

    def assertNotStartsWith(
        self, actual: str, unexpected_start: str, msg: str | None = None
    ) -> None:
        """Refuse a text with this beginning."""
        self.assertFalse(actual.startswith(unexpected_start), msg or f"{actual!r} starts so")

    def assertNotEndsWith(self, actual: str, unexpected_end: str, msg: str | None = None) -> None:
        """Refuse a text with this end."""
        self.assertFalse(actual.endswith(unexpected_end), msg or f"{actual!r} ends so")

    def assertIsSubclass(self, cls: type, superclass: Any, msg: str | None = None) -> None:
        """Refuse a class that is not derived from another."""
        self.assertTrue(issubclass(cls, superclass), msg or f"{cls!r}, {superclass!r}")

    def assertNotIsSubclass(self, cls: type, superclass: Any, msg: str | None = None) -> None:
        """Refuse a class that is derived from another."""
        self.assertFalse(issubclass(cls, superclass), msg or f"{cls!r}, {superclass!r}")

    def assertDictAlmostEqual(
        self,
        a: Mapping[Any, Any],
        b: Mapping[Any, Any],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """Refuse dictionaries with other keys, or values that are not almost equal."""
        self.assertEqual(set(a), set(b), msg)
        options: dict[str, Any] = {"places": places, "delta": delta, "msg": msg}
        for key, value in a.items():
            if isinstance(value, float | int) and not isinstance(value, bool):
                self.assertAlmostEqual(value, b[key], **options)
            else:
                self.assertEqual(value, b[key], msg)

    def assertMappingEqual(
        self,
        a: Any,
        b: Any,
        msg: str | None = None,
        mapping_type: Any = Mapping,
        check_values_equality: Any = lambda x, y: (x == y, None),
    ) -> None:
        """Refuse mappings with other keys or values, compared by a function."""
        for one in (a, b):
            self.assertIsInstance(one, mapping_type, msg)
        self.assertEqual(set(a), set(b), msg)
        different = [key for key in a if not check_values_equality(a[key], b[key])[0]]
        self.assertFalse(different, msg or f"values differ for {different!r}")

    def assertDataclassEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """Refuse dataclasses of other types or fields."""
        self.assertIs(type(first), type(second), msg)
        self.assertEqual(first, second, msg)

    def assertUrlEqual(self, a: str, b: str, msg: str | None = None) -> None:
        """Refuse URLs that differ in more than the order of the query."""
        first, second = parse.urlparse(a), parse.urlparse(b)
        for part in ("scheme", "netloc", "path", "fragment"):
            self.assertEqual(getattr(first, part), getattr(second, part), msg)
        self.assertCountEqual(first.params.split(";"), second.params.split(";"), msg)
        asked = parse.parse_qs(first.query, keep_blank_values=True)
        self.assertEqual(asked, parse.parse_qs(second.query, keep_blank_values=True), msg)

    def assertJsonEqual(self, first: str, second: str, msg: str | None = None) -> None:
        """Refuse JSON texts with different values."""
        values = []
        for place, text in (("first", first), ("second", second)):
            try:
                values.append(json.loads(text))
            except ValueError as error:
                raise ValueError(
                    self._formatMessage(msg, f"could not decode {place} JSON value {text}: {error}")
                ) from error
        self.assertSameStructure(values[0], values[1], "first", "second", msg)

    def assertSameStructure(
        self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: str | None = None
    ) -> None:
        """Refuse nested lists and dictionaries that differ; the message says where."""
        problems = list(_differences(a, b, aname, bname))
        if problems:
            self.fail(self._formatMessage(msg, "; ".join(problems[:8])))

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: Any,
        expected_exception_message: str,
        callable_obj: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Refuse code that does not raise an error with exactly this text."""
        pattern = re.escape(expected_exception_message) + r"\Z"
        context = self._raises_exactly(expected_exception, pattern)
        if callable_obj is None:
            return context
        with context:
            callable_obj(*args, **kwargs)
        return None

    @contextlib.contextmanager
    def _raises_exactly(self, kind: Any, pattern: str) -> Iterator[None]:
        with self.assertRaises(kind) as caught:
            yield
        self.assertRegex(str(caught.exception), r"\A" + pattern)

    # -- commands and files ------------------------------------------------------------------------

    def assertCommandSucceeds(
        self,
        command: Any,
        regexes: Any = (b"",),
        env: Any = None,
        close_fds: bool = True,
        msg: str | None = None,
    ) -> None:
        """Refuse a command that fails, or whose error output matches none of some patterns."""
        code, text = _run(command, env, close_fds)
        self.assertEqual(code, 0, msg or f"{command!r} failed with {code}: {text!r}")
        self._check_output(text, regexes, msg)

    def assertCommandFails(
        self,
        command: Any,
        regexes: Any,
        env: Any = None,
        close_fds: bool = True,
        msg: str | None = None,
    ) -> None:
        """Refuse a command that succeeds, or fails with another text."""
        code, text = _run(command, env, close_fds)
        self.assertNotEqual(code, 0, msg or f"{command!r} succeeded")
        self._check_output(text, regexes, msg)

    def _check_output(self, text: bytes, regexes: Any, msg: str | None) -> None:
        patterns = [one.encode() if isinstance(one, str) else one for one in regexes]
        is_found = any(re.search(pattern, text) for pattern in patterns)
        self.assertTrue(is_found, msg or f"none of {patterns!r} is in {text!r}")

    def create_tempdir(self, name: str | None = None, cleanup: Any = None) -> Any:
        """Return a new directory, which is removed after the test; ``full_path`` is its path."""
        folder = tempfile.mkdtemp(prefix=f"{type(self).__name__}_")
        self.addCleanup(_remove_tree, folder)
        path = os.path.join(folder, name) if name else folder
        os.makedirs(path, exist_ok=True)
        return _TemporaryPath(path)

    def create_tempfile(
        self,
        file_path: str | None = None,
        content: Any = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
        cleanup: Any = None,
    ) -> Any:
        """Return a new file, which is removed after the test; ``full_path`` is its path."""
        path = os.path.join(self.create_tempdir().full_path, file_path or "file")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = content or ""
        if isinstance(data, str):
            data = data.encode(encoding, errors)
        Path(path).write_bytes(data)
        return _TemporaryPath(path)

    def enter_context(self, manager: Any) -> Any:
        """Enter a context manager until the test ends, and return its value."""
        return self.enterContext(manager)

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:
        """Return a context that captures the writes to a stream; read ``contents()`` afterwards."""
        kept = io.StringIO()
        write = stream.write
        try:
            stream.write = kept.write
            yield _Captured(kept)
        finally:
            stream.write = write


class _Captured:
    def __init__(self, kept: io.StringIO) -> None:
        self._kept = kept

    def contents(self) -> str:
        """Return the written text."""
        return self._kept.getvalue()


class _TemporaryPath:
    """A path of a test."""

    def __init__(self, path: str) -> None:
        self.full_path = path

    def __fspath__(self) -> str:
        return self.full_path

    def read_text(self, encoding: str = "utf8", errors: str = "strict") -> str:
        """Return the contents of the file."""
        return Path(self.full_path).read_text(encoding, errors)

    def write_text(self, text: str, encoding: str = "utf8", errors: str = "strict") -> None:
        """Replace the contents of the file."""
        Path(self.full_path).write_text(text, encoding, errors)


def _remove_tree(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _run(command: Any, env: Any, close_fds: bool) -> tuple[int, bytes]:
    done = subprocess.run(
        command,
        shell=isinstance(command, str | bytes),
        env={} if env is None else env,
        close_fds=close_fds,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def _differences(a: Any, b: Any, aname: str, bname: str) -> Iterator[str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in a:
            if key not in b:
                yield f"{aname} has [{key!r}] with value {a[key]!r} but it's missing in {bname}"
            else:
                yield from _differences(a[key], b[key], f"{aname}[{key!r}]", f"{bname}[{key!r}]")
        yield from (f"{aname} lacks [{key!r}] but {bname} has it" for key in b if key not in a)
        return
    are_lists = all(
        isinstance(one, Sequence) and not isinstance(one, str | bytes) for one in (a, b)
    )
    if are_lists:
        for index, (one, other) in enumerate(zip(a, b)):
            yield from _differences(one, other, f"{aname}[{index}]", f"{bname}[{index}]")
        if len(a) != len(b):
            yield f"{aname} has {len(a)} elements, but {bname} has {len(b)}"
    elif a != b:
        yield f"{aname} is {a!r} but {bname} is {b!r}"
