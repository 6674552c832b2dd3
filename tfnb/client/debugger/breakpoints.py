"""Breakpoints: the places and conditions at which a step stops.

A condition is a word (``nan``, ``inf``, ``dead``), a comparison (``max > 3``, ``abs max >= 1e6``,
``== 0``), or a Python function of the :class:`~tfnb.client.debugger.stop.Stop`. Text is matched
against a pattern and never evaluated.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import array_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.debugger.stop import Stop

EXPORTS = {"debugger": ["Breakpoint"]}

type_of_condition = "str | Callable[[Stop], bool]"

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_STATISTICS: dict[str, Callable[[Any], Any]] = {
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "abs max": lambda array: np.max(np.abs(array)),
    "": lambda array: array,
}
# The statistics with less overhead, for arrays of integers or floats.
_QUICK_STATISTICS: dict[str, Callable[[Any, Any, float], Any]] = {
    "min": lambda array, compare, bound: compare(array.min(), bound),
    "max": lambda array, compare, bound: compare(array.max(), bound),
    "mean": lambda array, compare, bound: compare(array.mean(), bound),
    "abs max": lambda array, compare, bound: compare(np.abs(array).max(), bound),
    "": lambda array, compare, bound: compare(array, bound).any(),
}
_FLOATS = (np.float32, np.float64, np.float16)
_INTEGERS = (np.int32, np.int64, np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64)
_PATTERN = re.compile(
    r"\s*(abs\s+max|min|max|mean|)\s*(<=|>=|==|!=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*",
    re.IGNORECASE,
)
_HELP = (
    "a condition is nan, inf, 'nan or inf', dead, a comparison like 'max > 3', 'abs max >= 1e6', "
    "'mean < 0', '== 0' (any element), or a Python function of the stop"
)


@dataclass(slots=True, eq=False)
class Breakpoint:
    """A place where steps stop.

    A criterion that is not given matches every node.

    Attributes:
      node: a node's name, or a pattern with ``*`` and ``?``.
      op: an op type, or a pattern.
      frame: the name of a loop's frame, or a pattern.
      iteration: the number of an iteration of that frame, from 0.
      condition: the condition on the node's outputs; see the module.
      once: whether the breakpoint is removed after its first hit.
      enabled: whether steps stop at it.
      hits: how often steps stopped at it.
      number: its number in its debugger, from 1.
      problem: the error that its function raised; the breakpoint is then disabled.
    """

    node: str = ""
    op: str = ""
    frame: str = ""
    iteration: int | None = None
    condition: Any = None
    once: bool = False
    enabled: bool = True
    hits: int = 0
    number: int = 0
    problem: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.condition, str):
            parse_condition(self.condition)  # refuses a text that is not a condition
        elif self.condition is not None and not callable(self.condition):
            raise TypeError(f"{self.condition!r} is no condition: {_HELP}")

    @property
    def looks_at_values(self) -> bool:
        """Whether its condition is checked after the node has run."""
        return self.condition is not None

    def fits(self, node: str, op: str, frame: str, iteration: int) -> bool:
        """Return whether it matches a node in an iteration of a frame."""
        return (
            (not self.node or self.node == node or fnmatchcase(node, self.node))
            and (not self.op or self.op == op or fnmatchcase(op, self.op))
            and (not self.frame or self.frame == frame or fnmatchcase(frame, self.frame))
            and (self.iteration is None or self.iteration == iteration)
        )

    def is_met(self, stop: Stop) -> bool:
        """Return whether its condition holds; an error of its function disables it."""
        condition = self.condition
        if condition is None:
            return True
        try:
            if callable(condition):
                return bool(condition(stop))
            return parse_condition(condition)(stop)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
            self.enabled = False
            return False

    def __str__(self) -> str:
        parts = [self.node and f"node {self.node}", self.op and f"op {self.op}"]
        parts += [self.frame and f"frame {self.frame}"]
        parts += [f"iteration {self.iteration}" if self.iteration is not None else ""]
        condition = self.condition
        if condition is not None:
            name = getattr(condition, "__name__", "a function")
            parts.append(f"if {condition if isinstance(condition, str) else name}")
        parts += ["once" if self.once else "", "" if self.enabled else "off"]
        text = ", ".join(part for part in parts if part) or "every node"
        problem = f" ({self.problem})" if self.problem else ""
        return f"{text}{problem}"


def parse_condition(text: str) -> Callable[[Stop], bool]:
    """Parse the text of a condition into a function.

    Raises:
      ValueError: the text is not a condition.
    """
    found = value_test(text)
    if found is None:
        return lambda stop: stop.is_dead
    test, _ = found
    return lambda stop: test(stop.output_values)


type_of_quick_test = dict[type, "Callable[[Any], bool | None]"]


def value_test(text: str) -> tuple[Callable[[Sequence[Any]], bool], type_of_quick_test] | None:
    """Parse the text of a condition on values into tests.

    Returns:
      A test of several values, and, by the class of the value, quick tests of one value. A quick
      test returns None if only the other test can decide. None for the condition ``dead``.

    Raises:
      ValueError: the text is not a condition.
    """
    words = " ".join(text.lower().split())
    if words == "dead":
        return None
    named: dict[str, Callable[[Any], Any]] = {
        "nan": np.isnan,
        "inf": np.isinf,
        "nan or inf": lambda array: ~np.isfinite(array),
        "inf or nan": lambda array: ~np.isfinite(array),
    }
    if words in named:
        test = named[words]
        return (
            lambda values: any(bool(np.any(test(one))) for one in _inexact(values)),
            _quick_tests(
                (lambda value: value != value) if words == "nan" else test,
                lambda value: False,
                lambda array: array.dtype.kind == "f" and test(array).any(),
            ),
        )
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no condition: {_HELP}")
    name = " ".join(found[1].lower().split())
    statistic, quick = _STATISTICS[name], _QUICK_STATISTICS[name]
    compare, bound = _COMPARISONS[found[2]], float(found[3])
    is_one = name == "abs max"
    return (
        lambda values: any(
            bool(np.any(compare(statistic(one), bound))) for one in _numbers(values)
        ),
        _quick_tests(
            # For a number, minimum, maximum and mean are the number itself.
            (lambda value: compare(abs(value), bound))
            if is_one
            else (lambda value: compare(value, bound)),
            # NumPy is slow at comparing its integers with a float.
            (lambda value: None) if is_one else (lambda value: compare(float(value), bound)),
            lambda array: quick(array, compare, bound),
        ),
    )


def _quick_tests(
    of_float: Callable[[Any], Any],
    of_integer: Callable[[Any], Any],
    of_array: Callable[[Any], Any],
) -> type_of_quick_test:
    def of_numbers(array: Any) -> Any:
        return bool(of_array(array)) if array.size and array.dtype.kind in "iuf" else None

    return {
        **dict.fromkeys(_FLOATS, of_float),
        **dict.fromkeys(_INTEGERS, of_integer),
        np.ndarray: of_numbers,
    }


def _numbers(values: Sequence[Any]) -> list[Any]:
    """Return the non-empty numeric values, on the host."""
    arrays = (array_module.as_host_array(value) for value in values if hasattr(value, "dtype"))
    return [array for array in arrays if array.size and array.dtype.kind in "biufcV"]


def _inexact(values: Sequence[Any]) -> list[Any]:
    arrays = []
    for array in _numbers(values):
        if array.dtype.kind == "V":  # bfloat16 and other small floats
            arrays.append(array.astype(np.float32))
        elif array.dtype.kind in "fc":
            arrays.append(array)
    return arrays
