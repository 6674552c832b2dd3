"""The benchmark of GPUs runs on a test double.

Its graphs compute what is written by hand beside them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks import gpu
from tests.common_runtime.conftest import cupy  # noqa: F401 - a fixture
from tfnb.core import array_module

if TYPE_CHECKING:
    from pathlib import Path

    from tests.common_runtime.device.recording_cupy import RecordingCupy


@pytest.mark.slow
@pytest.mark.parametrize("name", gpu.workloads(0.001))
def test_a_workload_is_the_same_on_both_sides(name: str, cupy: RecordingCupy) -> None:  # noqa: F811
    """tfnb's graph and CuPy's functions give equal results, and each can be called repeatedly."""
    workload = gpu.workloads(0.001)[name]
    sides = {"tfnb": gpu.tfnb_side(workload), "CuPy": gpu.cupy_side(workload)}
    assert gpu.differences({side: value() for side, (_, value) in sides.items()}) == []
    times = gpu.measure({side: run for side, (run, _) in sides.items()}, 2)
    assert all(taken > 0 for taken in times.values())


def test_the_table_is_written(
    tmp_path: Path,
    cupy: RecordingCupy,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The table is printed for readers and written as JSON for programs."""
    file = tmp_path / "figures.json"
    assert gpu.main(["--only", "chain 1k", "--rounds", "2", "--json", str(file)]) == 0
    assert capsys.readouterr().out.startswith("Double\nchain 1k")
    times = json.loads(file.read_text())["workloads"]["chain 1k"]
    assert {"tfnb", "CuPy"} <= set(times)


def test_a_side_that_computes_something_else_is_told() -> None:
    """A side with another result is reported before anything is timed."""
    assert gpu.differences({"a": np.ones(2), "b": np.ones(2), "c": np.zeros(2)}) == ["c"]


def test_without_a_gpu_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a GPU the benchmark says so and ends with a status that is not 0."""
    monkeypatch.setattr(array_module, "missing_gpu", lambda: "CuPy is not installed")
    assert gpu.main([]) == 1
    assert "There is no GPU to measure: CuPy is not installed." in capsys.readouterr().err
