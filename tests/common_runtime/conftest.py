"""GPUs for tests without a GPU."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.common_runtime.device.recording_cupy import RecordingCupy, forget

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingCupy]:
    """The double with two GPUs in place of CuPy; a race or misuse fails the test."""
    double = RecordingCupy(num_gpus=2)
    for name, module in double.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    forget()
    yield double
    forget()
    assert double.races == []
