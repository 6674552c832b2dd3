"""``%tfnb cluster``: the tasks that are known, whether they answer, and what waits for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of
from tfnb.core.process.server_waits import waiting_for_server
from tfnb.notebook.lab.lab_snapshot import LabSnapshots
from tfnb.notebook.views.cluster import cluster, known_tasks, task_row, wait_lines
from tfnb.notebook.views.partitions import partitions_text
from tfnb.notebook.views.record import record
from tfnb.notebook.views.targets import TargetError, find_signature

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def tasks() -> Iterator[Cluster]:
    """A parameter server and a worker."""
    with cluster_of(ps=1, worker=1) as made:
        yield made


def test_the_tasks_of_a_cluster_are_listed_with_their_devices_and_memory(tasks: Cluster) -> None:
    """In a terminal: a table of text."""
    lines = cluster(tasks.spec).text.splitlines()

    assert lines[0].split() == ["task", "address", "state", "devices", "says"]
    assert [line.split()[0] for line in lines[1:]] == ["/job:ps/task:0", "/job:worker/task:0"]
    assert all(" answers " in line and "MB resident" in line for line in lines[1:])


def test_servers_of_this_process_and_targets_of_sessions_are_known(tasks: Cluster) -> None:
    """Each address once."""
    with tf.Graph().as_default(), tf.Session(tasks.target()):
        found = known_tasks()

    assert found[tasks.spec.task_address("ps", 0)] == "/job:ps/replica:0/task:0"
    assert found[tasks.spec.task_address("worker", 0)] == "/job:worker/replica:0/task:0"


def test_clusters_in_variables_are_known() -> None:
    """Also those whose servers are elsewhere."""
    spec = tf.train.ClusterSpec({"ps": ["somewhere:2222"]})

    assert known_tasks([1, spec])["somewhere:2222"] == "/job:ps/replica:0/task:0"


def test_a_task_that_does_not_answer_says_why_and_keeps_no_old_figures() -> None:
    """After its server has stopped."""
    with cluster_of(ps=1) as parts:
        assert "MB resident" in cluster(parts.spec).text
        parts.stop("ps")
        text = cluster(parts.spec).text

    assert "does not answer" in text
    assert "MB resident" not in text


@pytest.mark.parametrize("target", ["nothing", 3])
def test_a_target_that_names_no_server_is_refused(target: Any) -> None:
    """With what may be given instead."""
    with pytest.raises(TargetError, match="give a ClusterSpec, a Server, a session"):
        cluster(target)


def test_a_session_of_this_process_has_no_server() -> None:
    """It runs here."""
    with (
        tf.Graph().as_default(),
        tf.Session() as sess,
        pytest.raises(TargetError, match="runs in this process"),
    ):
        cluster(sess)


def test_in_a_notebook_it_is_an_escaped_table(
    tasks: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of jobs are anybody's."""
    module = sys.modules[cluster.__module__]
    monkeypatch.setattr(module, "is_notebook", lambda shell: True)
    spec = tf.train.ClusterSpec({"<b>": ["localhost:1"]})
    found = cluster(spec)

    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert "/job:<b>/task:0" in repr(found)


def test_a_request_that_waits_is_a_line() -> None:
    """With the task that is missing, for how long, and what to do."""
    with waiting_for_server("grpc://localhost:1", "CreateSession") as wait:
        assert wait_lines() == []
        wait.text = "the server is there, and waits for /job:ps/replica:0/task:0"
        wait.advice = "Name those that the session needs: device_filters"
        (line,) = wait_lines()
        assert LabSnapshots().take()["waits"] == [line]
        assert line in cluster(tf.train.ClusterSpec({"a": ["localhost:1"]})).text

    assert "waits for /job:ps/replica:0/task:0. Name those that" in line
    assert wait_lines() == []


def test_the_panel_lists_tasks_and_signatures_of_sessions_on_servers(tasks: Cluster) -> None:
    """Without an observer of the steps."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            x = tf.constant(1.0, name="x") + tf.random_uniform([])
        with tf.Session(tasks.target()) as sess:
            sess.run(x)
            snapshots = LabSnapshots()
            servers = snapshots.take()["servers"]
            while not all(one["answers"] for one in servers):
                servers = snapshots.take()["servers"]
            (shown,) = [
                one for one in snapshots.take()["sessions"] if one["target"] == tasks.target()
            ]

    assert {"/job:ps/task:0", "/job:worker/task:0"} <= {one["task"] for one in servers}
    assert not shown["canHold"]
    assert shown["signatures"][0]["devices"] == ["/job:ps/task:0/CPU:0", "/job:worker/task:0/CPU:0"]


def test_a_recorded_step_has_a_lane_for_each_task_with_bytes_and_waits(tasks: Cluster) -> None:
    """In text, too."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            x = tf.random_uniform([10, 10], name="x")
        with tf.device("/job:worker/task:0"):
            y = tf.negative(x, name="y")
        with tf.Session(tasks.target()) as sess:
            with record() as recording:
                sess.run(y)
            text = partitions_text(find_signature(y, session=sess).partitioned, recording.record)

    assert recording.record.lanes is not None
    assert [one.rpartition("/device")[0] for one in recording.record.scene.partitions] == [
        "/job:ps/replica:0/task:0",
        "/job:worker/replica:0/task:0",
    ]
    assert "/job:ps/task:0/CPU:0 → /job:worker/task:0/CPU:0" in text
    assert "400 bytes, waited" in text


def test_a_row_is_short() -> None:
    """The replica, always 0, is left out."""
    from tfnb.distributed_runtime.task_health import TaskHealth

    device = "/job:ps/replica:0/task:0/device:CPU:0", "CPU", 10**8
    health = TaskHealth("/job:ps/replica:0/task:0", "a:1", "answers", 3.0, (device,))

    assert task_row(health) == (
        "/job:ps/task:0",
        "a:1",
        "answers",
        "CPU:0",
        "100 MB for its devices; it tells no more",
    )
