"""Random graphs: tfnb against TensorFlow's stored answers, and against itself in many ways.

Thousands of fresh ones, by hand::

    python -m tests.random_graphs PYTHON_WITH_TENSORFLOW --count 3000
    pytest -m slow tests/random_graphs
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tfnb
from tests.random_graphs.answers import answer_of, differences
from tests.random_graphs.case import Case
from tests.random_graphs.generator import case_of_seed, random_case
from tests.random_graphs.liveness import ALWAYS, are_exclusive, both, either, implies, literal
from tests.random_graphs.ways import (
    disagreements,
    everything,
    everything_counted,
    lowered_line_by_line,
    stepped,
    traced,
)

if TYPE_CHECKING:
    import random

_GOLDEN = Path(__file__).parents[1] / "golden/random_graphs.json.xz"
STORED: list[dict[str, Any]] = json.loads(lzma.decompress(_GOLDEN.read_bytes()))


@pytest.mark.parametrize("stored", STORED, ids=[str(stored["seed"]) for stored in STORED])
def test_a_random_graph_gives_what_tensorflow_gave(stored: dict[str, Any]) -> None:
    """Values, dead fetches, error class and node, and how often each node was executed."""
    case = Case.from_json(stored["case"])
    optimize = stored["optimize"]
    got = json.loads(json.dumps(answer_of(tfnb, case, optimize)))
    assert not differences(case, stored["answer"], got, not optimize, not optimize)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_steps_lines_and_traces_of_stored_graphs_execute_what_the_reference_does(
    block: int,
) -> None:
    """A debugger's steps, the lines of an emitted function, the nodes of a trace: how often each.

    The stored graphs, whose counts on the reference are TensorFlow's (the test above).
    """
    for stored in STORED[block::8]:
        case = Case.from_json(stored["case"])
        found = disagreements(case, (stepped, lowered_line_by_line, traced))
        assert (stored["seed"], found) == (stored["seed"], [])


# The same graphs in every run; `python -m tests.random_graphs` has fresh ones.
_SETTINGS = settings(
    derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@settings(_SETTINGS, max_examples=6)
@given(st.randoms(use_true_random=False))
def test_all_ways_to_run_a_small_graph_agree(rng: random.Random) -> None:
    """Devices, passes, pieces, traces and emitted functions change no answer."""
    assert disagreements(random_case(rng, budget=3)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@settings(_SETTINGS, max_examples=25)
@given(rng=st.randoms(use_true_random=False))
def test_all_ways_to_run_a_larger_graph_agree(part: int, rng: random.Random) -> None:
    """The same with loops in loops, a hundred of them."""
    assert disagreements(random_case(rng)) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_all_ways_to_run_many_graphs_agree(block: int) -> None:
    """The same for four hundred seeds."""
    for seed in range(20 * block, 20 * block + 20):
        assert (seed, disagreements(case_of_seed(seed))) == (seed, [])


@pytest.mark.parametrize("seed", range(100_000, 100_024))
def test_all_ways_to_run_a_graph_agree(seed: int) -> None:
    """A few small graphs in each way."""
    case = case_of_seed(seed)
    if len(case.nodes) < 60:
        assert disagreements(case) == []


def _miscounted(seeds: range) -> list[tuple[int, int, Any]]:
    """Where an emitted function counts something else than the reference tells."""
    found, num_counted = [], 0
    for seed in seeds:
        case, on_one = case_of_seed(seed), seed % 2 == 0
        wanted = everything(case, on_one=on_one)
        got, counted = everything_counted(case, on_one=on_one)
        num_counted += counted
        for number, (one, other) in enumerate(zip(wanted, got, strict=True)):
            if one.get("counts") != other.get("counts"):
                found.append((seed, number, (one, other)))
    assert num_counted >= len(seeds)
    return found


def test_emitted_functions_count_what_the_reference_tells() -> None:
    """How often each node ran, and was dead; how often each loop, and how far it came."""
    assert _miscounted(range(100_100, 100_112)) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_emitted_functions_of_many_graphs_count_what_the_reference_tells(block: int) -> None:
    """The same for three hundred seeds."""
    assert _miscounted(range(30 * block, 30 * block + 30)) == []


def test_a_case_survives_json() -> None:
    """What is stored is what was made."""
    case = case_of_seed(3)
    again = Case.from_json(json.loads(json.dumps(case.to_json())))
    assert again.to_json() == json.loads(json.dumps(case.to_json()))
    assert case.to_json() == case_of_seed(3).to_json()


def test_formulas_of_liveness() -> None:
    """Two sides of a predicate exclude each other and make up the whole."""
    p, not_p = literal("p", True), literal("p", False)
    q = literal("q", True)
    assert are_exclusive(p, not_p)
    assert not are_exclusive(p, q)
    assert either(both(p, q), both(not_p, q)) == q
    assert either(p, not_p) == ALWAYS
    assert implies(both(p, q), q)
    assert not implies(q, both(p, q))
