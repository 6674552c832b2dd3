"""Metadata that a run returns."""

from __future__ import annotations

from typing import Any

from tests.client.behaviours.writing import behaviour, several_cpus, traced


@behaviour(212)
def how_much_a_trace_level_tells(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32)
    one_more = fed + 1
    found = {}
    for level in ("NO_TRACE", "SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE"):
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=getattr(tf.RunOptions, level))
        tf.Session().run(one_more, {fed: 1.0}, options=options, run_metadata=metadata)
        found[level] = len(metadata.step_stats.dev_stats)
    return found


@behaviour(212)
def metadata_without_a_trace(tf: Any) -> Any:
    metadata = tf.RunMetadata()
    tf.Session().run(tf.constant(1), run_metadata=metadata)
    return metadata.ByteSize()


@behaviour(213)
def metadata_given_twice(tf: Any) -> Any:
    total = tf.placeholder_with_default(1.0, []) + 1
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    counts = []
    with tf.Session(config=several_cpus(tf)) as sess:
        for _ in range(2):
            sess.run(total, options=options, run_metadata=metadata)
            counts.append([len(device.node_stats) for device in metadata.step_stats.dev_stats])
    return counts[0] == counts[1], len(counts[0])


@behaviour(214)
def which_nodes_have_stats(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32, name="fed")
    with tf.device("/cpu:1"):
        result = tf.negative(fed, name="result")
    metadata = traced(tf, result, {fed: 1.0})
    return {
        device.device: sorted(one.node_name for one in device.node_stats)
        for device in metadata.step_stats.dev_stats
    }


@behaviour(215)
def a_node_of_a_loop_has_an_entry_for_each_time(tf: Any) -> Any:
    loop = tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="more"), [0])
    stats = traced(tf, loop).step_stats
    names = [one.node_name for device in stats.dev_stats for one in device.node_stats]
    return names.count("while/more")


@behaviour(216)
def times_are_in_order(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32)
    stats = traced(tf, tf.negative(fed) + 1, {fed: 1.0}).step_stats
    return all(
        one.all_start_micros > 0
        and 0 <= one.op_start_rel_micros <= one.op_end_rel_micros <= one.all_end_rel_micros
        and one.scheduled_micros <= one.all_start_micros
        and one.all_start_micros == one.all_start_nanos // 1000
        for device in stats.dev_stats
        for one in device.node_stats
    )


@behaviour(217)
def labels_of_nodes(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32, name="fed")
    result = tf.subtract(fed, tf.negative(fed, name="negative"), name="result")
    stats = traced(tf, result, {fed: 1.0}).step_stats
    return sorted(one.timeline_label for device in stats.dev_stats for one in device.node_stats)


@behaviour(218)
def outputs_and_memory_of_nodes(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32, [2, 3], name="fed")
    result = tf.negative(fed, name="result")
    stats = traced(tf, result, {fed: [[1.0] * 3] * 2}).step_stats
    (one,) = (n for d in stats.dev_stats for n in d.node_stats if n.node_name == "result")
    description = one.output[0].tensor_description
    return (
        one.output[0].slot,
        description.dtype,
        [dim.size for dim in description.shape.dim],
        description.allocation_description.requested_bytes,
        description.allocation_description.allocation_id > 0,
    )


@behaviour(219)
def partition_graphs(tf: Any) -> Any:
    with tf.device("/cpu:0"):
        fed = tf.placeholder(tf.float32, [], name="fed")
        sent = tf.negative(fed, name="sent")
    with tf.device("/cpu:1"):
        first, second = tf.identity(sent, name="first"), tf.square(sent, name="second")
    metadata = traced(tf, [first, second], {fed: 1.0})
    return [
        {node.name: [node.op, list(node.input)] for node in graph.node}
        for graph in metadata.partition_graphs
    ]


@behaviour(140)
def a_control_edge_across_devices(tf: Any) -> Any:
    with tf.device("/cpu:0"):
        fed = tf.placeholder(tf.float32, [], name="fed")
        first = tf.negative(fed, name="first")
    with tf.device("/cpu:1"), tf.control_dependencies([first]):
        second = tf.square(tf.placeholder_with_default(3.0, [], name="held"), name="second")
    metadata = traced(tf, second, {fed: 1.0})
    return [
        {node.name: [node.op, list(node.input)] for node in graph.node}
        for graph in metadata.partition_graphs
    ]


@behaviour(139)
def attributes_of_a_transfer(tf: Any) -> Any:
    with tf.device("/cpu:0"):
        sent = tf.negative(tf.placeholder_with_default(1.0, [], name="held"), name="sent")
    with tf.device("/cpu:1"):
        taken = tf.square(sent, name="taken")
    metadata = traced(tf, taken)
    nodes = [n for g in metadata.partition_graphs for n in g.node if n.op in ("_Send", "_Recv")]
    names = ("send_device", "recv_device", "send_device_incarnation", "client_terminated")
    return {
        node.name: [node.attr[name].s or node.attr[name].i or node.attr[name].b for name in names]
        for node in nodes
    }


@behaviour(143)
def a_loop_across_devices(tf: Any) -> Any:
    def body(i: Any) -> Any:
        with tf.device("/cpu:1"):
            return tf.identity(i) + 1

    with tf.device("/cpu:0"):
        start = tf.constant(0)
    metadata = traced(tf, tf.while_loop(lambda i: i < 3, body, [start]))
    return [
        # Which memory of a CPU a transfer starts and ends in is not compared.
        sorted(
            [node.op.replace("_Host", "_"), node.name.startswith("_cloop")] for node in graph.node
        )
        for graph in metadata.partition_graphs
    ]


@behaviour(220, "disable_output_partition_graphs is true")
def partition_graphs_that_are_not_to_be_given(tf: Any) -> Any:
    config = tf.ConfigProto()
    config.experimental.disable_output_partition_graphs = True
    return tf.Session(config=config).run(
        tf.constant(1),
        options=tf.RunOptions(output_partition_graphs=True),
        run_metadata=tf.RunMetadata(),
    )


@behaviour(229)
def the_cost_graph(tf: Any) -> Any:
    config = several_cpus(tf)
    config.graph_options.build_cost_model = 1
    fed = tf.placeholder(tf.float32, [2], name="fed")
    result = tf.negative(tf.square(fed, name="middle"), name="result")
    metadata = tf.RunMetadata()
    sess = tf.Session(config=config)
    sess.run(result, {fed: [1.0, 2.0]}, options=tf.RunOptions(), run_metadata=metadata)
    nodes = {node.id: node for node in metadata.cost_graph.node}
    return {
        node.name: [
            [(one.size, one.dtype, [d.size for d in one.shape.dim]) for one in node.output_info],
            [(nodes[one.preceding_node].name, one.preceding_port) for one in node.input_info],
        ]
        for node in nodes.values()
        if node.name in ("_arg_fed_0_0", "middle", "result")
    }
