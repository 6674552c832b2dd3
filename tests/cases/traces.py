"""How often each node ran: the executor's own counts beside TensorFlow's.

``trace.json`` of a case holds, for each step that TensorFlow ran to its end, the number of runs of
every node and its partition.  Nodes that only carry a tensor from one device to another are named
by counters and left out.

Where a case calls functions, Grappler has fused and folded nodes of their bodies before they were
counted.  ``tests/golden/traces.json`` has the counts of these cases with bodies left alone;
scripts/oracle/graphs/traces.py writes it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tfnb as tf
from tests.cases.replay import Mismatch, Replay, read_graph_def

if TYPE_CHECKING:
    from collections.abc import Mapping

STORED: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[1] / "golden" / "traces.json").read_text()
)["cases"]
"""What ran in the steps of a case, by its name, with the bodies of functions left alone."""

_CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])

# Made by partitioning, with a number: "x/_7", "_cloop/...", "x/ctrl/_3".
_NUMBERED = re.compile(r"(/_\d+$)|(^|/)_cloop|/ctrl/|^_SOURCE$|_\d+_\d+/Const$")


class TraceReplay(Replay):
    """A replay that traces every run and compares the counts.

    Args:
      folder: where the case lies.
      apart: as for a Replay.
      only_outside: compare only nodes that no function's body has.
    """

    def __init__(self, folder: Path, apart: str = "", *, only_outside: bool = False) -> None:
        super().__init__(folder, apart)
        if only_outside:
            graph_def = read_graph_def(folder, self.case["graph"])
            known = {node.name for node in graph_def.node}
            functions = graph_def.library.function
            inner = {node.name for function in functions for node in function.node_def}
            inner |= {arg.name for function in functions for arg in function.signature.input_arg}
            self._names: set[str] | None = known - inner
        else:
            self._names = None
        rows = json.loads((folder / "trace.json").read_text())
        self.traces: dict[int, Mapping[str, Any]] = {row["step"]: row for row in rows}
        self.compared = 0
        self._number = -1

    def configure(self, config: Any) -> None:
        """Turn optimization off, so that every node runs."""
        config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0

    def _check(self, number: int, step: Mapping[str, Any]) -> None:
        self._number = number
        super()._check(number, step)

    def _run(self, wanted: list[Any], feeds: Mapping[Any, Any], options: Any) -> list[Any]:
        trace = self.traces.get(self._number)
        if trace is None:
            return super()._run(wanted, feeds, options)
        metadata = tf.RunMetadata()
        options = options or tf.RunOptions()
        options.trace_level = tf.RunOptions.FULL_TRACE
        values: list[Any] = self.session.run(wanted, feeds, options=options, run_metadata=metadata)
        self._compare(trace, metadata)
        return values

    def _compare(self, trace: Mapping[str, Any], metadata: Any) -> None:
        counts = Counter(
            row.node_name for device in metadata.step_stats.dev_stats for row in device.node_stats
        )
        ours = {n: c for n, c in counts.items() if not _NUMBERED.search(n)}
        theirs = {n: c for n, c in trace["exec_counts"].items() if not _NUMBERED.search(n)}
        different = {
            name: (ours.get(name, 0), theirs.get(name, 0))
            for name in {*ours, *theirs}
            if (self._names is None or name in self._names)
            and ours.get(name, 0) != theirs.get(name, 0)
        }
        if different:
            shown = ", ".join(f"{n}: {a} not {b}" for n, (a, b) in sorted(different.items())[:8])
            raise Mismatch(f"step {self._number}: {len(different)} nodes ran as often as: {shown}")
        self.compared += 1


class PlainBodiesReplay(TraceReplay):
    """Compares all nodes, also those of functions, with Grappler off inside of functions."""

    def __init__(self, folder: Path, apart: str = "") -> None:
        super().__init__(folder, apart)
        self.traces = {row["step"]: row for row in STORED[folder.name]}

    def graph_def(self) -> Any:
        """The graph of the case, with Grappler turned off in its calls."""
        graph_def = super().graph_def()
        inner = [node for function in graph_def.library.function for node in function.node_def]
        for node in [*graph_def.node, *inner]:
            if node.op in _CALLS:
                config = tf.ConfigProto.FromString(node.attr["config_proto"].s)
                config.graph_options.rewrite_options.disable_meta_optimizer = True
                node.attr["config_proto"].s = config.SerializeToString()
        return graph_def
