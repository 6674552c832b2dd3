"""Whole graphs against TensorFlow's stored answers: the project's own, and those of another folder.

``TFNB_CASES`` names a folder of further cases; without it, ``shared/cases`` beside the checkout is
taken if it is there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cases.both_ways import both_ways
from tests.cases.replay import Replay, missing_ops
from tests.cases.traces import STORED, PlainBodiesReplay, TraceReplay
from tests.repeats import few
from tests.without_kernels import without_kernels
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering

_HERE = Path(__file__).parent
_OWN = sorted(path.parent for path in (_HERE / "own").glob("*/case.json"))


# Answers that depend on the last bit of a sum, one per case.
_DECIDED_BY_ROUNDING = {
    "model_mnist_cnn_train": (
        "step 4: dense_1/BiasAdd:0",
        "the gradient of a bias before a batch normalization is zero but for rounding, about 1e-8, "
        "and Adam makes a step of full length out of its sign",
    ),
}


# Cases whose own trace was made after Grappler fused and folded nodes of function bodies.
_FUSED = frozenset(["basic_pitch", "cppflow_multi_io", "cppflow_sm", "rust_savedmodel_train_tf2"])


# Cases that take seconds, whose kinds of nodes are in smaller ones, too.
_LARGE = frozenset(
    ["dag_5000_adds", "deepgaze_pitch", "fsrcnn_train_x3", "pose_mobilenet_thin_unfrozen"]
)


def _outside() -> list[Path]:
    folder = Path(os.environ.get("TFNB_CASES") or _HERE.parents[2] / "shared" / "cases")
    return sorted(path.parent for path in folder.glob("**/case.json"))


def _some(folders: list[Path], stride: int) -> list[Any]:
    """Return parameters for a test: large cases, and those between strides, are repeats."""
    return [
        pytest.param(folder, marks=pytest.mark.repeats)
        if number % stride or folder.name in _LARGE
        else folder
        for number, folder in enumerate(folders)
    ]


def _traced() -> list[Any]:
    return _some([one for one in _outside() if (one / "trace.json").exists()], 3)


def test_the_project_has_cases_of_its_own():
    """The folder of the project's own cases is not empty."""
    assert len(_OWN) >= 20


@pytest.mark.parametrize("folder", _OWN, ids=lambda folder: folder.name)
def test_own_case_gives_tensorflows_answers(folder):
    """Every fetched value and every error class is the stored one."""
    Replay(folder).run()


@pytest.mark.slow
@pytest.mark.parametrize("folder", _some(_outside(), 1), ids=lambda folder: folder.name)
def test_outside_case_gives_tensorflows_answers(folder):
    """Every fetched value and every error class is the stored one, if all ops are registered."""
    missing = missing_ops(folder)
    if missing:
        pytest.skip(f"ops not known: {', '.join(missing)}")
    _run_with_what_rounding_decides_apart(Replay, folder)


@pytest.mark.slow
@pytest.mark.parametrize("folder", _traced(), ids=lambda folder: folder.name)
def test_every_node_of_an_outside_case_runs_as_often_as_in_tensorflow(folder):
    """Loops, dead branches and pruning: the executor's own counts, step by step."""
    missing = missing_ops(folder)
    if missing:
        pytest.skip(f"ops not known: {', '.join(missing)}")
    if folder.name in _FUSED:
        # The bodies of these are covered by
        # test_every_node_of_a_case_runs_as_often_where_bodies_are_left_alone.
        assert folder.name in STORED
        TraceReplay(folder, only_outside=True).run()
    else:
        _run_with_what_rounding_decides_apart(TraceReplay, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", [f for f in _outside() if f.name in STORED], ids=lambda folder: folder.name
)
def test_every_node_of_a_case_runs_as_often_where_bodies_are_left_alone(folder):
    """With Grappler off inside functions, all nodes of bodies are counted and compared."""
    replay = PlainBodiesReplay(folder)
    replay.run()
    assert replay.compared == len(replay.traces)


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    few([*_OWN, *(one for one in _outside() if one.name not in _LARGE)], len(_OWN)),
    ids=lambda folder: folder.name,
)
def test_a_case_runs_alike_on_the_reference_and_as_functions(folder):
    """Bit for bit the same values, and the same errors at the same nodes."""
    missing = missing_ops(folder)
    if missing:
        pytest.skip(f"ops not known: {', '.join(missing)}")
    differences, _ = both_ways(folder)
    assert differences == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    few([one for one in _outside() if one.name not in _LARGE], 1),
    ids=lambda folder: folder.name,
)
def test_functions_without_kernels_give_tensorflows_answers(folder):
    """Also with the ways that round otherwise than single nodes."""
    missing = missing_ops(folder)
    if missing:
        pytest.skip(f"ops not known: {', '.join(missing)}")
    with lowering(Lowering.ALWAYS), without_kernels():
        _run_with_what_rounding_decides_apart(Replay, folder)


def test_own_cases_run_as_functions_too():
    """The comparison above includes emitted functions: at least one case emits some."""
    numbers = [both_ways(folder)[1] for folder in _OWN[:4]]
    assert sum(numbers) > 4


def _run_with_what_rounding_decides_apart(kind: type[Replay], folder: Path) -> None:
    apart, reason = _DECIDED_BY_ROUNDING.get(folder.name, ("", ""))
    replay = kind(folder, apart)
    replay.run()
    if replay.found_apart:
        pytest.xfail(f"{replay.found_apart}: {reason}")
