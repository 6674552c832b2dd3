"""TensorFlow in another process, which answers calls of ops."""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops.samples import Resource, Uninitialized

if TYPE_CHECKING:
    from tests.ops.samples import Sample

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts/oracle/random_calls.py"
# The time that TensorFlow may take to start.
_START_S = 120


class Oracle:
    """A process with TensorFlow that answers calls; restarted when a call kills it."""

    def __init__(self, python: str, script: Path = _SCRIPT, limit_s: float | None = None) -> None:
        self.command = [python, str(script)]
        self.limit_s = limit_s
        self.process: subprocess.Popen[bytes] | None = None

    def answer(self, row: Sample) -> Any:
        """Return TensorFlow's answer; None if it crashes or exceeds the limit."""
        limit_s = self.limit_s
        if self.process is None:
            limit_s = None if limit_s is None else limit_s + _START_S
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump(row, self.process.stdin)
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], limit_s)[0]:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.close()
                return None
            return pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.close()
            return None

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.stdin.close()  # type: ignore[union-attr]
            self.process.wait()
            self.process = None


def described(row: Sample) -> str:
    """The call in one line."""

    def one(entry: Any) -> str:
        if isinstance(entry, list):
            return f"[{', '.join(one(item) for item in entry)}]"
        if isinstance(entry, (Resource, Uninitialized)):
            return f"{type(entry).__name__}({one(getattr(entry, 'value', None))})"
        if entry is None:
            return "None"
        entry = np.asarray(entry)
        text = "" if not 0 < entry.size <= 12 else f" {entry.tolist()}"
        return f"{entry.dtype}{list(entry.shape)}{text}"

    return f"{row.op}({'; '.join(one(e) for e in row.inputs)}) {row.attrs}"
