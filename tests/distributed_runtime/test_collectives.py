"""Collective ops between tasks: in one graph, and in graphs with masters of their own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.core.rendezvous import CollectiveGroups, Member
from tfnb.distributed_runtime.grpc_channel import import_grpc
from tfnb.distributed_runtime.grpc_services import WorkerService, answering_later
from tfnb.distributed_runtime.server_threads import ServerThreads
from tfnb.distributed_runtime.task_groups import StepSequences, TaskGroups, check_library
from tfnb.distributed_runtime.worker import Worker
from tfnb.distributed_runtime.worker_interface import DESCRIPTION
from tfnb.proto import worker_pb2
from tfnb.proto.device_attributes_pb2 import DeviceAttributes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LEADER = "/job:worker/replica:0/task:0"
KEYS = {"group_size": 2, "group_key": 1}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two workers, of which the first leads the groups."""
    with cluster_of(_config(), worker=2) as made:
        yield made


def _config() -> tf.ConfigProto:
    config = tf.ConfigProto()
    config.experimental.collective_group_leader = LEADER
    return config


def _sum(value: Any, instance_key: int, **attrs: Any) -> tf.Tensor:
    return tf.raw_ops.CollectiveReduce(
        input=value, merge_op="Add", final_op="Id", subdiv_offsets=[0],
        instance_key=instance_key, **(KEYS | attrs),
    )  # fmt: skip


def test_ops_of_one_graph_meet_across_its_tasks(cluster: Cluster) -> None:
    """A reduction, a gathering and a broadcast, each with a member on both tasks."""
    reduced, gathered, sent = [], [], []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}"):
            value = tf.constant([1.0 + index, 10.0])
            reduced.append(_sum(value, 1))
            rows = tf.raw_ops.CollectiveGather(input=value, instance_key=2, shape=[4], **KEYS)
            gathered.append(rows)
            if index:
                one = tf.raw_ops.CollectiveBcastSend(input=value, instance_key=3, shape=[2], **KEYS)
            else:
                one = tf.raw_ops.CollectiveBcastRecv(
                    T=tf.float32, instance_key=3, shape=[2], **KEYS
                )
            sent.append(one)

    with tf.Session(cluster.target()) as sess:
        for _ in range(2):
            found = sess.run([reduced, gathered, sent])

    assert [one.tolist() for one in found[0]] == [[3.0, 20.0]] * 2
    assert [one.tolist() for one in found[1]] == [[1.0, 10.0, 2.0, 10.0]] * 2
    assert [one.tolist() for one in found[2]] == [[2.0, 10.0]] * 2


def _trained(cluster: Cluster, steps: Sequence[Callable[[tf.Session, Any], Any]]) -> list[Any]:
    """Run a replica on each worker, whose variable follows the sum of both; return the answers."""

    def replica(index: int) -> list[Any]:
        with tf.Graph().as_default(), tf.device(f"/job:worker/task:{index}"):
            total = tf.get_variable(f"total_{index}", initializer=[float(index)], use_resource=True)
            mean = _sum(total, 7)
            step = total.assign_add(mean)
            config = tf.ConfigProto(device_filters=[f"/job:worker/task:{index}"])
            with tf.Session(cluster.target(index=index), config=config) as sess:
                sess.run(total.initializer)
                return [run(sess, step) for run in steps]

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(replica, range(2)))


def test_graphs_with_masters_of_their_own_run_their_steps_together(cluster: Cluster) -> None:
    """Each step of one master is the same step of the other."""
    step = lambda sess, fetch: sess.run(fetch).tolist()  # noqa: E731

    first, second = _trained(cluster, [step] * 3)

    assert first == [[1.0], [4.0], [13.0]]
    assert second == [[2.0], [5.0], [14.0]]


