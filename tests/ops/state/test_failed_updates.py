"""The contents of a variable after an update with an index out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.kernel_runner import SampleRun
from tests.ops.samples import Resource, Sample
from tfnb.core import dtypes, errors, op_registry

_OPERATIONS = "Update Add Sub Mul Div Min Max"
# TensorFlow checks each index of these when it is reached; for the others, it checks all first.
_ROW_BY_ROW = "AdagradDA Ftrl FtrlV2 Momentum ProximalAdagrad ProximalGradientDescent"
_ALL_FIRST = "Adadelta Adagrad AdagradV2 CenteredRMSProp RMSProp"


def _changed(op_type: str, shape: tuple[int, ...], indices: list[int]) -> list[list[bool]]:
    """Return which rows of each variable have changed after the op failed."""
    inputs: list[Any] = []
    for arg in op_registry.get(op_type).op_def.inputs:
        if arg.is_ref or arg.type == dtypes.resource:
            value = np.full(shape, 2.0)
            inputs.append(value if arg.is_ref else Resource(value))
        elif arg.name == "indices":
            array = np.array(indices, np.int32)
            inputs.append(array[:, None] if "ScatterNd" in op_type else array)
        elif arg.name in ("grad", "updates"):
            sign = -1.0 if op_type.endswith("Min") else 1.0
            inputs.append(np.full((len(indices), *shape[1:]), 5.0 * sign))
        elif arg.name == "global_step":
            inputs.append(np.array(2, np.int64))
        else:
            inputs.append(np.array(-0.5 if arg.name == "lr_power" else 0.5))
    run = SampleRun(Sample(op_type, tuple(inputs), {}))
    with pytest.raises(errors.InvalidArgumentError, match="9"):
        run.run()
    return [(cell.value != 2).reshape(shape[0], -1).any(1).tolist() for cell in run.cells]


@pytest.mark.parametrize("prefix", ["", "Resource"])
@pytest.mark.parametrize("operation", _OPERATIONS.split())
def test_rows_before_the_wrong_index_are_scattered(prefix: str, operation: str) -> None:
    """A scattering op proceeds by rows, and stops at an invalid index."""
    found = _changed(f"{prefix}Scatter{operation}", (4,), [0, 1, 9, 2])
    assert found == [[True, True, False, False]]


@pytest.mark.parametrize("prefix", ["", "Resource"])
@pytest.mark.parametrize("operation", ["Update", "Add", "Sub", "Min", "Max"])
def test_coordinates_inside_are_scattered(prefix: str, operation: str) -> None:
    """Scattering at coordinates writes all valid ones before it raises the error."""
    found = _changed(f"{prefix}ScatterNd{operation}", (4, 2), [0, 9, 2])
    assert found == [[True, False, True, False]]


@pytest.mark.parametrize("prefix", ["", "Resource"])
@pytest.mark.parametrize("rule", _ROW_BY_ROW.split())
def test_rows_before_the_wrong_index_are_trained(prefix: str, rule: str) -> None:
    """Optimizers that proceed by rows have changed those before the invalid index."""
    found = _changed(f"{prefix}SparseApply{rule}", (4, 2), [0, 1, 9, 2])
    assert found[0] == [True, True, False, False]
    assert all(rows in ([False] * 4, found[0]) for rows in found)


@pytest.mark.parametrize("prefix", ["", "Resource"])
@pytest.mark.parametrize("rule", _ALL_FIRST.split())
def test_no_row_is_trained(prefix: str, rule: str) -> None:
    """Optimizers that check all indices first change nothing."""
    found = _changed(f"{prefix}SparseApply{rule}", (4, 2), [0, 1, 9, 2])
    assert found == [[False] * 4] * len(found)


def test_a_rule_for_resources_only_goes_from_row_to_row() -> None:
    """This also holds for Keras's momentum."""
    found = _changed("ResourceSparseApplyKerasMomentum", (4, 2), [0, 1, 9, 2])
    assert found == [[True, True, False, False]] * 2
