"""The suite of models: programs run, answers are compared, figures become tables."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from benchmarks import report
from benchmarks.models import __main__ as runner
from benchmarks.models import tables
from benchmarks.models.cases import Case, cases
from benchmarks.models.programs import programs
from benchmarks.models.server import Server, op_times
from tests.repeats import few

OWN_CASES = Path(__file__).parents[1] / "cases" / "own"


def _answers(server: Server, path: Path, name: str = "", folder: str = "") -> list[Any]:
    server.open(name, folder, str(path))
    return runner._arrays(path)


# The programs that are built fastest come first.
_FAST = ("char_rnn_step", "graph_network", "mtcnn")
_NAMES = [*_FAST, *(name for name in programs() if name not in _FAST)]


@pytest.mark.slow
@pytest.mark.parametrize("name", few(_NAMES, len(_FAST)))
def test_a_program_computes_finite_answers_and_trains(name: str, tmp_path: Path) -> None:
    """A program has answers, and its loss after three training steps is not the first one."""
    server = Server(tf, 0)
    answers = _answers(server, tmp_path / "answers", name)
    assert all(np.isfinite(array).all() for array in answers)
    if "train" in server._steps:
        count = len(server._steps["run"][0])
        assert len(answers) == 2 * count + 3
        assert answers[count] != answers[count + 2]
    server.close()


def test_a_program_computes_the_same_from_its_file(tmp_path: Path) -> None:
    """An exported program answers and trains like the one that was built."""
    server = Server(tf, 0)
    built = _answers(server, tmp_path / "built", "perceptron")
    server.export(str(tmp_path / "package"))
    loaded = _answers(server, tmp_path / "loaded", folder=str(tmp_path / "package"))
    assert len(built) == 5
    for one, other in zip(built, loaded, strict=True):
        np.testing.assert_array_equal(one, other)
    server.close()


def test_answers_are_compared_without_dropout_in_loops(tmp_path: Path) -> None:
    """The feeds of a check replace those of measured steps."""
    server = Server(tf, 0)
    server._graph = tf.Graph()
    with server._graph.as_default():
        server._build("rnn_dropout")
    (_, feeds), checked = server._steps["run"], server._checked
    assert [(float(feeds[one]), float(checked[one])) for one in checked] == [
        (pytest.approx(0.8), 1.0)
    ]


def test_blocks_have_both_times(tmp_path: Path) -> None:
    """A block is the mean of some steps, in wall time and in processor time."""
    server = Server(tf, 1)
    server.open("regression", "", str(tmp_path / "answers"))
    assert server.block("train").keys() == {"value", "cpu"}
    server.close()


def test_a_breakdown_counts_the_calls_of_each_op(tmp_path: Path) -> None:
    """The ops of a traced step are read from the labels of its statistics."""
    server = Server(tf, 0)
    server.open("perceptron", "", str(tmp_path / "answers"))
    found = server.breakdown("run")["ops"]
    assert found["MatMul"][0] == 3
    server.close()
    assert op_times(tf.RunMetadata().step_stats) == {}


def test_the_op_that_costs_more_is_first() -> None:
    """Ops are sorted by what they cost more than in TensorFlow."""
    sides = [
        {"step": 1e-3, "ops": {"Add": [1, 5e-6], "Mul": [1, 9e-6]}},
        {"step": 2e-3, "ops": {"Add": [1, 7e-6], "Mul": [1, 2e-6], "Neg": [3, 9e-6]}},
    ]
    lines = tables.breakdown("m", "run", sides).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["all", "Neg", "Add", "Mul"]
    assert lines[0].startswith("m, run: a step takes 1 ms in TensorFlow, 2 ms in tfnb")


def test_cases_without_a_plain_last_step_are_left_out() -> None:
    """Cases with errors, partial runs or threads are no models; similar graphs are one."""
    found = {case.name for case in cases(OWN_CASES)}
    assert found
    for path in OWN_CASES.glob("*/case.json"):
        steps = Case(path.parent)._case["steps"]
        if any("error" in step or step.get("kind", "run") != "run" for step in steps):
            assert path.parent.name not in found


@pytest.mark.slow
def test_a_case_becomes_a_package(tmp_path: Path) -> None:
    """The answers of a package are those that the case has stored."""
    from tests.cases.replay import difference, load_arrays

    case = next(case for case in cases(OWN_CASES) if case.measured is not None)
    case.write(tmp_path / "package")
    answers = _answers(Server(tf, 0), tmp_path / "answers", folder=str(tmp_path / "package"))
    step = case._case["steps"][case.measured or 0]
    wanted = load_arrays(OWN_CASES / case.name / "expected.npz")
    for name, array in zip(step["fetches"], answers, strict=False):
        assert difference(array, wanted[step["expect"][name]], case.rtol, case.atol) == ""


@pytest.fixture(scope="module")
def pairs() -> Any:
    """Processes of tfnb on both sides."""
    made = runner.Pairs([(sys.executable, "tfnb")] * 2, ["default"])
    yield made
    made.close()


@pytest.mark.slow
def test_a_model_is_measured_in_living_and_in_fresh_processes(pairs: Any) -> None:
    """A model has figures of both sides for each step, and for a cold start."""
    found = runner.measure(pairs, programs()["regression"], runner.Effort(1, 1, ["default"]))
    assert list(found["steps"]) == ["run", "train"]
    assert all(side["median"] > 0 for side in found["steps"]["run"]["default"])
    assert found["cold"][0].keys() == {"import", "graph", "first", "answer", "cpu", "peak"}
    assert "`regression`, training" in tables.section([found], ABOUT)


@pytest.mark.slow
def test_answers_of_both_sides_are_compared(pairs: Any, tmp_path: Path) -> None:
    """A value that differs, and an answer that is missing, are reported."""
    measured = runner.Measured(pairs, programs()["regression"], tmp_path)
    assert measured.open() == ""
    path = measured._answers["default", 1]
    first, *others = runner._arrays(path)
    for arrays, wrong in (
        ([first + 1, *others], "answer 0: 100 of 100 values differ, worst 1"),
        (others, "4 answers, TensorFlow has 5"),
    ):
        with path.open("wb") as file:
            for array in arrays:
                np.save(file, array)
        assert measured._compare() == f"tfnb with threads: default: {wrong}"
    measured.close()


@pytest.mark.slow
def test_a_model_that_fails_has_no_figures(pairs: Any) -> None:
    """The error of a process is the result, and the process goes on."""
    model = dataclasses.replace(programs()["regression"], name="unknown")
    found = runner.measure(pairs, model, runner.QUICK)
    assert found["errors"] == "tensorflow.compat.v1 with threads: default: KeyError: 'unknown'"
    assert pairs.sides["default", 0].ask("meta")["version"] == tf.__version__


SIDE = {"version": "1", "python": "3.11", "numpy": "2.4", "pools": []}
ABOUT = report.about([SIDE, SIDE], 0) | {"cores": 2}


def _found(name: str, kind: str, run: tuple[float, float]) -> dict[str, Any]:
    figures = [{"median": value, "cpu": value} for value in run]
    cold = [{"answer": v, "graph": v, "first": v, "peak": v * 2**20} for v in (2.0, 0.2)]
    plain = [figures[0], {"median": 3e-3, "cpu": 3e-3}]
    steps = {"run": {"default": figures, "plain": plain}}
    return {"name": name, "kind": kind, "steps": steps, "cold": cold}


def test_the_section_leads_with_kinds_of_models() -> None:
    """The first table has geometric means by kind, with and without compiled kernels.

    Models without figures are named.
    """
    results = [
        _found("a", "CNN", (1e-3, 2e-3)),
        _found("b", "CNN", (1e-3, 5e-4)),
        {"name": "c", "kind": "RNN", "errors": "answer 0: other strings"},
    ]
    text = tables.section(results, ABOUT)
    assert "| a CNN | 2 | 1.00 | 3.00 |  |  | 0.10 | 0.10 |" in text
    assert "| `a` | 1 ms | 2 ms | **2.00** | 3 ms | 3.00 | 2.00 |  |" in text
    assert "| `b` | 2 s | 200 ms | **0.10** |" in text
    assert "* `c`: answer 0: other strings" in text


def test_the_document_keeps_the_section_of_models(tmp_path: Path) -> None:
    """The section is first, is replaced by a new one, and survives the other benchmarks."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    page = tmp_path / "docs" / "benchmarks.md"
    report.write(tmp_path, {}, ABOUT)
    report.put_models(tmp_path, tables.section([_found("old", "CNN", (1.0, 1.0))], ABOUT))
    report.put_models(tmp_path, tables.section([_found("new", "CNN", (1.0, 1.0))], ABOUT))
    text = page.read_text()
    assert text.index("## Models") < text.index("## On a GPU")
    assert ("`new`" in text, "`old`" in text) == (True, False)
    report.write(tmp_path, {}, ABOUT)
    assert page.read_text() == text
