"""What a program of the model suite is, and the list of all programs.

A program is a function of the module (``tfnb`` or ``tensorflow.compat.v1``) that builds a model in
the current graph, in the style of TensorFlow 1. Weights, dropout masks and samples have seeds, and
fed arrays come from a seeded generator, so that both modules compute the same numbers.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_FILES = ("transformers", "recurrent", "convolutional", "frozen_networks", "small_networks")
_PROGRAMS: dict[str, Program] = {}


@dataclass
class Model:
    """A built model.

    Attributes:
      feeds: arrays by placeholder.
      answers: the tensors of one inference step.
      train_op: the op of one training step; None without training.
      loss: fetched together with `train_op`.
      checked: other arrays for the steps whose answers are compared. TensorFlow runs iterations of
        a loop at the same time, so that masks in a loop have any order; a check drops nothing.
    """

    feeds: dict[Any, Any]
    answers: list[Any]
    train_op: Any = None
    loss: Any = None
    checked: dict[Any, Any] = field(default_factory=dict)


@dataclass
class Program:
    """A program with its title in tables.

    Attributes:
      kind: the group of the summary, such as "CNN".
      what: the first line of the function's docstring.
      rtol: relative tolerance of its answers.
      atol: absolute tolerance.
    """

    name: str
    kind: str
    what: str
    build: Callable[[Any], Model] = field(repr=False)
    rtol: float = 2e-3
    atol: float = 2e-3


def program(kind: str) -> Callable[[Callable[[Any], Model]], Callable[[Any], Model]]:
    """Register a function that builds a model; its docstring is the title in tables."""

    def register(build: Callable[[Any], Model]) -> Callable[[Any], Model]:
        what = (build.__doc__ or "").strip().splitlines()[0]
        _PROGRAMS[build.__name__] = Program(build.__name__, kind, what, build)
        return build

    return register


def programs() -> dict[str, Program]:
    """Return all programs by name."""
    for name in _FILES:
        importlib.import_module(f"benchmarks.models.{name}")
    return _PROGRAMS
