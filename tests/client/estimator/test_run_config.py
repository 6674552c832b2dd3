"""`tf.estimator.RunConfig`, with the tasks that `TF_CONFIG` describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.client.estimator.models import line, points

RunConfig = tf.estimator.RunConfig
CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "b:2"], "ps": ["c:1"]}


def test_an_interval_replaces_the_other_one() -> None:
    """Checkpoints are saved by steps or by seconds; the original does not change."""
    config = RunConfig(save_checkpoints_steps=5)
    other = config.replace(save_checkpoints_secs=3, model_dir=Path("/tmp/a"))

    assert (RunConfig().save_checkpoints_secs, config.save_checkpoints_secs) == (600, None)
    assert (other.save_checkpoints_steps, other.save_checkpoints_secs) == (None, 3)
    assert (config.save_checkpoints_steps, config.model_dir) == (5, None)
    assert other.model_dir == "/tmp/a"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"save_checkpoints_steps": 1, "save_checkpoints_secs": 1}, "cannot be both set"),
        ({"model_dir": ""}, "model_dir should be non-empty"),
        ({"save_summary_steps": -1}, "save_summary_steps should be >= 0"),
        ({"keep_checkpoint_every_n_hours": 0}, "keep_checkpoint_every_n_hours should be > 0"),
        ({"log_step_count_steps": 0}, "log_step_count_steps should be > 0"),
        ({"tf_random_seed": 1.5}, "tf_random_seed must be integer"),
        ({"session_config": {}}, "must be instance of ConfigProto"),
        ({"device_fn": lambda node: ""}, 'exactly one argument "op"'),
        ({"protocol": "http"}, "protocol should be grpc"),
    ],
)
def test_values_are_checked(arguments: dict[str, Any], message: str) -> None:
    """When they are given, and when they are replaced."""
    with pytest.raises(ValueError, match=message):
        RunConfig(**arguments)
    with pytest.raises(ValueError, match=message):
        RunConfig().replace(**arguments)


def test_what_is_not_there_is_refused() -> None:
    """Strategies, and properties that do not exist."""
    with pytest.raises(NotImplementedError, match="TF_CONFIG"):
        RunConfig(train_distribute=object())
    with pytest.raises(ValueError, match="Replacing master is not supported"):
        RunConfig().replace(master="x")


def configured(monkeypatch: pytest.MonkeyPatch, **described: Any) -> Any:
    """Return the configuration of a task."""
    monkeypatch.setenv("TF_CONFIG", json.dumps(described))
    return RunConfig()


def test_a_task_finds_its_place_in_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chief is the first of all, parameter servers are the last."""
    places = {}
    for job, index in (("chief", 0), ("worker", 1), ("ps", 0)):
        task = {"type": job, "index": index}
        config = configured(monkeypatch, cluster=CLUSTER, task=task)
        places[job] = (config.master, config.is_chief, config.global_id_in_cluster)
        assert (config.num_ps_replicas, config.num_worker_replicas) == (1, 3)
        assert config.session_config.device_filters

    assert places == {
        "chief": ("grpc://a:1", True, 0),
        "worker": ("grpc://b:2", False, 2),
        "ps": ("grpc://c:1", False, 3),
    }
    evaluator = configured(monkeypatch, cluster=CLUSTER, task={"type": "evaluator", "index": 0})
    assert not evaluator.cluster_spec
    assert (evaluator.master, evaluator.is_chief) == ("", False)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"cluster": {"worker": ["a:1"]}}, 'it must have one "chief" node'),
        ({"cluster": CLUSTER}, "task type must be set"),
        ({"cluster": CLUSTER, "task": {"type": "worker"}}, "task index must be set"),
        (
            {"cluster": CLUSTER, "task": {"type": "worker", "index": 2}},
            "2 is not a valid task_id for task_type worker",
        ),
        ({"cluster": CLUSTER, "task": {"type": "x", "index": 0}}, "x is not a valid task_type"),
        (
            {"cluster": {**CLUSTER, "master": ["d:1"]}, "task": {"type": "ps", "index": 0}},
            "job `chief` is not supported",
        ),
        ({"task": {"type": "ps"}}, "task type must be WORKER"),
        ({"model_dir": ""}, "model_dir in TF_CONFIG should be non-empty"),
    ],
)
def test_tasks_that_do_not_fit_are_refused(
    described: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what `TF_CONFIG` lacks."""
    with pytest.raises(ValueError, match=message):
        configured(monkeypatch, **described)


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_text_that_is_no_configuration_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error shows it."""
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="The environment variable TF_CONFIG"):
        RunConfig()


def test_only_tasks_that_train_can_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter server runs `train_and_evaluate`."""
    configured(monkeypatch, cluster=CLUSTER, task={"type": "ps", "index": 0})
    with pytest.raises(ValueError, match=r"Please use tf.estimator.train_and_evaluate"):
        line(tmp_path).train(points(), steps=1)


def test_folders_must_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the Estimator, of its configuration and of `TF_CONFIG`."""
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": "/tmp/x"}))
    assert RunConfig().model_dir == "/tmp/x"
    with pytest.raises(ValueError, match="must have the same value as the model_dir in TF_CONFIG"):
        RunConfig("/tmp/y")
    with pytest.raises(ValueError, match="`model_dir` are set both in constructor"):
        tf.estimator.Estimator(lambda features: None, "/tmp/z", RunConfig())
