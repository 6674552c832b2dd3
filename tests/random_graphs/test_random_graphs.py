"""Random graphs.

Tfnb against TensorFlow's stored answers, and all ways to run against each other.

Thousands of fresh ones, by hand::

    python -m tests.random_graphs PYTHON_WITH_TENSORFLOW --count 3000
    pytest -m repeats tests/random_graphs
"""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from typing import Any

import pytest

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
    stands_still,
    stepped,
    told,
    traced,
    written_down,
)
from tests.repeats import few

_GOLDEN = Path(__file__).parents[1] / "golden/random_graphs.json.xz"
STORED: list[dict[str, Any]] = json.loads(lzma.decompress(_GOLDEN.read_bytes()))


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(stored, id=str(stored["seed"]), marks=[pytest.mark.repeats] * (number % 2))
        for number, stored in enumerate(STORED)
    ],
)
def test_a_random_graph_gives_what_tensorflow_gave(stored: dict[str, Any]) -> None:
    """Values, dead fetches, error class and node, and the executions of each node are compared."""
    case = Case.from_json(stored["case"])
    optimize = stored["optimize"]
    got = json.loads(json.dumps(answer_of(tfnb, case, optimize)))
    assert not differences(case, stored["answer"], got, not optimize, not optimize)


@pytest.mark.slow
@pytest.mark.parametrize("block", few(range(0, 24, 3), 1))
def test_steps_lines_and_traces_of_stored_graphs_execute_what_the_reference_does(
    block: int,
) -> None:
    """A debugger's steps, the lines of an emitted function and the nodes of a trace are counted.

    The counts of the reference on these graphs are TensorFlow's (the test above).
    """
    for stored in STORED[block::24]:
        case = Case.from_json(stored["case"])
        found = disagreements(case, (stepped, lowered_line_by_line, traced))
        assert (stored["seed"], found) == (stored["seed"], [])


# The graphs are the same in every run; `python -m tests.random_graphs` makes fresh ones.
def test_all_ways_to_run_a_small_graph_agree() -> None:
    """Devices, passes, partial runs, traces and emitted functions change no answer."""
    for seed in range(200_000, 200_006):
        case = random_case(random.Random(seed), budget=3)
        assert (seed, disagreements(case)) == (seed, [])


@pytest.mark.slow
def test_all_ways_to_run_a_larger_graph_agree() -> None:
    """The larger graphs have nested loops."""
    for seed in range(200_100, 200_104):
        assert (seed, disagreements(case_of_seed(seed))) == (seed, [])


@pytest.mark.slow
@pytest.mark.repeats
def test_all_ways_to_run_forty_larger_graphs_agree() -> None:
    """Forty seeds are compared in the same way."""
    for seed in range(200_200, 200_240):
        assert (seed, disagreements(case_of_seed(seed))) == (seed, [])


@pytest.mark.slow
@pytest.mark.parametrize("block", few(range(10), 0))
def test_all_ways_to_run_many_graphs_agree(block: int) -> None:
    """Two hundred seeds are compared in the same way."""
    for seed in range(20 * block, 20 * block + 20):
        assert (seed, disagreements(case_of_seed(seed))) == (seed, [])


@pytest.mark.parametrize("seed", range(100_000, 100_024))
def test_all_ways_to_run_a_graph_agree(seed: int) -> None:
    """A few small graphs are run in each way."""
    case = case_of_seed(seed)
    if len(case.nodes) < 60:
        assert disagreements(case) == []


def _miscounted(seeds: range) -> list[tuple[int, int, Any]]:
    """Return where an emitted function counts differently from the reference."""
    found, num_counted, num_still = [], 0, 0
    for seed in seeds:
        case, on_one = case_of_seed(seed), seed % 2 == 0
        wanted = everything(case, on_one=on_one)
        if stands_still(wanted):
            num_still += 1
            continue
        got, counted = everything_counted(case, on_one=on_one)
        num_counted += counted
        for number, (one, other) in enumerate(zip(wanted, got, strict=True)):
            if one.get("counts") != other.get("counts"):
                found.append((seed, number, (one, other)))
    assert num_counted >= len(seeds) - num_still
    return found


def test_emitted_functions_count_what_the_reference_tells() -> None:
    """Live and dead runs of each node, loops, and their last iterations are compared."""
    assert _miscounted(range(100_100, 100_112)) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", few(range(5), 0))
def test_emitted_functions_of_many_graphs_count_what_the_reference_tells(block: int) -> None:
    """A hundred and fifty seeds are compared in the same way."""
    assert _miscounted(range(30 * block, 30 * block + 30)) == []


def _miswritten(seeds: range) -> list[tuple[int, int, Any]]:
    """Return where a journal of an emitted function differs from the reference's events."""
    found, num_written, num_still = [], 0, 0
    for seed in seeds:
        case = case_of_seed(seed)
        wanted = told(case)
        if stands_still(wanted):
            num_still += 1
            continue
        got, written = written_down(case, each=seed % 2 == 1)
        num_written += written
        for number, (one, other) in enumerate(zip(wanted, got, strict=True)):
            if one != other:
                found.append((seed, number, (one, other)))
    assert num_written >= len(seeds) - num_still
    return found


def test_emitted_functions_write_down_what_the_reference_tells() -> None:
    """Frames, iterations and each node in them, live or dead, are compared."""
    assert _miswritten(range(100_100, 100_112)) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", few(range(8), 0))
def test_emitted_functions_of_many_graphs_write_down_what_the_reference_tells(block: int) -> None:
    """Two hundred seeds are compared in the same way."""
    assert _miswritten(range(25 * block, 25 * block + 25)) == []


def test_a_case_survives_json() -> None:
    """A stored case equals the original."""
    case = case_of_seed(3)
    again = Case.from_json(json.loads(json.dumps(case.to_json())))
    assert again.to_json() == json.loads(json.dumps(case.to_json()))
    assert case.to_json() == case_of_seed(3).to_json()


def test_formulas_of_liveness() -> None:
    """Two sides of a predicate exclude each other and cover everything."""
    p, not_p = literal("p", True), literal("p", False)
    q = literal("q", True)
    assert are_exclusive(p, not_p)
    assert not are_exclusive(p, q)
    assert either(both(p, q), both(not_p, q)) == q
    assert either(p, not_p) == ALWAYS
    assert implies(both(p, q), q)
    assert not implies(q, both(p, q))
