"""Devices, and where nodes go."""

from __future__ import annotations

from typing import Any

from tests.client.behaviours.writing import behaviour, several_cpus, traced


@behaviour(106)
def as_many_devices_as_asked_for(tf: Any) -> Any:
    devices = tf.Session(config=several_cpus(tf, 3)).list_devices()
    return [(device.name, device.device_type) for device in devices]


@behaviour(107)
def what_a_device_tells(tf: Any) -> Any:
    devices = tf.Session(config=several_cpus(tf, 2)).list_devices()
    return [(one.memory_limit_bytes > 0, one.incarnation != 0) for one in devices]


@behaviour(108, "Unknown attribute")
def a_malformed_device(tf: Any) -> Any:
    with tf.device("/foo:bar"):
        return tf.constant(1)


def _on(tf: Any, device: str, **options: Any) -> Any:
    with tf.device(device):
        one = tf.constant(1)
    return tf.Session(config=tf.ConfigProto(**options)).run(one)


@behaviour(109, "but available devices are")
def a_device_that_is_not_there(tf: Any) -> Any:
    return _on(tf, "/device:CPU:7")


@behaviour(129, "The requested device appears to be a GPU, but CUDA is not enabled.")
def a_gpu_that_is_not_there(tf: Any) -> Any:
    return _on(tf, "/device:GPU:7", device_count={"GPU": 0})


@behaviour(110)
def soft_placement(tf: Any) -> Any:
    return [
        _on(tf, device, allow_soft_placement=True) for device in ("/device:GPU:7", "/device:CPU:7")
    ]


@behaviour(111, "but available devices are")
def a_job_that_is_not_there(tf: Any) -> Any:
    return _on(tf, "/job:foo/task:3")


@behaviour(111, "but available devices are")
def a_job_that_is_not_there_softly(tf: Any) -> Any:
    return _on(tf, "/job:foo/task:3", allow_soft_placement=True)


def _with_a_bad_node_elsewhere(tf: Any, config: Any) -> Any:
    good = tf.constant(1)
    with tf.device("/device:CPU:7"):
        tf.constant(2)
    return tf.Session(config=config).run(good)


@behaviour(112, "but available devices are")
def a_bad_node_that_is_not_needed(tf: Any) -> Any:
    return _with_a_bad_node_elsewhere(tf, tf.ConfigProto())


@behaviour(113)
def a_bad_node_that_is_pruned(tf: Any) -> Any:
    config = tf.ConfigProto()
    config.graph_options.place_pruned_graph = True
    return _with_a_bad_node_elsewhere(tf, config)


@behaviour(113)
def an_interactive_session_prunes(tf: Any) -> Any:
    good = tf.constant(1)
    with tf.device("/device:CPU:7"):
        tf.constant(2)
    sess = tf.InteractiveSession()
    try:
        return good.eval()
    finally:
        sess.close()


@behaviour(120)
def an_assign_goes_to_its_variable(tf: Any) -> Any:
    with tf.device("/cpu:0"):
        variable = tf.Variable(1.0, use_resource=False, name="variable")
    with tf.device("/cpu:1"):
        change = tf.assign(variable, 2.0, name="change")
    metadata = traced(tf, change)
    return change.op.device, _devices(metadata, "variable", "change")


@behaviour(123)
def colocation_is_transitive(tf: Any) -> Any:
    with tf.device("/cpu:1"):
        first = tf.placeholder_with_default(1.0, [], name="first")
    with tf.colocate_with(first):
        second = tf.negative(tf.placeholder_with_default(2.0, []), name="second")
    with tf.colocate_with(second):
        third = tf.square(second, name="third")
    return second.op.colocation_groups() == third.op.colocation_groups(), _devices(
        traced(tf, [first, third]), "first", "second", "third"
    )


@behaviour(133)
def feeds_and_fetches_live_on_the_host(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32, name="fed")
    with tf.device("/cpu:1"):
        result = tf.negative(fed, name="result")
    return _devices(traced(tf, result, {fed: 1.0}), "_arg_fed_0_0", "result", "_retval_result_0_0")


@behaviour(136)
def device_scopes_merge(tf: Any) -> Any:
    found = []
    with tf.device("/job:worker/task:1"):
        with tf.device("/cpu:1"):
            found.append(tf.no_op().device)
            with tf.device("/task:2"):
                found.append(tf.no_op().device)
            with tf.device(None):
                found.append(tf.no_op().device)
        with tf.device(lambda op: "/gpu:3" if op.type == "NoOp" else ""):
            found += [tf.no_op().device, tf.constant(1).device]
    return found


@behaviour(145)
def a_switch_goes_to_its_data(tf: Any) -> Any:
    with tf.device("/cpu:1"):
        data = tf.placeholder_with_default(1.0, [])
    with tf.device("/cpu:0"):
        _, live = tf.raw_ops.Switch(data=data, pred=tf.constant(True), name="switch")
    return _devices(traced(tf, live), "switch")


def _devices(metadata: Any, *names: str) -> dict[str, str]:
    """Node -> the end of its device, for the nodes named."""
    return {
        node.name: node.device[-5:]
        for graph in metadata.partition_graphs
        for node in graph.node
        if node.name in names
    }
