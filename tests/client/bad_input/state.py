"""State that was never made, and functions that cannot be called."""

from __future__ import annotations

from typing import Any

from tests.client.bad_input.control_flow import ONE
from tests.client.bad_input.writing import (
    FLOAT,
    INT,
    STRING,
    case,
    const,
    load,
    node,
    run_nodes,
    text,
)


@case("pop")
def pop_of_an_empty_stack(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "pop:0",
        const("size", INT, "int_val: 3"),
        node("stack", "StackV2", "size", elem_type=FLOAT),
        node("pop", "StackPopV2", "stack", elem_type=FLOAT),
    )


@case()
def receive_without_sender(tf: Any, sess: Any) -> Any:
    cpu = "/job:localhost/replica:0/task:0/device:CPU:0"
    load(
        tf,
        node(
            "orphan",
            "_Recv",
            tensor_type=FLOAT,
            tensor_name=text("t"),
            send_device=text(cpu),
            recv_device=text(cpu),
            send_device_incarnation="i: 1",
        ),
        node("out", "Identity", "orphan", T=FLOAT),
    )
    return sess.run("out:0", options=tf.RunOptions(timeout_in_ms=200))


@case()
def session_handle_of_nobody(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:0",
        const("handle", STRING, "string_val: 'a;7;b'"),
        node("bad", "GetSessionTensor", "handle", dtype=FLOAT),
    )


@case("bad")
def python_function_of_nobody(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:0",
        node("bad", "PyFunc", token=text("nobody"), Tin="list { }", Tout="list { type: DT_FLOAT }"),
    )


@case("restore")
def restore_from_nowhere(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "restore:0",
        const("file", STRING, "string_val: '/nowhere/model.ckpt'"),
        const("names", STRING, "string_val: 'w'", [1]),
        const("slices", STRING, "string_val: ''", [1]),
        node("restore", "RestoreV2", "file", "names", "slices", dtypes="list { type: DT_FLOAT }"),
    )


def function(name: str, body: str, result: str) -> str:
    """A function of one float to one float, as text of a GraphDef."""
    return (
        f"library {{ function {{ signature {{ name: '{name}'"
        " input_arg { name: 'x' type: DT_FLOAT }"
        f" output_arg {{ name: 'y' type: DT_FLOAT }} }} {body} ret {{ key: 'y' value: '{result}' }}"
        " } }"
    )


def _body(name: str, op: str, *inputs: str, **attrs: str) -> str:
    return node(name, op, *inputs, **attrs).replace("node {", "node_def {", 1)


@case()
def function_that_calls_itself(tf: Any, sess: Any) -> Any:
    body = _body("again", "Selfish", "x")
    return run_nodes(
        tf,
        sess,
        "call:0",
        ONE,
        node("call", "Selfish", "one"),
        function("Selfish", body, "again:y:0"),
    )


@case()
def functions_that_call_each_other(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "call:0",
        ONE,
        node("call", "Ping", "one"),
        function("Ping", _body("again", "Pong", "x"), "again:y:0"),
        function("Pong", _body("again", "Ping", "x"), "again:y:0"),
    )


@case()
def function_bomb(tf: Any, sess: Any) -> Any:
    bodies = [
        function(
            f"F{level}",
            _body("p", f"F{level + 1}", "x")
            + _body("q", f"F{level + 1}", "p:y:0")
            + _body("r", f"F{level + 1}", "q:y:0"),
            "r:y:0",
        )
        for level in range(30)
    ]
    last = function("F30", _body("n", "Neg", "x", T=FLOAT), "n:y:0")
    load(tf, ONE, node("call", "F0", "one"), *bodies, last)
    return sess.run("call:0", options=tf.RunOptions(timeout_in_ms=300))


@case()
def function_returns_what_is_not_there(tf: Any, sess: Any) -> Any:
    body = _body("n", "Neg", "x", T=FLOAT)
    return run_nodes(
        tf, sess, "call:0", ONE, node("call", "F", "one"), function("F", body, "nowhere:y:0")
    )


@case()
def function_with_an_unknown_op(tf: Any, sess: Any) -> Any:
    body = _body("n", "NoSuchOperation", "x")
    return run_nodes(
        tf, sess, "call:0", ONE, node("call", "F", "one"), function("F", body, "n:y:0")
    )


@case()
def function_twice(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "call:0",
        ONE,
        node("call", "F", "one"),
        function("F", _body("n", "Neg", "x", T=FLOAT), "n:y:0"),
        function("F", _body("n", "Exp", "x", T=FLOAT), "n:y:0"),
    )


@case()
def function_named_like_an_op(tf: Any, sess: Any) -> Any:
    body = _body("n", "Exp", "x", T=FLOAT)
    return run_nodes(tf, sess, "one:0", ONE, function("Neg", body, "n:y:0"))


@case()
def function_with_a_cycle(tf: Any, sess: Any) -> Any:
    body = _body("p", "Neg", "q:y:0", T=FLOAT) + _body("q", "Neg", "p:y:0", T=FLOAT)
    return run_nodes(
        tf, sess, "call:0", ONE, node("call", "F", "one"), function("F", body, "q:y:0")
    )
