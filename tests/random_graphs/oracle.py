"""TensorFlow in another process, asked case by case."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from tests.random_graphs.answers import Answer
    from tests.random_graphs.case import Case


class Oracle:
    """A process of ``worker.py``, started again when a graph was the end of it."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, case: Case, optimize: bool = False) -> Answer | str:
        """TensorFlow's answer; a word where it has none: "crashed", "stood still", "varies"."""
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


def _comparable(answer: Any) -> str:
    """An answer without counts, and without the numbers that resources get in their names."""
    steps = []
    for step in answer:
        error = step.get("error", ["", "", []])
        steps.append({**step, "counts": None, "error": [error[0], error[2]]})
    return json.dumps(steps)
