"""Names, versions, limits and safety of a served model."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.serving.conftest import serving
from tfnb.__main__ import main
from tfnb.serving.model_server import ModelServer
from tfnb.serving.served_model import ServedModel
from tfnb.serving.short_steps import is_bounded

if TYPE_CHECKING:
    from pathlib import Path


def test_the_newest_version_of_a_folder_is_served(half_plus_two_path: str, tmp_path: Path) -> None:
    """Versions are numbers, not texts."""
    for version in ("9", "00010", "notes"):
        shutil.copytree(half_plus_two_path, tmp_path / "half" / version)
    with serving(ServedModel.read(str(tmp_path / "half"))) as service:
        status, answer = service.ask("GET", "/v1/models/half/versions/10")
    assert status == 200
    assert answer["model_version_status"][0]["version"] == "10"


def test_a_graph_alone_has_a_default_signature(graph_file: Any) -> None:
    """Its placeholders are the inputs."""
    path = graph_file(lambda: tf.square(tf.placeholder(tf.float32, [None], name="x"), name="y"))
    with serving(path) as service:
        assert service.name == "m"
        assert service.post("predict", {"instances": [3]}) == (200, {"predictions": [9.0]})


def test_two_outputs_are_rows_of_objects(graph_file: Any) -> None:
    """A row has a value of each output; outputs without common rows need columns."""

    def build() -> None:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.square(x, name="square")
        tf.reduce_sum(x, name="sum")
        tf.negative(x, name="negative")

    path = graph_file(build)
    with serving(tf.load(path, outputs=["square", "negative"])) as service:
        assert service.post("predict", {"instances": [3]}) == (
            200,
            {"predictions": [{"square": 9.0, "negative": -3.0}]},
        )
    with serving(tf.load(path, outputs=["square", "sum"])) as service:
        status, answer = service.post("predict", {"instances": [1, 2]})
        assert status == 400
        assert "no rows in common" in answer["error"]
        assert service.post("predict", {"inputs": [1, 2]})[1]["outputs"]["sum"] == 3.0


def test_a_strangers_graph_reads_no_file(graph_file: Any, tmp_path: Path) -> None:
    """A request gives no permission, and the refusal has a code."""
    (tmp_path / "secret").write_text("s")
    path = graph_file(
        lambda: tf.identity(tf.read_file(tf.placeholder(tf.string, [], name="x")), name="y")
    )
    with serving(path) as service:
        status, answer = service.post("predict", {"inputs": str(tmp_path / "secret")})
        assert status == 403
        assert "tfnb.safety.allow" in answer["error"]


def test_a_loop_that_does_not_end_is_ended(graph_file: Any) -> None:
    """The answer comes, and the runtime ends the step."""

    def build() -> None:
        x = tf.placeholder(tf.float32, [], name="x")
        last = tf.while_loop(lambda i: i < x, lambda i: i + 0.0 * x, [x - 1.0])
        tf.identity(last, name="y")

    model = tf.load(graph_file(build), outputs="y")
    assert not is_bounded(model, model.graph)
    with serving(model, timeout_s=0.2, num_workers=1) as service:
        status, answer = service.post("predict", {"inputs": 1.0})
        assert status == 504, answer
        assert service.ask("GET", "/healthz")[0] == 200


def test_steps_without_loops_and_waits_are_bounded(graph_file: Any) -> None:
    """A queue may wait; a product may not."""

    def build() -> None:
        queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.add(x, queue.dequeue(), name="waits")
        tf.square(x, name="square")

    path = graph_file(build)
    for output, expected in (("waits", False), ("square", True)):
        model = tf.load(path, outputs=output)
        assert is_bounded(model, model.graph) is expected


def test_other_machines_need_a_certificate(graph_file: Any, capsys: Any) -> None:
    """The line says what to give."""
    path = graph_file(lambda: tf.square(tf.placeholder(tf.float32, [None], name="x"), name="y"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="give a certificate"):
        ModelServer(ServedModel.read(path), rest="0.0.0.0:0")
    assert main(["serve-model", path, "--host", "0.0.0.0"]) == 2
    assert "--tls-cert" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--port", "off", "--rest-port", "off"], 2, "nothing would be served"),
        (["--port", "x"], 2, "a port is a number"),
        (["--rest-port", "70000"], 2, "a port is a number"),
        (["--batch", "0"], 2, "batch_size is 0"),
        (["--tls-cert", "c"], 2, "belong together"),
        (["--signature", "no"], 3, "has no signature"),
    ],
)
def test_the_command_says_what_is_wrong(
    half_plus_two_path: str, capsys: Any, options: list[str], code: int, says: str
) -> None:
    """Nothing is served."""
    assert main(["serve-model", half_plus_two_path, *options]) == code
    assert says in capsys.readouterr().err
