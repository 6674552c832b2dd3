"""`tf.contrib.cluster_resolver`: addresses of tasks from the environment."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")

_CLUSTER = {"ps": ["ps0:2222", "ps1:2222"], "worker": ["w0:2222", "w1:2222"]}


@pytest.fixture
def resolvers() -> Any:
    """Return the module as a program gets it."""
    return importlib.import_module("tensorflow.contrib.cluster_resolver")


def _configure(patch: Any, **config: Any) -> None:
    patch.setenv("TF_CONFIG", json.dumps(config))


def test_a_task_finds_itself_in_the_environment(
    resolvers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments come before it; the protocol is part of the address."""
    _configure(monkeypatch, cluster=_CLUSTER, task={"type": "worker", "index": 1},
               rpc_layer="grpc")  # fmt: skip
    found = resolvers.TFConfigClusterResolver()
    assert (found.task_type, found.task_id, found.rpc_layer) == ("worker", 1, "grpc")
    assert found.cluster_spec().as_dict() == _CLUSTER
    assert found.master() == "grpc://w1:2222"
    assert found.master("ps", 0) == "grpc://ps0:2222"
    assert resolvers.TFConfigClusterResolver(task_id=0).master() == "grpc://w0:2222"
    found.task_type = "ps"
    assert found.master() == "grpc://ps1:2222"


@pytest.mark.parametrize("config", [{}, {"cluster": {"worker": ["w0:2222"]}}])
def test_a_task_that_is_alone_has_no_address(
    resolvers: Any, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]
) -> None:
    """It runs sessions of its own."""
    _configure(monkeypatch, **config)
    assert resolvers.TFConfigClusterResolver().master() == ""


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_broken_environment_is_named(
    resolvers: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """The message has the variable's name and its text."""
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG"):
        resolvers.TFConfigClusterResolver().cluster_spec()


def test_clusters_are_joined(resolvers: Any) -> None:
    """Lists grow, numbers stay; one number with two addresses is refused."""
    tf = importlib.import_module("tensorflow")
    spec, simple = tf.train.ClusterSpec, resolvers.SimpleClusterResolver
    one = simple(spec({"worker": ["a:1"]}), master="a:1", task_type="worker", task_id=0)
    two = simple(spec({"worker": ["b:1"], "ps": {3: "p:1"}}))
    both = resolvers.UnionClusterResolver(one, two)
    assert both.cluster_spec().as_dict() == {"worker": ["a:1", "b:1"], "ps": {3: "p:1"}}
    assert both.master() == "a:1"
    assert both.master("worker", 1, "grpc") == "grpc://b:1"
    assert (both.task_type, both.task_id) == ("worker", 0)
    other = simple(spec({"ps": {3: "q:1"}}))
    with pytest.raises(KeyError, match="Duplicate"):
        resolvers.UnionClusterResolver(two, other).cluster_spec()
    with pytest.raises(ValueError, match="At least one"):
        resolvers.UnionClusterResolver()
    with pytest.raises(TypeError, match="ClusterSpec"):
        simple(_CLUSTER)


def test_accelerators_are_counted(resolvers: Any) -> None:
    """Those that are given, or those of this process."""
    tf = importlib.import_module("tensorflow")
    spec = tf.train.ClusterSpec({})
    known = resolvers.SimpleClusterResolver(spec, num_accelerators={"GPU": 8})
    assert known.num_accelerators() == {"GPU": 8}
    assert "CPU" not in resolvers.SimpleClusterResolver(spec).num_accelerators()


def test_resolvers_of_services_say_what_to_use(resolvers: Any) -> None:
    """When they are made."""
    with pytest.raises(NotImplementedError, match="TF_CONFIG"):
        resolvers.SlurmClusterResolver()
