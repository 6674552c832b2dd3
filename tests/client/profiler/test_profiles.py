"""Views of profiles against TensorFlow's, as ``scripts/oracle/profiles.py`` stored them."""

from __future__ import annotations

import base64
import json
import lzma
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.client.profiler import models
from tfnb.proto.tfprof_log_pb2 import ProfileProto

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[2] / "golden/profiles.json.xz"
COMMANDS = ("scope", "graph", "op")
ASKED = [
    *(
        (model, run, command)
        for model in models.MODELS
        for run in ("", "run")
        for command in COMMANDS
        if not run or models.MODELS[model][1]
    ),
    *(("open_batch", "gpu", command) for command in COMMANDS),
    ("convolutional", "run", "code"),
]


@cache
def golden() -> dict[str, Any]:
    """TensorFlow's answers, and the metadata of its runs."""
    stored: dict[str, Any] = json.loads(lzma.decompress(GOLDEN.read_bytes()))
    return stored


def told(model: str, run: str) -> Any:
    """The metadata of a run: TensorFlow's, or constructed."""
    if run == "gpu":
        return models.told_by_gpu(tf)
    data = zlib.decompress(base64.b85decode(golden()["runs"][model]))
    return tf.RunMetadata.FromString(data)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "run", "command"), ASKED)
def test_views_are_those_of_tensorflow(
    model: str, run: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages and texts are equal for each set of options."""
    with tf.Graph().as_default():
        models.build(tf, model)
        if run == "gpu":  # the shapes that it lacks came from a real one
            tf.profiler.profile(run_meta=told(model, "run"))
        for question in models.questions(tf, model):
            if (question.run, question.command) != (run, command):
                continue
            capsys.readouterr()
            message = models.ask(tf, question, told(model, run) if run else None)
            answer = models.answer(question, message, *capsys.readouterr())

            assert answer == golden()["cases"][question.name], question.name


def test_every_stored_answer_is_compared() -> None:
    """The tests above use every stored answer."""
    compared = {
        question.name
        for model in models.MODELS
        for question in models.questions(tf, model)
        if (model, question.run, question.command) in ASKED
    }

    assert compared | {"steps", "refusals", "log", "advice"} == golden()["cases"].keys()


def test_a_profiler_knows_its_steps() -> None:
    """A profiler gives one step, the average, and everything as a message."""
    stored = golden()["cases"]["steps"]
    with tf.Graph().as_default():
        models.build(tf, "open_batch")
        for run in ("run", "gpu"):
            tf.profiler.profile(run_meta=told("open_batch", run))
        profiler = tf.profiler.Profiler()
        wish = models.wishes(tf)["everything"] | {"output": "none"}
        profiler.add_step(3, told("open_batch", "run"))
        profiler.add_step(7, told("open_batch", "run"))
        profiler.add_step(7, told("open_batch", "gpu"))
        for step in (-1, 3, 7):
            wish["step"] = step
            scope, flow = profiler.profile_name_scope(wish), profiler.profile_graph(wish)
            ops = profiler.profile_operations(wish)

            assert models.text_of(scope) == stored[f"scope {step}"]
            assert models.text_of(flow) == stored[f"graph {step}"]
            assert models.text_of(ops) == stored[f"op {step}"]
        known = ProfileProto.FromString(profiler.serialize_to_string())

    assert json.loads(models.known(known)) == json.loads(stored["known"])


@pytest.fixture
def open_batch() -> Iterator[tf.Graph]:
    """A graph whose shapes a run completed."""
    with tf.Graph().as_default() as graph:
        models.build(tf, "open_batch")
        for run in ("run", "gpu"):
            tf.profiler.profile(run_meta=told("open_batch", run))
        yield graph


@pytest.mark.parametrize("index", range(len(models.BAD) + 1))
def test_wrong_options_are_refused_as_in_tensorflow(
    open_batch: tf.Graph, index: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong options raise TensorFlow's error, or give an empty message and a logged line."""
    wrong, command = (*((bad, "scope") for bad in models.BAD), ({}, "nothing"))[index]
    capsys.readouterr()
    answer = models.refusal(tf, wrong, command)
    out, error = capsys.readouterr()

    assert [answer, out, models.said(error)] == golden()["cases"]["refusals"][index]


def test_the_log_of_a_graph_is_that_of_tensorflow(open_batch: tf.Graph, tmp_path: Path) -> None:
    """The log has float operations and types, of the graph and of the user's entries."""
    tf.profiler.write_op_log(
        None, str(tmp_path), models.log_of(tf), told("open_batch", "run"), add_trace=False
    )
    written = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())

    assert models.text_of(written) == golden()["cases"]["log"]


def test_advice_is_that_of_tensorflow(
    open_batch: tf.Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    """Advice covers use of the GPU, slow settings and the most expensive parts.

    Code lines are TensorFlow's.
    """
    stored = golden()["cases"]["advice"]
    capsys.readouterr()
    told = tf.profiler.advise(run_meta=models.told_by_gpu(tf))
    printed = capsys.readouterr().out

    assert told.checkers.keys() == stored.keys()
    for name, reports in stored.items():
        assert [*told.checkers[name].reports][:2] == reports[:2]
        assert f"\n{name}:\n" in printed
