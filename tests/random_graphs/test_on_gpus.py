"""Random graphs on two doubles of GPUs: results as on CPUs, and no races."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.common_runtime.conftest import cupy  # noqa: F401 - a fixture
from tests.random_graphs.case import Case, Node
from tests.random_graphs.generator import case_of_seed
from tests.random_graphs.ways import Everything, _script, plain_config, reference, stands_still
from tests.repeats import few
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering

if TYPE_CHECKING:
    from tests.common_runtime.device.recording_cupy import RecordingCupy
    from tfnb.proto import config_pb2

_GPUS = {"/cpu:1": "/gpu:0", "/cpu:2": "/gpu:1", "": "/gpu:0"}


def _moved(case: Case) -> Case:
    nodes = [
        Node(n.name, n.op, n.inputs, n.attrs, _GPUS.get(n.device, n.device)) for n in case.nodes
    ]
    return Case(nodes, case.steps, case.has_state, case.is_odd, case.notes)


def _gpu_config() -> config_pb2.ConfigProto:
    config = plain_config()
    config.allow_soft_placement = True
    return config


def _differences(seed: int, cupy: RecordingCupy) -> list[str]:  # noqa: F811
    case = case_of_seed(seed)
    # Three times: kernel by kernel, captured, launched.
    case.steps = [step for step in case.steps for _ in range(3)]
    wanted = reference(case)
    if stands_still(wanted):
        return []
    moved, config = _moved(case), _gpu_config()
    nodes = moved.nodes
    ops = {node.name: node.op for node in nodes}
    found: list[Any] = []
    lines = []
    for way in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(way):
            found = _script(moved, config)
        for number, (one, other) in enumerate(zip(wanted, found, strict=False)):
            if "pivot" in other.get("text", ""):
                break  # a part of a loop without an end is refused only where it spans devices
            if "error" in one and ops.get(one["error"][1], "").startswith("Gather"):
                break  # a GPU reads zeros there, as TensorFlow's does
            for key in ("error", "dead", "values"):
                if one.get(key) != other.get(key):
                    lines.append(f"{way}, step {number}: {key} {one.get(key)} | {other}")
                    break
    return [*lines, *cupy.races]


# Small graphs over several devices.
_SEEDS = (200_030, 200_051, 200_068, 200_070, 200_078, 200_088, 200_098)


@pytest.mark.parametrize("seed", _SEEDS)
def test_a_graph_on_gpus_gives_what_it_gives_on_cpus(seed: int, cupy: RecordingCupy) -> None:  # noqa: F811
    """The reference executor, and one function with fused kernels and CUDA graphs, are compared."""
    assert _differences(seed, cupy) == []


@pytest.mark.parametrize("seed", _SEEDS)
def test_nodes_on_gpus_are_counted_as_the_reference_tells(seed: int, cupy: RecordingCupy) -> None:  # noqa: F811
    """Bytes of transfers count, in functions with fused kernels and graphs."""
    case = _moved(case_of_seed(seed))
    case.steps = [step for step in case.steps for _ in range(3)]
    answers = []
    for takes_counts, way in ((False, Lowering.NEVER), (True, Lowering.ALWAYS)):
        counts = Everything(takes_counts)
        with lowering(way):
            outcomes = _script(case, _gpu_config(), counts=counts)
        answers.append([one.get("counts") for one in outcomes])
    assert counts.num_counted > 0
    assert answers[0] == answers[1]


@pytest.mark.slow
@pytest.mark.parametrize("block", few(range(20), 2))
def test_many_graphs_on_gpus_give_what_they_give_on_cpus(
    block: int,
    cupy: RecordingCupy,  # noqa: F811
) -> None:
    """A hundred seeds are compared in the same way."""
    for seed in range(5 * block, 5 * block + 5):
        assert (seed, _differences(seed, cupy)) == (seed, [])
