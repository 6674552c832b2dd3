"""TensorFlow in another process, which answers case by case."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from tests.random_graphs.answers import Answer
    from tests.random_graphs.case import Case, Node


class Oracle:
    """A process of ``worker.py``, restarted when a graph ends it."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, case: Case, optimize: bool = False) -> Answer | str:
        """Return TensorFlow's answer, or a word if there is none.

        The words: "crashed", "stood still", "varies", and "not asked" if the optimizer is known to
        be wrong.
        """
        if optimize and _is_beyond_grappler(case):
            return "not asked"
        first = self._ask(case, optimize)
        if isinstance(first, str):
            return first
        if any(step.get("error", [""])[0] == "DeadlineExceededError" for step in first):
            return "stood still"
        if case.is_odd or case.has_state:
            second = self._ask(case, optimize)
            if _comparable(first) != _comparable(second):
                return "varies"
        return first

    def varies(self, case: Case, optimize: bool, first: Answer, times: int = 8) -> bool:
        """Return whether a repeated answer differs from the first: two threads race in it."""
        return any(
            isinstance(another := self._ask(case, optimize), str)
            or _comparable(another) != _comparable(first)
            for _ in range(times)
        )

    def _ask(self, case: Case, optimize: bool) -> Answer | str:
        process = self._process
        if process is None:
            process = self._process = subprocess.Popen(
                [self._python, "-m", "tests.random_graphs.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path(__file__).parents[2],
                text=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"case": case.to_json(), "optimize": optimize}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            self.close()
            return "crashed"
        answer: Answer = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None and process.stdout is not None:
            process.stdin.close()
            process.stdout.close()
            process.wait()


def _is_beyond_grappler(case: Case) -> bool:
    """Return whether TensorFlow's optimizer may change the meaning of the graph.

    It removes a read of a variable that only control edges need, with its error; it folds a
    constant although it is fed; and if it can compute the predicate of a Switch, the Merge behind
    it gets another ``value_index``, or even a wrong value.
    """
    by_name = {node.name: node for node in case.nodes}
    fed = {name.partition(":")[0] for step in case.steps for name in step.feeds}
    if "fault: uninitialized" in case.notes:
        return True
    if any(by_name[name].op == "Const" for name in fed):
        return True
    switches = [node for node in case.nodes if node.op == "Switch"]
    return any(_is_constant(by_name, node.inputs[1]) for node in switches)


def _is_constant(by_name: dict[str, Node], tensor: str) -> bool:
    """Return whether a tensor depends only on constants."""
    stack, seen = [tensor], set()
    while stack:
        name = stack.pop().lstrip("^").partition(":")[0]
        if name in seen:
            continue
        seen.add(name)
        node = by_name[name]
        if node.op in _DECIDED_BY_THE_STEP:
            return False
        stack += node.inputs
    return True


_DECIDED_BY_THE_STEP = frozenset(
    ["Placeholder", "Merge", "VarHandleOp", "VariableV2", "FIFOQueueV2", "StackV2", "TensorArrayV3"]
)


def _comparable(answer: Any) -> str:
    """Return an answer without counts, and without the numbers in names of resources."""
    steps = []
    for step in answer:
        error = step.get("error", ["", "", []])
        steps.append({**step, "counts": None, "error": [error[0], error[2]]})
    return json.dumps(steps)
