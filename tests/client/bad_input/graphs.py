"""GraphDefs that are malformed, or name things that do not exist."""

from __future__ import annotations

from typing import Any

from tests.client.bad_input.writing import (
    FLOAT,
    INT,
    STRING,
    case,
    const,
    load,
    node,
    numbers,
    placeholder,
    run_nodes,
    text,
)


@case()
def graph_def_of_another_type(tf: Any, sess: Any) -> None:
    tf.import_graph_def(b"\x08\x96\x01")


@case()
def random_bytes_as_graph_def(tf: Any, sess: Any) -> None:
    tf.GraphDef.FromString(b"\xff\xfe\x00garbage" * 20)


@case()
def saved_model_as_graph_def(tf: Any, sess: Any) -> None:
    message = tf.MetaGraphDef()
    message.graph_def.node.add(name="x", op="NoOp")
    tf.import_graph_def(message)


@case("odd")
def unknown_op(tf: Any, sess: Any) -> None:
    load(tf, node("odd", "NoSuchOperation"))


@case("twice")
def duplicate_name(tf: Any, sess: Any) -> None:
    load(tf, node("twice", "NoOp"), node("twice", "NoOp"))


@case()
def empty_name(tf: Any, sess: Any) -> None:
    load(tf, node("", "NoOp"))


@case("<img src=x onerror=alert(1)>")
def markup_as_name(tf: Any, sess: Any) -> None:
    load(tf, node("<img src=x onerror=alert(1)>", "NoOp"))


@case("nameless")
def empty_op(tf: Any, sess: Any) -> None:
    load(tf, node("nameless", ""))


@case("loop")
def self_loop(tf: Any, sess: Any) -> None:
    load(tf, node("loop", "Identity", "loop", T=FLOAT))


@case("loop")
def self_control_loop(tf: Any, sess: Any) -> None:
    load(tf, node("loop", "NoOp", "^loop"))


@case("one")
def cycle_of_two(tf: Any, sess: Any) -> None:
    load(tf, node("one", "Identity", "two", T=FLOAT), node("two", "Identity", "one", T=FLOAT))


@case("one")
def control_cycle(tf: Any, sess: Any) -> None:
    load(tf, node("one", "NoOp", "^two"), node("two", "NoOp", "^one"))