def test_an_error_of_one_master_ends_the_steps_of_the_others(cluster: Cluster) -> None:
    """The next step works: the masters agree on it again."""

    def replica(index: int) -> list[Any]:
        with tf.Graph().as_default(), tf.device(f"/job:worker/task:{index}"):
            fed = tf.placeholder(tf.float32, [None])
            mean = _sum(fed, 9)
            config = tf.ConfigProto(device_filters=[f"/job:worker/task:{index}"])
            with tf.Session(cluster.target(index=index), config=config) as sess:
                try:
                    sess.run(mean, {fed: [1.0] * (1 + index)})
                    error = None
                except tf.errors.OpError as found:
                    error = type(found)
                return [error, sess.run(mean, {fed: [1.0, 2.0]}).tolist()]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(replica, range(2))

    assert first == [tf.errors.InvalidArgumentError, [2.0, 4.0]]
    assert second[0] in (tf.errors.InvalidArgumentError, tf.errors.AbortedError)
    assert second[1] == [2.0, 4.0]


def test_a_task_that_was_started_again_joins_its_group_again() -> None:
    """Those who know its former self are told, and ask the leader again."""
    with cluster_of(_config(), worker=2) as cluster:
        step = lambda sess, fetch: sess.run(fetch).tolist()  # noqa: E731
        assert _trained(cluster, [step])[0] == [[1.0]]
        cluster.stop("worker", 1)
        cluster.start("worker", 1)

        def retried(sess: tf.Session, fetch: Any) -> Any:
            while True:
                try:
                    return sess.run(fetch).tolist()
                except (tf.errors.AbortedError, tf.errors.UnavailableError):
                    continue

        first, second = _trained(cluster, [retried])

    assert first == [[1.0]]
    assert second == [[2.0]]


def test_tasks_of_tensorflow_are_refused_as_members() -> None:
    """They exchange tensors by a ring of their own."""
    check_library(Member("/job:worker/task:0/device:CPU:0", 1, DESCRIPTION))
    with pytest.raises(tf.errors.UnimplementedError, match="or all on tasks of TensorFlow"):
        check_library(Member("/job:worker/task:0/device:CPU:0", 1, "device: CPU"))


def test_ranks_follow_names_with_numbers() -> None:
    """Device 10 comes after device 9; a device that joins again is no further member."""
    groups, heard = CollectiveGroups(), []
    names = [f"/job:a/replica:0/task:0/device:CPU:{number}" for number in (10, 9, 0)]
    for name in (names[0], *names):
        groups.join(1, 3, Member(name, 1), lambda error, members: heard.append(members))

    assert [[one.device for one in members] for members in heard] == [names[::-1]] * 4


def test_what_does_not_fit_a_group_is_an_error() -> None:
    """A size of none, another size, a member too many; those who wait go on waiting."""
    groups = CollectiveGroups()
    heard: list[tuple[str, Any]] = []

    def note(name: str, error: Any, members: Any) -> None:
        heard.append((name, type(error).__name__ if error else len(members)))

    def join(name: str, size: int) -> Callable[[], None]:
        return groups.join(1, size, Member(name, 1), partial(note, name))

    join("a", 2)
    join("b", 3)
    join("c", 0)
    assert heard == [("b", "InternalError"), ("c", "InvalidArgumentError")]
    join("d", 2)
    join("e", 2)
    assert heard[2:] == [("a", 2), ("d", 2), ("e", "InternalError")]


def test_a_member_that_gives_up_is_not_called() -> None:
    """It stays a member: its next step joins again."""
    groups = CollectiveGroups()
    heard: list[Any] = []
    note = lambda error, members: heard.append(members)  # noqa: E731
    groups.join(1, 2, Member("a", 1), note)()
    groups.join(1, 2, Member("b", 1), note)

    assert heard == [(Member("a", 1), Member("b", 1))]


class _Leader:
    """A worker that leads; it counts what it is asked."""

    def __init__(self) -> None:
        self.groups, self.num_asked, self.next_id = CollectiveGroups(), 0, 40

    def complete_group(self, key: int, size: int, member: Member, callback: Any) -> Any:
        self.num_asked += 1
        return self.groups.join(key, size, member, callback)

    def get_step_sequence(self, graph_key: int) -> int:
        self.num_asked += 1
        return self.next_id


class _Caller:
    """What gRPC gives a handler: the context of a request, and what sends its answer."""

    def __init__(self) -> None:
        self.sent: list[bytes | None] = []
        self.code: Any = None
        self.ended: list[Callable[[], None]] = []
        self.is_over = threading.Event()

    def send(self, answer: bytes | None) -> None:
        self.sent.append(answer)
        if answer is None:
            self.is_over.set()

    def add_callback(self, callback: Callable[[], None]) -> bool:
        self.ended.append(callback)
        return True

    def set_code(self, code: Any) -> None:
        self.code = code

    def set_details(self, details: str) -> None:
        self.details = details


