"""Graphs of public repositories, stored as cases, become packages.

A case is a folder with ``case.json``; :mod:`tests.cases.replay` describes and reads it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.models.packages import Writer
from tests.cases.replay import generated_array, load_arrays, read_case, read_graph_def

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A graph with fewer nodes, and without convolutions and loops, is a small one.
_SMALL = 200
_CONVOLUTIONS = {"Conv2D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv3D"}
_LOOPS = {"NextIteration", "While", "StatelessWhile", "LSTMBlockCell", "BlockLSTM"}


class Case:
    """A case whose last step is measured; the steps before it prepare variables.

    Attributes:
      name: of its folder.
      kind: the group of the summary, such as "CNN".
      what: where the graph comes from.
      rtol: relative tolerance of its answers.
      atol: absolute tolerance.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._case = read_case(folder)
        self._graph_def: Any = None
        self.name = folder.name
        self.what = self._case.get("source", {}).get("repo", "")
        tolerance = self._case.get("tolerance", {})
        self.rtol, self.atol = tolerance.get("rtol", 1e-4), tolerance.get("atol", 1e-5)

    @property
    def measured(self) -> int | None:
        """The number of the step that is measured; None if the case has none."""
        steps = self._case["steps"]
        plain = all(step.get("kind", "run") == "run" and "error" not in step for step in steps)
        if not plain or self._case.get("expect_import_error"):
            return None
        fetching = [
            i
            for i, step in enumerate(steps)
            if step.get("fetches") and not step.get("nondeterministic")
        ]
        return fetching[-1] if fetching else None

    def ops(self) -> Counter[str]:
        """Return how often each op is in the graph and in its functions."""
        nodes = [*self.graph_def().node]
        for function in self.graph_def().library.function:
            nodes += function.node_def
        return Counter(node.op for node in nodes)

    @property
    def kind(self) -> str:
        """The group of the summary."""
        ops = self.ops()
        if _CONVOLUTIONS & ops.keys():
            return "CNN"
        if _LOOPS & ops.keys():
            return "RNN"
        return "small graph" if ops.total() < _SMALL else "other"

    def graph_def(self) -> Any:
        """Return the graph."""
        if self._graph_def is None:
            self._graph_def = read_graph_def(self._folder, self._case["graph"])
        return self._graph_def

    def write(self, folder: Path) -> None:
        """Write the package."""
        writer, inputs = Writer(folder), load_arrays(self._folder / "inputs.npz")
        last = self.measured
        assert last is not None
        steps = [self._step(writer, inputs, step) for step in self._case["steps"][: last + 1]]
        config: dict[str, Any] = {}
        if (self._case.get("config") or {}).get("allow_soft_placement"):
            config["allow_soft_placement"] = True
        iterators = {node.name for node in self.graph_def().node if node.op == "IteratorGetNext"}
        fed = {name.partition(":")[0] for step in steps for name in step["feeds"]}
        if iterators & fed:  # TensorFlow's optimizer of graphs loses these feeds
            config["graph_options"] = {"rewrite_options": {"disable_meta_optimizer": True}}
        plan = {"config": config, "setup": steps[:-1], "run": steps[-1], "train": None}
        writer.finish(self.graph_def(), plan)

    def _step(self, writer: Writer, inputs: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
        feeds = {
            name if ":" in name else f"{name}:0": self._value(inputs, spec)
            for name, spec in step.get("feeds", {}).items()
        }
        return writer.step(feeds, step.get("fetches", []), step.get("targets", []))

    def _value(self, inputs: dict[str, Any], spec: Any) -> Any:
        if isinstance(spec, dict) and "path" in spec:
            return np.array(str((self._folder / spec["path"]).resolve()).encode(), object)
        return generated_array(spec) if isinstance(spec, dict) else inputs[spec]


def cases(folder: Path) -> Iterator[Case]:
    """Yield the cases that can be measured, and of similar ones the first.

    Graphs with equal op counts are similar, and small graphs with the same types of ops.
    """
    seen: set[frozenset[object]] = set()
    for path in sorted(folder.glob("**/case.json")):
        case = Case(path.parent)
        if case.measured is None:
            continue
        counts = case.ops()
        ops = frozenset[object](counts if case.kind == "small graph" else counts.items())
        if ops not in seen:
            seen.add(ops)
            yield case
