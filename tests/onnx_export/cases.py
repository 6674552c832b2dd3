"""Converts the graphs of stored cases and compares onnxruntime with the session, step by step.

    python -m tests.onnx_export.cases FOLDER [WORDS]

A step counts as feedable if it feeds and fetches tensors of types that ONNX runtimes have, and if
the fetched values follow from feeds, constants and the present values of variables alone.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.cases.replay import Mismatch, Replay, missing_ops
from tfnb.core import op_registry
from tfnb.onnx_export.check import difference, run_in_onnxruntime
from tfnb.onnx_export.export import export
from tfnb.onnx_export.writing.converters import has_onnx_type
from tfnb.onnx_export.writing.problems import ConversionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_READING = frozenset(
    (
        *("VariableV2", "Variable", "VarHandleOp", "ReadVariableOp", "ResourceGather"),
        *("Assert", "If", "While", "PartitionedCall", "StatefulPartitionedCall", "Case"),
        *("TensorArrayV3", "TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayGatherV3"),
        *("TensorArrayScatterV3", "TensorArraySizeV3", "TensorArrayConcatV3"),
        *("TensorArraySplitV3", "TensorArrayCloseV3", "Placeholder", "TensorArrayGradV3"),
        *("StackV2", "StackPushV2", "StackPopV2", "Stack", "StackPush", "StackPop"),
        *("VarIsInitializedOp", "For", "Print", "PrintV2"),
    )
)


class ConvertingReplay(Replay):
    """A replay that converts each step before it runs.

    Attributes:
      found: for each step: "agrees", "state" or another reason why it does not count, or what
        differs or is refused.
    """

    def __init__(self, folder: Path, opset: int) -> None:
        super().__init__(folder)
        self.found: list[str] = []
        self.opset = opset

    def _check(self, number: int, step: Mapping[str, Any]) -> None:
        if step.get("kind", "run") == "run" and step.get("fetches") and step.get("feeds"):
            if "error" in step:
                self.found.append("error: the step fails in TensorFlow")
            else:
                self.found.append(self._converted(step))
        with contextlib.suppress(Mismatch):  # the session itself differs in a last bit
            super()._check(number, step)

    def _converted(self, step: Mapping[str, Any]) -> str:
        session = self.session
        graph = session.graph
        feeds = self._feeds(step)
        fetches = [graph.get_tensor_by_name(n) for n in step["fetches"] if ":" in n]
        text = [one for one in fetches if one.dtype.base_dtype == tf.string]
        plain = [one for one in fetches if has_onnx_type(one.dtype.base_dtype)]
        fetches = [one for one in plain if all(one is not other for other in text)] or fetches
        reason = why_not_feedable(list(feeds), fetches)
        if reason:
            return reason
        inputs = {one.name: one for one in feeds}
        outputs = {f"{number} {one.name}": one for number, one in enumerate(fetches)}
        try:
            wanted = session.run(fetches, feeds)
            again = session.run(fetches, feeds)
        except tf.errors.OpError as error:
            return f"error: {type(error).__name__}"
        # Later runs of a session may use other kernels than the first, which round differently.
        if any(
            not np.allclose(a, b, 1e-4, 1e-5, equal_nan=True)
            if a.dtype.kind in "fc"
            else not np.array_equal(a, b)
            for a, b in zip(map(np.asarray, wanted), map(np.asarray, again))
        ):
            return "random: two runs differ"
        try:
            model = export(session, inputs, outputs, opset=self.opset)
        except ConversionError as error:
            return "refused: " + "; ".join(sorted({f"{p.op}: {p.reason}" for p in error.problems}))
        got = run_in_onnxruntime(
            model,
            {one.name: np.asarray(value, one.dtype.as_numpy_dtype) for one, value in feeds.items()},
        )
        values = list(got.values())
        for name, one, other in zip(outputs, wanted, values):
            array, made = np.asarray(one), np.asarray(other)
            scale = (
                float(np.abs(array[np.isfinite(array)]).max(initial=1.0))
                if (array.dtype.kind == "f")
                else 0.0
            )
            apart = difference(array, made, name)
            if apart > 1e-4 * scale + 1e-5:
                return f"differs: {name} by {apart:.3g} of {scale:.3g}"
        return "agrees"


def why_not_feedable(feeds: list[Any], fetches: list[Any]) -> str:
    """Return why a step does not count, or ""."""
    if not fetches:
        return "state: it fetches no tensor"
    for one in (*feeds, *fetches):
        if not has_onnx_type(one.dtype.base_dtype):
            return f"type: {one.dtype.name}"
        if one.dtype.base_dtype == tf.string:
            return "text: it takes or gives text"
    fed = {one.name for one in feeds}
    waiting = [one.op for one in fetches if one.name not in fed]
    seen = set(waiting)
    graph = fetches[0].graph
    functions = {f.signature.name: f for f in graph.as_graph_def().library.function}
    called: set[str] = set()
    while waiting:
        op = waiting.pop()
        reason = _state(op.type, functions)
        if reason:
            return reason
        for text in _called(op.node_def):
            called.add(text)
        for before in (*(t.op for t in op.inputs if t.name not in fed), *op.control_inputs):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    done: set[str] = set()
    while called - done:
        name = (called - done).pop()
        done.add(name)
        function = functions.get(name)
        for node in function.node_def if function is not None else ():
            reason = _state(node.op, functions)
            if reason:
                return reason
            called.update(_called(node))
    return ""


def _called(node: Any) -> list[str]:
    found = [node.op]
    for attr in node.attr.values():
        found.append(attr.func.name)
        found += [one.name for one in attr.list.func]
    return [name for name in found if name]


def _state(op: str, functions: Mapping[str, Any]) -> str:
    definition = op_registry.find(op)
    if op in functions or op in _READING or definition is None:
        return ""
    if op.startswith(("Random", "Truncated")):
        return ""
    if definition.is_stateful or any(argument.is_ref for argument in definition.op_def.inputs):
        if op.startswith(("Ref", "Identity")) or op == "IsVariableInitialized":
            return ""
        return f"state: {op}"
    return ""


def main(arguments: list[str]) -> None:
    """Print a line for each case, and the counts."""
    folder, words = Path(arguments[0]), arguments[1:]
    counts: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for path in sorted(one.parent for one in folder.glob("**/case.json")):
        if words and not any(word in path.name for word in words):
            continue
        if missing_ops(path):
            continue
        replay = ConvertingReplay(path, 18)
        begin = time.process_time()
        try:
            replay.run()
        except Exception as error:  # reported below
            replay.found.append(f"crash: {type(error).__name__}: {str(error)[:300]}")
        seconds = time.process_time() - begin
        kinds = [one.partition(":")[0] for one in replay.found]
        counted = [kind for kind in kinds if kind in ("agrees", "refused", "differs", "crash")]
        if not kinds:
            result = "not fed"
        elif not counted:
            result = kinds[0]
        else:
            result = next((kind for kind in counted if kind != "agrees"), "agrees")
        counts[result] += 1
        steps.update(kinds)
        reasons = sorted({one for one in replay.found if one != "agrees"})
        text = " | ".join(reasons)[:600]
        print(f"{path.name:40} {result:9} {seconds:6.1f} s  {text}", flush=True)
    print(dict(counts), "steps", dict(steps))
    feedable = sum(counts[one] for one in ("agrees", "refused", "differs", "crash"))
    print(f"{counts['agrees']} of {feedable} feedable graphs convert and agree")


if __name__ == "__main__":
    main(sys.argv[1:])
