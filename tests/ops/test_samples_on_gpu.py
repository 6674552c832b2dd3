"""Every GPU kernel on a double of CuPy: the CPU's values, in the right memory.

The double refuses arrays of NumPy as CuPy does, so a kernel that mixes both fails here. Rows of
text are left out: the placer assigns to a GPU no node with tensors that a GPU cannot hold.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import tfnb.ops.all_ops  # noqa: F401 - registers the ops
from tests.common_runtime.device.recording_cupy import Array, RecordingCupy
from tests.joined import in_batches
from tests.ops import samples
from tests.ops.kernel_runner import SampleRun
from tfnb.core import array_module, dtypes, op_registry
from tfnb.core.resource_mgr import RefCell

_ON_HOST = (dtypes.string, dtypes.resource, dtypes.variant)
# On a GPU their two-byte floats are rounded only at the end, like four-byte floats on a CPU.
_CUMULATIVE = ("Cumsum", "Cumprod", "CumulativeLogsumexp")


@cache
def rows_by_op() -> dict[str, list[samples.Sample]]:
    """Op -> rows that run, of ops with a GPU kernel."""
    found: dict[str, list[samples.Sample]] = {}
    for name in samples.families():
        for row in samples.family(name):
            definition = op_registry.get(row.op)
            if not row.error and definition.has_kernel("GPU") and not _has_text(row):
                found.setdefault(row.op, []).append(row)
    return found


def _has_text(row: samples.Sample) -> bool:
    run = SampleRun(row)
    return any(t.base_dtype is dtypes.string for t in (*run.input_types, *run.output_types))


@pytest.fixture(scope="module")
def cupy():
    """The double in place of CuPy."""
    double = RecordingCupy()
    with pytest.MonkeyPatch.context() as patch:
        for name, module in double.modules().items():
            patch.setitem(sys.modules, name, module)
        for cached in ("cupy_module", "gpu_count", "missing_gpu", "can_hold"):
            getattr(array_module, cached).cache_clear()
        yield double
    for cached in ("cupy_module", "gpu_count", "missing_gpu", "can_hold"):
        getattr(array_module, cached).cache_clear()


def _positions(ranges: Any, names: Any) -> set[int]:
    return {position for name, span in ranges.items() if name in names for position in span}


def _on_gpu(cupy: RecordingCupy, row: samples.Sample) -> SampleRun:
    """Run the row on the GPU, with its inputs in the memory that the op declares."""
    run = SampleRun(row)
    run.device.device_type, run.device.xp = "GPU", cupy
    stay = _positions(run.op_def.input_ranges(run.attrs), run.definition.host_memory)
    for position, dtype in enumerate(run.input_types):
        value = run.inputs[position]
        if isinstance(value, RefCell) or position in stay or dtype.base_dtype in _ON_HOST:
            continue
        run.inputs[position] = cupy.asarray(value)
    for cell in run.cells:
        if cell.value is not None:
            cell.value = cupy.asarray(cell.value)
    return run


@in_batches("op", sorted(rows_by_op()))
def test_a_gpu_kernel_gives_what_the_cpu_gives(op, cupy):
    """Outputs of all rows are on the GPU unless the op declares host memory."""
    for row in rows_by_op()[op]:
        wanted = SampleRun(_wide(row) if op in _CUMULATIVE else row).run()
        run = _on_gpu(cupy, row)
        outputs = run.run()
        stay = _positions(run.op_def.output_ranges(run.attrs), run.definition.host_memory)
        assert len(outputs) == len(wanted)
        for position, (found, want) in enumerate(zip(outputs, wanted)):
            if run.output_types[position] in _ON_HOST or not hasattr(want, "dtype"):
                continue
            assert isinstance(found, Array) == (position not in stay)
            value = found.host if isinstance(found, Array) else found
            if op in _CUMULATIVE:
                want = want.astype(value.dtype)
            assert value.dtype == run.output_types[position].as_numpy_dtype
            assert (value.dtype, value.shape) == (want.dtype, want.shape)
            if row.values and position not in row.undefined:
                _assert_close(value, want)


def _wide(row: samples.Sample) -> samples.Sample:
    """Return the row with four-byte floats in place of two-byte ones."""
    arrays = [np.asarray(entry) for entry in row.inputs]
    narrow = [a.dtype.itemsize == 2 and a.dtype.kind not in "iu" for a in arrays]
    inputs = (a.astype(np.float32) if n else a for a, n in zip(arrays, narrow, strict=True))
    return replace(row, inputs=tuple(inputs)) if any(narrow) else row


def _assert_close(found: Any, wanted: Any) -> None:
    if wanted.dtype.kind in "biu" or not wanted.size:
        np.testing.assert_array_equal(found, wanted)
        return
    tolerance = 1e-2 if wanted.dtype.itemsize == 2 else 1e-5
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        found.astype(wide), wanted.astype(wide), rtol=tolerance, atol=tolerance
    )
