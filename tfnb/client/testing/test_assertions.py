"""Assertions of ``tf.test.TestCase`` about containers, numbers and dtypes."""

# ruff: noqa: PT009 - this is unittest, and its assertions are not stripped by python -O

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.testing.structure_assertions import StructureAssertions
from tfnb.core import dtypes, errors
from tfnb.core.versions import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized


class MoreAssertions(StructureAssertions):
    """The assertions of absl's and TensorFlow's test cases that programs' tests use."""

    if TYPE_CHECKING:  # the attributes of tf.test.TestCase
        assertProtoEquals: Any
        assertRaisesWithPredicateMatch: Any
        evaluate: Any

    def assertProtoEqualsVersion(
        self,
        expected: Any,
        actual: Any,
        producer: int = GRAPH_DEF_VERSION,
        min_consumer: int = GRAPH_DEF_VERSION_MIN_CONSUMER,
        msg: str | None = None,
    ) -> None:
        """Refuse a GraphDef that differs from a text, to which versions are added.

        Args:
          expected: the text of the graph without its versions.
          actual: the GraphDef.
          producer: the version of the program that made it.
          min_consumer: the oldest version that may read it.
          msg: the failure message.
        """
        versions = f"versions {{ producer: {producer} min_consumer: {min_consumer} }};"
        self.assertProtoEquals(f"{versions}\n{expected}", actual, msg=msg)

    def assertRaisesIncompatibleShapesError(
        self, exception_type: Any = errors.InvalidArgumentError
    ) -> Any:
        """Refuse code that does not raise an error about incompatible shapes."""
        return self.assertRaisesWithPredicateMatch(
            exception_type,
            "Incompatible shapes|Dimensions must be equal|required broadcastable shapes",
        )

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> Any:
        """Return the values of two tensors; other arguments unchanged."""
        are_tensors = isinstance(a, Tensor) and isinstance(b, Tensor)
        return self.evaluate((a, b)) if are_tensors else (a, b)

    def record_property(self, property_name: str, property_value: Any) -> None:
        """Record a property of the test, or of its running subtest."""
        self._properties.setdefault(self._part(), {})[property_name] = property_value

    def get_recorded_properties(self, subtest: Any = None) -> dict[str, Any]:
        """Return the recorded properties.

        Args:
          subtest: the subtest whose properties are returned; by default, those of the test and of
            the running subtest.
        """
        if subtest:
            return dict(self._properties.get(subtest.id(), {}))
        return {**self._properties.get("", {}), **self._properties.get(self._part(), {})}

    @property
    def _properties(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = vars(self).setdefault("_recorded_properties", {})
        return found

    def _part(self) -> str:
        part = getattr(self, "_subtest", None)
        return str(part.id()) if part else ""

    def assertEmpty(self, container: Sized, msg: str | None = None) -> None:
        """Refuse a container with elements."""
        self.assertEqual(len(container), 0, msg or f"{container!r} has length of {len(container)}")

    def assertNotEmpty(self, container: Sized, msg: str | None = None) -> None:
        """Refuse a container without elements."""
        self.assertNotEqual(len(container), 0, msg or f"{container!r} has length of 0")

    def assertLen(self, container: Sized, expected_len: int, msg: str | None = None) -> None:
        """Refuse a container with another number of elements."""
        found = len(container)
        self.assertEqual(
            found, expected_len, msg or f"{container!r} has length of {found}, not {expected_len}"
        )

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """Refuse a value outside of a range that includes its bounds."""
        self.assertTrue(
            minv <= value <= maxv, msg or f"{value!r} is not between {minv!r} and {maxv!r}"
        )

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: str | None = None
    ) -> None:
        """Refuse a set that lacks some elements."""
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, msg or f"missing elements: {missing!r}")

    def assertNoCommonElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Refuse sequences that share an element."""
        common = set(expected_seq) & set(actual_seq)
        self.assertFalse(common, msg or f"common elements: {common!r}")

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Refuse sequences with different sets of elements."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """Refuse text with another end."""
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r}: {expected_end!r}")

    def assertRegexMatch(
        self, actual_str: str, regexes: Iterable[str], message: str | None = None
    ) -> None:
        """Refuse text that matches none of some patterns."""
        patterns = list(regexes)
        self.assertTrue(
            any(re.search(pattern, actual_str) for pattern in patterns),
            message or f"{actual_str!r} does not contain any of {patterns!r}",
        )

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Iterable[float],
        actual_seq: Iterable[float],
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """Refuse sequences with numbers that are not almost equal."""
        expected, actual = list(expected_seq), list(actual_seq)
        self.assertEqual(len(expected), len(actual), msg)
        for one, other in zip(expected, actual, strict=True):
            # Only one of the two may be given.
            if delta is not None:
                self.assertAlmostEqual(one, other, msg=msg, delta=delta)
            else:
                self.assertAlmostEqual(one, other, places, msg)

    def assertUnique(self, elements: Iterable[Any], msg: str | None = None) -> None:
        """Refuse elements that occur twice."""
        found = list(elements)
        twice = [one for index, one in enumerate(found) if one in found[:index]]
        self.assertFalse(twice, msg or f"more than once: {twice!r}")

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Refuse an array or tensor of another dtype."""
        found = target.dtype if hasattr(target, "dtype") else np.asarray(target).dtype
        self.assertEqual(dtypes.as_dtype(found).name, dtypes.as_dtype(expected_dtype).name)

    def assertAllFinite(self, a: Any) -> None:
        """Refuse an array with an infinity or NaN."""
        array = self._array(a)
        self.assertTrue(np.all(np.isfinite(array)), f"not finite: {array[~np.isfinite(array)]!r}")

    def assertAllNan(self, a: Any) -> None:
        """Refuse an array with any value but NaN."""
        array = self._array(a)
        self.assertTrue(np.all(np.isnan(array)), f"not NaN: {array[~np.isnan(array)]!r}")

    def _array(self, value: Any) -> Any:
        """Return a value as an array."""
        return np.asarray(value)