@case("user")
def output_index_too_high(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", FLOAT), node("user", "Identity", "x:1", T=FLOAT))


@case("user")
def output_index_negative(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", FLOAT), node("user", "Identity", "x:-1", T=FLOAT))


@case("user")
def output_index_over_int64(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", FLOAT), node("user", "Identity", "x:99999999999999999999", T=FLOAT))


@case("user")
def output_of_op_without_outputs(tf: Any, sess: Any) -> None:
    load(tf, node("nothing", "NoOp"), node("user", "Identity", "nothing", T=FLOAT))


@case("user")
def unknown_input(tf: Any, sess: Any) -> None:
    load(tf, node("user", "Identity", "nowhere", T=FLOAT))


@case("user")
def unknown_control_input(tf: Any, sess: Any) -> None:
    load(tf, node("user", "NoOp", "^nowhere"))


@case("user")
def too_few_inputs(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", FLOAT), node("user", "AddV2", "x", T=FLOAT))


@case("user")
def no_inputs(tf: Any, sess: Any) -> None:
    load(tf, node("user", "AddV2", T=FLOAT))


@case("user")
def too_many_inputs(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", FLOAT), node("user", "Identity", "x", "x", T=FLOAT))


@case("user")
def data_after_control_input(tf: Any, sess: Any) -> None:
    load(
        tf,
        placeholder("x", FLOAT),
        node("first", "NoOp"),
        node("user", "Identity", "^first", "x", T=FLOAT),
    )


@case("user")
def missing_attr(tf: Any, sess: Any) -> None:
    load(tf, node("user", "Placeholder"))


@case("user")
def attr_of_another_kind(tf: Any, sess: Any) -> None:
    load(tf, node("user", "Placeholder", dtype="i: 1"))


@case("user")
def attr_without_value(tf: Any, sess: Any) -> None:
    load(tf, node("user", "Placeholder", dtype=""))


@case("user")
def list_where_a_value_is_wanted(tf: Any, sess: Any) -> None:
    load(tf, node("user", "Placeholder", dtype="list { type: DT_FLOAT }"))


@case("user")
def dtype_not_allowed(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", STRING), node("user", "Neg", "x", T=STRING))


@case("user")
def unknown_dtype(tf: Any, sess: Any) -> None:
    message = tf.GraphDef()
    message.node.add(name="user", op="Placeholder").attr["dtype"].type = 4711
    tf.import_graph_def(message, name="")


@case("user")
def attr_below_its_minimum(tf: Any, sess: Any) -> None:
    load(tf, node("user", "AddN", T=FLOAT, N="i: 0"))


@case("user")
def attr_count_enormous(tf: Any, sess: Any) -> None:
    load(tf, node("user", "AddN", T=FLOAT, N="i: 9000000000000000000"))


@case("user")
def outputs_enormous(tf: Any, sess: Any) -> None:
    load(
        tf,
        placeholder("x", FLOAT),
        const("axis", INT, "int_val: 0"),
        node("user", "Split", "axis", "x", T=FLOAT, num_split="i: 9000000000000000000"),
    )


@case("user")
def enum_not_allowed(tf: Any, sess: Any) -> None:
    load(
        tf,
        placeholder("x", FLOAT),
        node(
            "user",
            "MaxPool",
            "x",
            T=FLOAT,
            padding=text("SIDEWAYS"),
            ksize=numbers(1, 1, 1, 1),
            strides=numbers(1, 1, 1, 1),
        ),
    )


@case("user")
def dtypes_of_an_edge_differ(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", INT), node("user", "Identity", "x", T=FLOAT))


@case("user")
def reference_wanted_value_given(tf: Any, sess: Any) -> None:
    load(tf, placeholder("x", FLOAT), node("user", "Assign", "x", "x", T=FLOAT))


@case("user")
def colocated_with_nobody(tf: Any, sess: Any) -> None:
    load(tf, node("user", "NoOp", _class="list { s: 'loc:@nobody' }"))


@case("user")
def malformed_device(tf: Any, sess: Any) -> None:
    run_nodes(tf, sess, "user", node("user", "NoOp", device="/what:ever:is:this"))


@case("user")
def unknown_device(tf: Any, sess: Any) -> None:
    run_nodes(tf, sess, "user", node("user", "NoOp", device="/device:CPU:99"))


@case("user")
def unknown_job(tf: Any, sess: Any) -> None:
    run_nodes(tf, sess, "user", node("user", "NoOp", device="/job:worker/task:3"))


@case("user")
def op_without_kernel(tf: Any, sess: Any) -> None:
    run_nodes(tf, sess, "user", node("user", "TPUReplicateMetadata", num_replicas="i: 2"))


@case()
def consumer_too_old(tf: Any, sess: Any) -> None:
    load(tf, node("x", "NoOp"), "versions { producer: 27 min_consumer: 987654321 }")


@case()
def bad_consumer(tf: Any, sess: Any) -> None:
    versions = " ".join(f"bad_consumers: {number}" for number in range(2600))
    load(tf, node("x", "NoOp"), "versions { producer: 27 " + versions + " }")


@case()
def name_of_a_megabyte(tf: Any, sess: Any) -> Any:
    name = "n" * 1_000_000
    return run_nodes(tf, sess, f"{name}:0", const(name, FLOAT, "float_val: 2"))


@case("user")
def op_named_by_a_megabyte(tf: Any, sess: Any) -> None:
    load(tf, node("user", "O" * 1_000_000))
