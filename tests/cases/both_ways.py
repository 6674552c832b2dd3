"""Replays of a case on the reference executor and as emitted functions, compared bit for bit.

Both run without compiled kernels and other ways that round otherwise.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from tests.cases.replay import Replay
from tests.without_kernels import without_kernels
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class RecordedReplay(Replay):
    """A replay that keeps what each step answered.

    Attributes:
      answers: by step: (dtype, shape, bytes) of each value; or class, node and text of its error.
      num_emitted: how many functions were emitted.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.answers: dict[int, Any] = {}
        self.num_emitted = 0
        self._number = -1

    def _check(self, number: int, step: Mapping[str, Any]) -> None:
        self._number = number
        # With threads beside the steps, results depend on how far these threads are.
        chance = bool(self._threads) or bool(step.get("nondeterministic"))
        try:
            values = self._step(step)
        except Exception as error:
            # TensorArrays and such are numbered in the process.
            text = re.sub(r"\d+", "#", str(error).partition("[[node")[0])
            answer: Any = (type(error).__name__, getattr(error, "node_name", ""), text)
            chance = chance or "timeout_ms" in step  # where it stood then is told
        else:
            answer = [_bits(value) for value in values]
        if not chance:
            self.answers[number] = answer
        if self._session is not None and step.get("kind", "run") == "run":
            self.num_emitted = max(self.num_emitted, len(self._session.emitted_sources()))


def _bits(value: Any) -> Any:
    array = np.asarray(value)
    content = array.tolist() if array.dtype == object else array.tobytes()
    return array.dtype.name, array.shape, content


def both_ways(folder: Path) -> tuple[list[str], int]:
    """Return differences between emitted functions and the reference, and how many were emitted."""
    found = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        replay = RecordedReplay(folder)
        same_bits = mock.patch.dict(os.environ, {"TF_DETERMINISTIC_OPS": "1"})
        with lowering(when), without_kernels(), same_bits:
            replay.run()
        found.append(replay)
    reference, emitted = found
    assert reference.num_emitted == 0
    lines = [
        f"step {number}: {str(wanted)[:200]} | {str(emitted.answers.get(number))[:200]}"
        for number, wanted in reference.answers.items()
        if emitted.answers.get(number) != wanted
    ]
    return lines, emitted.num_emitted
