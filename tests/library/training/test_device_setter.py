"""``tf.train.replica_device_setter`` and ``ClusterSpec``."""

from __future__ import annotations

from typing import Any

import pytest

import tfnb as tf


def test_variables_go_to_servers_in_turn_and_ops_to_the_worker() -> None:
    """Parts of a device that the program sets are kept."""
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        variables = [tf.Variable(0, name=f"v{i}") for i in range(3)]
        total = tf.add_n(variables)
        with tf.device("/gpu:0"):
            on_gpu = total + 1
    assert [v.device for v in variables] == [f"/job:ps/task:{i}" for i in (0, 1, 0)]
    assert total.device == "/job:worker"
    assert on_gpu.device == "/job:worker/device:GPU:0"


def test_devices_of_ops_may_be_left_alone() -> None:
    """merge_devices=False keeps devices that are set."""
    setter = tf.train.replica_device_setter(1, merge_devices=False)
    with tf.Graph().as_default(), tf.device(setter), tf.device("/gpu:0"):
        assert tf.constant(1).device == "/device:GPU:0"


def test_servers_are_counted_in_a_cluster() -> None:
    """Without servers there is no device function."""
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
    setter = tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(cluster))
    with tf.Graph().as_default(), tf.device(setter):
        assert [tf.Variable(0).device for _ in range(3)][2] == "/job:ps/task:0"
    assert tf.train.replica_device_setter(cluster={"worker": ["c:1"]}) is None
    assert tf.train.replica_device_setter() is None


def test_a_strategy_of_ones_own() -> None:
    """A custom strategy must be callable."""
    setter = tf.train.replica_device_setter(4, ps_strategy=lambda op: 3, ps_ops=["Const"])
    with tf.Graph().as_default(), tf.device(setter):
        assert tf.constant(1).device == "/job:ps/task:3"
    strategy: Any = 3
    with pytest.raises(TypeError, match="must be callable"):
        tf.train.replica_device_setter(4, ps_strategy=strategy)


def test_a_cluster_in_all_its_forms() -> None:
    """A dictionary, a message, or another spec; task numbers may have gaps."""
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": {2: "c:1"}})
    for other in (spec.as_dict(), spec.as_cluster_def(), spec):
        assert tf.train.ClusterSpec(other) == spec
    assert spec.jobs == ["ps", "worker"]
    assert spec.num_tasks("ps") == 2
    assert spec.task_indices("worker") == [2]
    assert spec.task_address("worker", 2) == "c:1"
    assert spec.job_tasks("worker") == [None, None, "c:1"]
    assert spec
    assert not tf.train.ClusterSpec({})


@pytest.mark.parametrize("cluster", [3, {"ps": "a:1"}, {"ps": {1.5: "a:1"}}, {"ps": [3]}])
def test_what_is_no_cluster_is_refused(cluster: Any) -> None:
    """Other types are refused."""
    with pytest.raises(TypeError, match="must "):
        tf.train.ClusterSpec(cluster)


def test_the_number_of_a_task_may_be_a_text() -> None:
    """The error names a text that is not a number."""
    assert tf.train.ClusterSpec({"ps": {"1": "a:1"}}).task_indices("ps") == [1]
    with pytest.raises(ValueError, match=r"invalid literal for int.*'x'"):
        tf.train.ClusterSpec({"ps": {"x": "a:1"}})


def test_jobs_and_tasks_that_are_not_there() -> None:
    """The error names the missing job or task."""
    spec = tf.train.ClusterSpec({"ps": ["a:1"]})
    with pytest.raises(ValueError, match="No such job in cluster: 'x'"):
        spec.num_tasks("x")
    with pytest.raises(ValueError, match="No task with index 7 in job 'ps'"):
        spec.task_address("ps", 7)
