"""Processes that serve measurements for tfnb and for TensorFlow, one JSON line per command."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from benchmarks.server import HIDING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parent.parent
TENSORFLOW, OWN = "tensorflow.compat.v1", "tfnb"


def environment() -> dict[str, str]:
    """Return the environment of a process that measures."""
    variables = dict(os.environ)
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
    variables["PYTHONPATH"] = str(ROOT)  # this tree, whatever is installed
    for name in HIDING:
        variables.pop(name, None)
    return variables


class Side:
    """A process that serves one suite for TensorFlow or for tfnb."""

    def __init__(
        self,
        python: str,
        server: Path,
        module: str,
        options: list[str],
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            [python, "-P", str(server), "--serve", "--module", module, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**environment(), **variables},
        )

    def ask(self, verb: str, **fields: Any) -> dict[str, Any]:
        """Return the answer to one command; an error is under "error"."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": verb, **fields}) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            found: dict[str, Any] = json.loads(answer)
            return found
        self._log.seek(0)
        last = (self._log.read().strip().splitlines() or ["it said nothing"])[-1]
        return {"error": f"the process ended ({self._process.wait()}): {last}"}

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()