def _completing(threads: ServerThreads) -> Callable[..., _Caller]:
    """Return what asks a task, as gRPC does, to complete a group of two devices."""

    def no_other(task: str) -> Any:
        raise AssertionError(f"{task} was asked")

    service = WorkerService(Worker(LEADER, [CpuDevice(f"{LEADER}/device:CPU:0", 0)], no_other))
    handle = answering_later(
        import_grpc(), "CompleteGroup", service.waiting["CompleteGroup"], threads
    )

    def ask(task: int, size: int = 2) -> _Caller:
        attributes = DeviceAttributes(
            name=f"/job:worker/replica:0/task:{task}/device:CPU:0", physical_device_desc=DESCRIPTION
        )
        request = worker_pb2.CompleteGroupRequest(
            group_key=77, group_size=size, device_type="CPU", device_attributes=attributes
        )
        caller = _Caller()
        handle(request.SerializeToString(), caller, caller.send)
        return caller

    return ask


def test_a_task_that_waits_for_members_of_a_group_holds_no_thread() -> None:
    """The handler has returned; the answers are sent when the last member has come."""
    threads = ServerThreads("answers")
    ask = _completing(threads)
    first, gone = ask(0), ask(0)
    assert (first.sent, gone.sent) == ([], [])
    gone.ended[0]()  # its client is killed
    second = ask(1)
    for caller in (first, second):
        caller.is_over.wait()
        answer = worker_pb2.CompleteGroupResponse.FromString(caller.sent[0])
        assert (answer.num_tasks, len(answer.device_attributes)) == (2, 2)
    assert gone.sent == []
    wrong = ask(2, size=3)
    wrong.is_over.wait()
    assert (wrong.sent, wrong.code) == ([None], import_grpc().StatusCode.INTERNAL)
    threads.shutdown()


def test_a_complete_group_is_asked_for_once_until_a_step_fails() -> None:
    """The leader need not answer in each step."""
    leader: Any = _Leader()
    groups = TaskGroups("/job:worker/replica:0/task:1", LEADER)
    heard: list[Any] = []

    def join() -> None:
        groups.join(1, 1, Member("a", 1), lambda error, found: heard.append(found), worker_of)

    def worker_of(task: str) -> Any:
        return leader

    join()
    join()
    assert (len(heard), leader.num_asked) == (2, 1)
    groups.forget()
    join()
    assert (len(heard), leader.num_asked) == (3, 2)


def test_step_ids_follow_each_other_and_the_leader_after_a_failure() -> None:
    """One step of a graph is in flight at a time."""
    leader: Any = _Leader()
    sequences = StepSequences("/job:worker/replica:0/task:1", LEADER, lambda task: leader)

    assert sequences.begin(5) == 40
    with pytest.raises(tf.errors.FailedPreconditionError, match="in one thread"):
        sequences.begin(5)
    sequences.end(5, has_failed=False)
    assert sequences.begin(5) == 41
    leader.next_id = 77
    sequences.end(5, has_failed=True)
    assert sequences.begin(5) == 77
    sequences.end(5, has_failed=True)  # the leader does not know of it yet
    assert sequences.begin(5) == 78
    assert leader.num_asked == 3


def test_without_a_leader_steps_have_ids_of_their_own() -> None:
    """They may run at once."""
    sequences = StepSequences(LEADER, "", _no_worker)
    first, second = sequences.begin(5), sequences.begin(5)
    sequences.end(5, has_failed=True)
    sequences.end(5, has_failed=False)
    assert first != second


def test_a_leader_that_does_not_answer_leaves_no_step_in_flight() -> None:
    """The next step asks again."""
    sequences = StepSequences("/job:worker/replica:0/task:1", LEADER, _no_worker)
    for _ in range(2):
        with pytest.raises(tf.errors.UnavailableError):
            sequences.begin(5)


def _no_worker(task: str) -> Any:
    raise tf.errors.UnavailableError(None, None, f"{task} is not there")
