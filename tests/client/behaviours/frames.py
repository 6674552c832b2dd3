"""Loops, dead tensors, and malformed control flow."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.client.behaviours.writing import behaviour, several_cpus, switched, traced


def _counting(tf: Any, **options: Any) -> Any:
    return tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0], **options)


@behaviour(155)
def a_loop_in_a_loop(tf: Any) -> Any:
    def outer(i: Any, total: Any) -> Any:
        inner = tf.while_loop(lambda j, _: j < i, lambda j, t: (j + 1, t + i), [0, total])
        return i + 1, inner[1]

    return tf.Session().run(tf.while_loop(lambda i, _: i < 6, outer, [0, 0]))


@behaviour(156)
def an_invariant_is_there_in_each_iteration(tf: Any) -> Any:
    step = tf.placeholder_with_default(3, [])
    return tf.Session().run(tf.while_loop(lambda i: i < 20, lambda i: i + step, [0]))


@behaviour(158)
def windows_of_iterations(tf: Any) -> Any:
    loops = [_counting(tf, parallel_iterations=window) for window in (1, 2, 32)]
    return tf.Session().run(loops)


@behaviour(159, "'parallel_iterations' must be a positive integer.")
def no_iteration_at_a_time(tf: Any) -> Any:
    return _counting(tf, parallel_iterations=0)


@behaviour(160)
def two_windows_for_one_frame(tf: Any) -> Any:
    first, second = (
        tf.raw_ops.Enter(data=tf.constant(value), frame_name="f", parallel_iterations=window)
        for value, window in ((1.0, 3), (2.0, 5))
    )
    return tf.Session().run(tf.raw_ops.Exit(data=first + second))


@behaviour(162)
def fetching_an_enter(tf: Any) -> Any:
    return tf.Session().run(tf.raw_ops.Enter(data=tf.constant(1.0), frame_name="f"))


@behaviour(163, "enters the loop with shape (1,), but has shape (2,) after one iteration")
def a_loop_that_grows(tf: Any) -> Any:
    return tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, tf.ones([1])]
    )


@behaviour(163)
def a_loop_that_may_grow(tf: Any) -> Any:
    loop = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, x], 0)),
        [0, tf.ones([1])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    return tf.Session().run(loop)


@behaviour(164)
def at_most_so_many_iterations(tf: Any) -> Any:
    return tf.Session().run(_counting(tf, maximum_iterations=3))


@behaviour(165)
def a_loop_that_does_not_begin(tf: Any) -> Any:
    return tf.Session().run(tf.while_loop(lambda i: i < 0, lambda i: i + 1, [7]))


@behaviour(161)
def how_often_the_nodes_of_a_loop_run(tf: Any) -> Any:
    metadata = traced(tf, _counting(tf))
    names = [one.node_name for device in metadata.step_stats.dev_stats for one in device.node_stats]
    return dict(sorted(Counter(name for name in names if name.startswith("while/")).items()))


@behaviour(166, "bad : Tensor had NaN")
def an_error_in_an_iteration(tf: Any) -> Any:
    def body(i: Any) -> Any:
        return i + 1 + tf.check_numerics(0 * tf.sqrt(4 - i), "bad")

    loop = tf.while_loop(lambda i: i < 1000, body, [0.0])
    return tf.Session(config=several_cpus(tf)).run(loop)


@behaviour(167)
def the_gradient_of_a_loop(tf: Any) -> Any:
    x = tf.constant(2.0)
    loop = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), [0, x])
    return tf.Session().run(tf.gradients(loop[1], x))


@behaviour(168)
def loops_without_a_way_back(tf: Any) -> Any:
    x = tf.constant(2.0)
    results = []
    for options in ({"back_prop": False}, {"swap_memory": True}):
        loop = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), [0, x], **options)
        found = tf.gradients(loop[1], x)[0]
        results.append((loop[1], [] if found is None else found))
    return tf.Session().run(results)


@behaviour(169, "Retval[0] does not have value")
def fetching_behind_a_dead_tensor(tf: Any) -> Any:
    return tf.Session().run(switched(tf)[0] + 1)


@behaviour(170)
def a_control_edge_from_a_dead_output_is_live(tf: Any) -> Any:
    with tf.control_dependencies([switched(tf)[0]]):
        behind = tf.identity(tf.constant(6))
    return tf.Session().run(behind)


@behaviour(170, "Retval[0] does not have value")
def a_control_edge_from_a_dead_pivot_is_dead(tf: Any) -> Any:
    with tf.control_dependencies([tf.identity(switched(tf)[0])]):
        behind = tf.identity(tf.constant(6))
    return tf.Session(config=several_cpus(tf)).run(behind)


@behaviour(171)
def a_merge_takes_what_lives(tf: Any) -> Any:
    dead, live = switched(tf)
    return tf.Session().run(list(tf.raw_ops.Merge(inputs=[dead * 10, live * 20])))


@behaviour(171, "Retval[0] does not have value")
def a_merge_of_dead_tensors(tf: Any) -> Any:
    dead, _ = switched(tf)
    return tf.Session().run(tf.raw_ops.Merge(inputs=[dead * 10, dead * 20])[0])


@behaviour(172)
def a_loop_on_the_side_not_taken(tf: Any) -> Any:
    taken = tf.placeholder_with_default(False, [])
    chosen = tf.cond(taken, lambda: _counting(tf), lambda: tf.constant(-1))
    sess = tf.Session()
    return sess.run(chosen), sess.run(chosen, {taken: True})


@behaviour(175)
def a_control_trigger_lives(tf: Any) -> Any:
    with tf.control_dependencies([tf.identity(switched(tf)[0])]):
        trigger = tf.raw_ops.ControlTrigger()
    with tf.control_dependencies([trigger]):
        behind = tf.constant(5)
    return tf.Session().run(behind)


@behaviour(176, "Retval[0] does not have value")
def deadness_crosses_devices(tf: Any) -> Any:
    with tf.device("/cpu:0"):
        dead, _ = switched(tf)
    with tf.device("/cpu:1"):
        behind = dead + 1
    return tf.Session(config=several_cpus(tf)).run(behind)


@behaviour(177, "Retval[0] does not have value")
def fetching_a_dead_tensor(tf: Any) -> Any:
    return tf.Session().run(switched(tf)[0])


@behaviour(177)
def a_dead_operation_as_target(tf: Any) -> Any:
    return tf.Session().run((switched(tf)[0] + 1).op)


@behaviour(178)
def dead_nodes_leave_no_stats(tf: Any) -> Any:
    taken = tf.placeholder(tf.bool)
    value = tf.placeholder_with_default(1.0, [])
    chosen = tf.cond(
        taken, lambda: tf.negative(value, name="yes"), lambda: tf.square(value, name="no")
    )
    metadata = traced(tf, chosen, {taken: True})
    names = [one.node_name for device in metadata.step_stats.dev_stats for one in device.node_stats]
    return [name for name in names if name.endswith(("/yes", "/no"))]


@behaviour(181, "has inputs from different frames. The input")
def inputs_of_two_frames(tf: Any) -> Any:
    first, second = (
        tf.raw_ops.Enter(data=tf.constant(1.0), frame_name=frame) for frame in ("f", "g")
    )
    return tf.Session().run(first + second)


@behaviour(182)
def one_frame_name_under_two_parents(tf: Any) -> Any:
    def enter(data: Any, frame: str) -> Any:
        return tf.raw_ops.Enter(data=data, frame_name=frame)

    first = enter(enter(tf.constant(1.0), "f"), "shared")
    second = enter(enter(tf.constant(1.0), "g"), "shared")
    try:
        return tf.Session(config=several_cpus(tf)).run([first, second])
    except tf.errors.OpError as error:
        return type(error)


@behaviour(184, "must have a frame name.")
def an_enter_without_a_frame_name(tf: Any) -> Any:
    return tf.Session().run(tf.raw_ops.Enter(data=tf.constant(1.0), frame_name=""))


@behaviour(185, "Invalid Exit op: Cannot find a corresponding Enter op.")
def an_exit_without_an_enter(tf: Any) -> Any:
    return tf.Session().run(tf.raw_ops.Exit(data=tf.constant(1.0)))


@behaviour(187)
def bad_frames_show_when_they_run(tf: Any) -> Any:
    good = tf.constant(1.0)
    tf.raw_ops.Exit(data=good)
    return tf.Session().run(good)
