"""Breakpoints: where a step stops, and on which values.

A condition is a word (``nan``, ``inf``, ``dead``), a comparison (``max > 3``, ``abs max >= 1e6``,
``== 0``), or a Python function of the :class:`~tfnb.client.debugger.stop.Stop`.  Text is parsed by
a pattern and never evaluated.
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

    What is left out fits every node.

    Attributes:
      node: a node's name, or a pattern with ``*`` and ``?``.
      op: an op type, likewise.
      frame: the name of a loop's frame, likewise.
      iteration: the number of an iteration of that frame, from 0.
      condition: on what the node gives; see the module.
      once: whether it goes when it was hit.
      enabled: whether it stops anything.
      hits: how often it did.
      number: its own in its debugger, from 1.
      problem: what its function raised; then it is no longer enabled.
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
            parse_condition(self.condition)  # refuses what is none, now
        elif self.condition is not None and not callable(self.condition):
            raise TypeError(f"{self.condition!r} is no condition: {_HELP}")

    @property
    def looks_at_values(self) -> bool:
        """Whether it is decided after the node has run."""
        return self.condition is not None

    def fits(self, node: str, op: str, frame: str, iteration: int) -> bool:
        """Whether it is about a node in an iteration of a frame."""
        return (
            (not self.node or self.node == node or fnmatchcase(node, self.node))
            and (not self.op or self.op == op or fnmatchcase(op, self.op))
            and (not self.frame or self.frame == frame or fnmatchcase(frame, self.frame))
            and (self.iteration is None or self.iteration == iteration)
        )

    def is_met(self, stop: Stop) -> bool:
        """Whether its condition holds; a function that raises makes it a breakpoint no more."""
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
    """What a condition's text means.

    Raises:
      ValueError: it is none.
    """
    words = " ".join(text.lower().split())
    if words == "dead":
        return lambda stop: stop.is_dead
    named: dict[str, Callable[[Any], Any]] = {
        "nan": np.isnan,
        "inf": np.isinf,
        "nan or inf": lambda array: ~np.isfinite(array),
        "inf or nan": lambda array: ~np.isfinite(array),
    }
    if words in named:
        test = named[words]
        return lambda stop: any(bool(np.any(test(a))) for a in _inexact(stop.output_values))
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no condition: {_HELP}")
    statistic = _STATISTICS[" ".join(found[1].lower().split())]
    compare, bound = _COMPARISONS[found[2]], float(found[3])
    return lambda stop: any(
        bool(np.any(compare(statistic(array), bound))) for array in _numbers(stop.output_values)
    )


def _numbers(values: Sequence[Any]) -> list[Any]:
    """Those values that are numbers, on the host, and not empty."""
    arrays = (array_module.as_host_array(value) for value in values if hasattr(value, "dtype"))
    return [array for array in arrays if array.size and array.dtype.kind in "biufcV"]


def _inexact(values: Sequence[Any]) -> list[Any]:
    arrays = []
    for array in _numbers(values):
        if array.dtype.kind == "V":  # bfloat16 and its kin
            arrays.append(array.astype(np.float32))
        elif array.dtype.kind in "fc":
            arrays.append(array)
    return arrays
