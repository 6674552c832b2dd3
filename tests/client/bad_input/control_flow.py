"""Loops and branches that are malformed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.client.bad_input.writing import (
    BOOL,
    FLOAT,
    case,
    const,
    load,
    node,
    placeholder,
    run_nodes,
    text,
)


def enter(name: str, source: str, frame: str = "f", parallel: int = 10, more: str = "") -> str:
    """An Enter of floats."""
    return node(
        name, "Enter", source, T=FLOAT, frame_name=text(frame), parallel_iterations=f"i: {parallel}"
    )


ONE = const("one", FLOAT, "float_val: 1")
TRUE = const("true", BOOL, "bool_val: true")


def loop(
    predicate: str, parallel: int = 10, frame: str = "f", condition: str = "LoopCond"
) -> list[str]:
    """A loop over one float that goes on while ``predicate`` (a node) is true."""
    return [
        ONE,
        enter("enter", "one", frame, parallel),
        node("merge", "Merge", "enter", "next", T=FLOAT, N="i: 2"),
        node("cond", condition, predicate, **({} if condition == "LoopCond" else {"T": BOOL})),
        node("switch", "Switch", "merge", "cond", T=FLOAT),
        node("next", "NextIteration", "switch:1", T=FLOAT),
        node("exit", "Exit", "switch:0", T=FLOAT),
    ]


_ENDLESS = node("less", "GreaterEqual", "merge", "merge", T=FLOAT)


@case("exit")
def exit_without_enter(tf: Any, sess: Any) -> Any:
    return run_nodes(tf, sess, "exit:0", ONE, node("exit", "Exit", "one", T=FLOAT))


@case("next")
def next_iteration_without_enter(tf: Any, sess: Any) -> Any:
    return run_nodes(tf, sess, "next:0", ONE, node("next", "NextIteration", "one", T=FLOAT))


@case("enter")
def enter_without_frame_name(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf, sess, "exit:0", ONE, enter("enter", "one", ""), node("exit", "Exit", "enter", T=FLOAT)
    )


@case("enter")
def no_parallel_iterations(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "exit:0",
        ONE,
        enter("enter", "one", parallel=0),
        node("exit", "Exit", "enter", T=FLOAT),
    )


@case("enter")
def parallel_iterations_negative(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "exit:0",
        ONE,
        enter("enter", "one", parallel=-3),
        node("exit", "Exit", "enter", T=FLOAT),
    )


@case("sum")
def inputs_of_two_frames(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "exit:0",
        ONE,
        enter("enter1", "one", "f"),
        enter("enter2", "one", "g"),
        node("sum", "AddV2", "enter1", "enter2", T=FLOAT),
        node("exit", "Exit", "sum", T=FLOAT),
    )


@case("sum")
def input_from_outside_of_the_frame(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "exit:0",
        ONE,
        enter("enter1", "one", "f"),
        node("sum", "AddV2", "enter1", "one", T=FLOAT),
        node("exit", "Exit", "sum", T=FLOAT),
    )


@case()
def loop_without_end(tf: Any, sess: Any) -> Any:
    load(tf, *loop("less"), _ENDLESS)
    return sess.run("exit:0", options=tf.RunOptions(timeout_in_ms=200))


@case()
def loop_without_loop_cond(tf: Any, sess: Any) -> Any:
    less = node("less", "Greater", "merge", "merge", T=FLOAT)
    return run_nodes(tf, sess, "exit:0", *loop("less", condition="Identity"), less)


@case("cond")
def loop_over_a_vector_predicate(tf: Any, sess: Any) -> Any:
    vector = const("vector", BOOL, "bool_val: true", [3])
    constant = node(
        "inside",
        "Enter",
        "vector",
        T=BOOL,
        frame_name=text("f"),
        is_constant="b: true",
        parallel_iterations="i: 10",
    )
    return run_nodes(tf, sess, "exit:0", vector, constant, *loop("inside"))


@case("switch")
def switch_on_a_vector(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "switch:0",
        ONE,
        placeholder("p", BOOL),
        node("switch", "Switch", "one", "p", T=FLOAT),
        feeds={"p:0": np.array([True, False])},
    )


@case()
def loop_without_back_edge(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "exit:0",
        ONE,
        TRUE,
        enter("enter", "one"),
        node("merge", "Merge", "enter", T=FLOAT, N="i: 1"),
        node("exit", "Exit", "merge", T=FLOAT),
    )


@case()
def two_loop_conds(tf: Any, sess: Any) -> Any:
    less = node("less", "Greater", "merge", "merge", T=FLOAT)
    again = node("again", "LoopCond", "less")
    switch = node("switch2", "Switch", "merge", "again", T=FLOAT)
    out = node("exit2", "Exit", "switch2", T=FLOAT)
    return run_nodes(tf, sess, ["exit:0", "exit2:0"], *loop("less"), less, again, switch, out)


@case()
def fetch_inside_a_frame(tf: Any, sess: Any) -> Any:
    less = node("less", "Greater", "merge", "merge", T=FLOAT)
    return run_nodes(tf, sess, "merge:0", *loop("less"), less)


@case()
def fetch_inside_a_while_loop(tf: Any, sess: Any) -> Any:
    inside = []

    def body(i: Any) -> Any:
        inside.append(i + 1)
        return inside[-1]

    tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    return sess.run(inside[0])


@case()
def dead_fetch(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf, sess, "switch:0", ONE, TRUE, node("switch", "Switch", "one", "true", T=FLOAT)
    )


@case()
def merge_of_two_live_inputs(tf: Any, sess: Any) -> Any:
    merge = node("merge", "Merge", "one", "one2", T=FLOAT, N="i: 2")
    found = run_nodes(tf, sess, "merge:0", ONE, const("one2", FLOAT, "float_val: 1"), merge)
    return float(found)


@case()
def fetch_of_nothing(tf: Any, sess: Any) -> Any:
    return run_nodes(tf, sess, "merge:0", ONE, node("merge", "Merge", T=FLOAT, N="i: 0"))
