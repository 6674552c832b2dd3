"""Draws random programs: graphs of ops with state, and their runs.

A program is ``{"graph": serialized GraphDef, "runs": [fetches of each run]}``, and optionally
``"steps"``, by how much integers may differ. Each maker draws one for a family of ops; programs may
contain errors.
"""

from __future__ import annotations

import importlib
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import tfnb as tf
from tests.random_calls.draws import Draw

if TYPE_CHECKING:
    from collections.abc import Callable

type_of_program = dict[str, Any]
MAKERS: dict[str, Callable[[Draw, Program], None]] = {}


class Program:
    """A graph in the making, and the runs so far.

    Attributes:
      steps: by how much integers may differ.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.graph = tf.Graph()
        self.runs: list[list[str]] = []
        self.last: Any = None

    def raw(self, op: str, **inputs: Any) -> Any:
        """Add a node behind the previous one; return None if the graph cannot have it."""
        waits = [] if self.last is None else [self.last]
        try:
            with self.graph.as_default(), tf.control_dependencies(waits):
                return getattr(tf.raw_ops, op)(**inputs)
        except (ValueError, TypeError):
            return None

    def chained(self, op: str, **inputs: Any) -> Any:
        """Add a node for which the next one waits."""
        made = self.raw(op, **inputs)
        if made is not None:
            self.last = operation_of(made)
        return made

    def run(self, *fetched: Any) -> None:
        """Add a run with these fetches; an operation runs for its effect."""
        names = [item.name for one in fetched for item in _flat(one)]
        if names:
            self.runs.append(names)

    def done(self) -> type_of_program:
        """Return the program."""
        graph = self.graph.as_graph_def().SerializeToString()
        return {"graph": graph, "runs": self.runs, "steps": self.steps}

    def of_version(self, producer: int) -> None:
        """Make it a graph of an earlier TensorFlow, with ops that no longer exist."""
        self.graph.def_versions = replace(self.graph.def_versions, producer=producer)


def _flat(made: Any) -> list[Any]:
    if made is None:
        return []
    if isinstance(made, (list, tuple)):
        return [item for one in made for item in _flat(one)]
    return [made]


def operation_of(made: Any) -> Any:
    """Return the operation of the first of these outputs."""
    one = _flat(made)[0]
    return getattr(one, "op", one)


def programs(maker: Callable[[Draw, Program], None]) -> Callable[[Draw, Program], None]:
    """Register a maker under its name."""
    MAKERS[maker.__name__] = maker
    return maker


def array(d: Draw, word: str, shape: tuple[int, ...]) -> Any:
    """Return values, often with infinities, NaN and the largest integers."""
    return d.values(word, shape, 0.4)


def sizes(d: Draw, least: int, most: int) -> tuple[int, ...]:
    """Return a shape: often a scalar's, sometimes an empty one."""
    return tuple(d.one([0, 1, 1, 2, 2, 2]) for _ in range(d.number(least, most)))


def drawn(name: str, seed: int) -> type_of_program:
    """The program of that family and seed."""
    load()
    program = Program()
    MAKERS[name](Draw(zlib.crc32(name.encode()) + 7919 * seed), program)
    return program.done()


def load() -> dict[str, Callable[[Draw, Program], None]]:
    """Import all makers, by family."""
    importlib.import_module("tests.random_programs.containers")
    importlib.import_module("tests.random_programs.files")
    importlib.import_module("tests.random_programs.functional")
    importlib.import_module("tests.random_programs.old")
    importlib.import_module("tests.random_programs.pipelines")
    importlib.import_module("tests.random_programs.quantized")
    return MAKERS
