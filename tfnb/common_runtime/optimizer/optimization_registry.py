"""Passes over a graph on its way to the executors, in four groupings.

A pass is a class with a ``name`` and ``run(options) -> list[str]``: it may change the graph, and
returns a description of each change, one line each, for display. :func:`run_grouping` calls the
passes of a grouping in the order of their phase numbers.  Corresponds to TensorFlow's
``optimization_registry.h``.
"""

from __future__ import annotations

import enum
import threading
from typing import TYPE_CHECKING, Protocol

from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.graph.function_library import FunctionLibraryDefinition
    from tfnb.graph.graph import Graph
    from tfnb.proto import config_pb2

    type_of_on_pass = Callable[["PassReport", Graph], None]


class Grouping(enum.IntEnum):
    """The time at which a pass runs."""

    PRE_PLACEMENT = 0
    POST_PLACEMENT = 1
    POST_REWRITE_FOR_EXEC = 2
    POST_PARTITIONING = 3


@record(slots=True)
class OptimizationPassOptions:
    """The input of a pass.

    Attributes:
      graph: the graph to change; None if there is none yet.
      config: the session's configuration, with its switches.
      devices: the session's devices.
      device: the partition's device, after partitioning.
      library: the library to which a pass may add functions; nodes added to the graph may call
        them.
      targets: names of nodes that run for their effects: they keep their names and are never
        removed.
      is_partial_run: whether the graph is fed and fetched piece by piece, so that no fetch may come
        to need more nodes than before.
      function_name: the function whose body the graph is; "" for the session's own graph.
      on_pass: called after each pass with its report and the changed graph.
    """

    graph: Graph | None
    config: config_pb2.ConfigProto
    devices: Sequence[Device] = ()
    device: Device | None = None
    library: FunctionLibraryDefinition | None = None
    targets: frozenset[str] = frozenset()
    is_partial_run: bool = False
    function_name: str = ""
    on_pass: type_of_on_pass | None = None


class OptimizationPass(Protocol):
    """One rewriting of a graph."""

    name: str

    def run(self, options: OptimizationPassOptions) -> list[str]:
        """Change ``options.graph``; return a description of each change, one line each."""
        ...


@record(slots=True, frozen=True)
class PassReport:
    """The changes that one pass made to one graph."""

    grouping: Grouping
    phase: int
    name: str
    actions: tuple[str, ...]


class OptimizationReports(tuple[PassReport, ...]):
    """The changes of all passes to one signature, in their order; printed, it is plain text.

    >>> folding = PassReport(Grouping.POST_PARTITIONING, 10, "constant_folding", ("'x' is gone",))
    >>> print(OptimizationReports([folding]))
    constant_folding (post partitioning, 10)
      'x' is gone
    >>> print(OptimizationReports())
    No pass changed anything.
    """

    __slots__ = ()

    def __str__(self) -> str:
        """Return a line for each pass, followed by its changes."""
        lines = []
        for report in self:
            grouping = report.grouping.name.lower().replace("_", " ")
            lines.append(f"{report.name} ({grouping}, {report.phase})")
            lines += [f"  {action}" for action in report.actions]
        return "\n".join(lines) or "No pass changed anything."


class OptimizationPassRegistry:
    """The passes by grouping and phase; filled while modules are imported."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._passes: dict[Grouping, list[tuple[int, OptimizationPass]]] = {}  # guarded by _lock

    def register(self, grouping: Grouping, phase: int, optimization: OptimizationPass) -> None:
        """Add a pass; passes of the same phase run in the order of their registration."""
        with self._lock:
            passes = self._passes.setdefault(grouping, [])
            passes.append((phase, optimization))
            passes.sort(key=lambda entry: entry[0])

    def deregister(self, grouping: Grouping, optimization: OptimizationPass) -> None:
        """Remove a pass; an unknown pass is no error."""
        with self._lock:
            passes = self._passes.get(grouping, [])
            passes[:] = [entry for entry in passes if entry[1] is not optimization]

    def run_grouping(
        self, grouping: Grouping, options: OptimizationPassOptions
    ) -> list[PassReport]:
        """Run the passes of a grouping in order; return the reports of those with changes."""
        reports = []
        for phase, optimization in list(self._passes.get(grouping, ())):
            actions = optimization.run(options)
            if actions:
                report = PassReport(grouping, phase, optimization.name, tuple(actions))
                reports.append(report)
                if options.on_pass is not None and options.graph is not None:
                    options.on_pass(report, options.graph)
        return reports

    def listing(self) -> list[tuple[Grouping, int, str]]:
        """Return grouping, phase and name of every pass, in the order in which they run."""
        with self._lock:
            return [
                (grouping, phase, one.name)
                for grouping in Grouping
                for phase, one in self._passes.get(grouping, ())
            ]


REGISTRY = OptimizationPassRegistry()


# For transformations of function bodies that are not passes.
class PassTracer(Protocol):
    """Records the effect of each pass on a graph."""

    def begin(self, graph: Graph | None, device: str = "", function: str = "") -> None:
        """Start the trace of a graph; None: the first graph that a pass reports."""

    def __call__(self, report: PassReport, graph: Graph) -> None:
        """Record a pass that has run."""


PRUNED = PassReport(Grouping.PRE_PLACEMENT, 0, "pruning", ("what no result needs is gone",))
SIMPLIFIED = PassReport(
    Grouping.POST_PARTITIONING, 1000, "simplify_body", ("what only joins other nodes is gone",)
)
