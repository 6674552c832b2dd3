"""Functions that pass resources take part in placement, and may not call themselves."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format

import tfnb as tf

_CALL = """
    attr { key: "f" value { func { name: "NAME" } } }
    attr { key: "Tin" value { list { TIN } } }
    attr { key: "Tout" value { list { TOUT } } }
"""
_HANDLE = "type: DT_RESOURCE"


def call(name: str, function: str, *inputs: str, num_outputs: int = 1, device: str = "") -> str:
    """Return the fields of a PartitionedCall node of handles."""
    text = f'name: "{name}" op: "StatefulPartitionedCall" device: "{device}" '
    text += " ".join(f'input: "{one}"' for one in inputs)
    attrs = _CALL.replace("NAME", function).replace("TIN", " ".join([_HANDLE] * len(inputs)))
    return text + attrs.replace("TOUT", " ".join([_HANDLE] * num_outputs))


def variable(name: str, device: str = "") -> str:
    """Return the fields of a VarHandleOp."""
    return (
        f'name: "{name}" op: "VarHandleOp" device: "{device}" '
        'attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } }'
        f'attr {{ key: "shared_name" value {{ s: "{name}" }} }}'
    )


def of_variable(name: str, op: str, *inputs: str, device: str = "") -> str:
    """Return the fields of a node that uses a variable."""
    text = f'name: "{name}" op: "{op}" device: "{device}" '
    text += " ".join(f'input: "{one}"' for one in inputs)
    return text + ' attr { key: "dtype" value { type: DT_FLOAT } }'


_CONST = """name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } }"""


def function(name: str, args: int, nodes: list[str], returns: list[str]) -> str:
    """Return a function of handles x0, x1, ..."""
    text = f'function {{ signature {{ name: "{name}" is_stateful: true '
    text += "".join(f'input_arg {{ name: "x{i}" type: DT_RESOURCE }}' for i in range(args))
    text += "".join(f'output_arg {{ name: "y{i}" type: DT_RESOURCE }}' for i in range(len(returns)))
    text += "}" + "".join(f"node_def {{ {node} }}" for node in nodes)
    text += "".join(f'ret {{ key: "y{i}" value: "{r}" }}' for i, r in enumerate(returns))
    return text + "}"


def placed(nodes: list[str], functions: list[str], fetch: str, *, inline: bool = False) -> Any:
    """Return the fetched value, and the device of every node by its number."""
    text = "".join(f"node {{ {node} }}" for node in nodes)
    text += f"library {{ {''.join(functions)} }} versions {{ producer: 27 min_consumer: 12 }}"
    config = tf.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=False)
    if not inline:
        config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
        with tf.Session(graph=graph, config=config) as session:
            value = session.run(
                fetch,
                options=tf.RunOptions(output_partition_graphs=True),
                run_metadata=metadata,
            )
    return value, {
        node.name: int(node.device[-1]) for part in metadata.partition_graphs for node in part.node
    }


_SAME = function("Same", 1, [], ["x0"])


@pytest.mark.parametrize("inline", [True, False])
def test_a_node_that_takes_a_handle_out_of_a_call_goes_where_the_variable_is(inline):
    """The node's own device request is ignored, as with any resource edge."""
    nodes = [
        variable("v", "/cpu:1"),
        _CONST,
        call("call", "Same", "v"),
        of_variable("init", "AssignVariableOp", "call", "c", device="/cpu:2"),
        of_variable("read", "ReadVariableOp", "call", "^init"),
    ]
    value, devices = placed(nodes, [_SAME], "read:0", inline=inline)
    assert value == 3.0
    assert (devices["v"], devices["init"], devices["read"]) == (1, 1, 1)


@pytest.mark.parametrize("inline", [True, False])
def test_a_variable_made_in_a_body_keeps_its_users_on_its_device(inline):
    """The body determines the device."""
    maker = function("Make", 0, [variable("w", "/cpu:2")], ["w:resource:0"])
    nodes = [
        _CONST,
        call("call", "Make"),
        of_variable("init", "AssignVariableOp", "call", "c"),
        of_variable("read", "ReadVariableOp", "call", "^init"),
    ]
    value, devices = placed(nodes, [maker], "read:0", inline=inline)
    assert value == 3.0
    assert (devices["init"], devices["read"]) == (2, 2)


def test_handles_that_only_pass_the_same_call_need_not_be_together():
    """Each result is on the device of its argument."""
    two = function("Two", 2, [], ["x1", "x0"])
    nodes = [
        variable("v", "/cpu:1"),
        variable("w", "/cpu:2"),
        _CONST,
        call("call", "Two", "v", "w", num_outputs=2),
        of_variable("init", "AssignVariableOp", "call:1", "c"),
        of_variable("other", "AssignVariableOp", "call", "c"),
        of_variable("read", "ReadVariableOp", "call:1", "^init", "^other"),
    ]
    value, devices = placed(nodes, [two], "read:0")
    assert value == 3.0
    assert (devices["init"], devices["other"]) == (1, 2)


def test_handles_through_calls_within_calls_are_followed():
    """A handle is followed through two levels of calls."""
    outer = function("Outer", 1, [call("inner", "Same", "x0")], ["inner:output:0"])
    nodes = [
        variable("v", "/cpu:1"),
        _CONST,
        call("call", "Outer", "v"),
        of_variable("init", "AssignVariableOp", "call", "c"),
        of_variable("read", "ReadVariableOp", "call", "^init"),
    ]
    value, devices = placed(nodes, [outer, _SAME], "read:0")
    assert value == 3.0
    assert devices["init"] == 1


def test_a_body_that_places_a_resource_on_another_device_than_its_user_is_refused():
    """Two variables with different devices reach one node, which is refused."""
    maker = function("Make", 0, [variable("w", "/cpu:2")], ["w:resource:0"])
    nodes = [
        call("call", "Make", device="/cpu:1"),
        of_variable("read", "ReadVariableOp", "call"),
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must share a device"):
        placed(nodes, [maker], "read:0")


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("mutual", [True, False])
def test_a_function_on_the_path_of_a_resource_may_not_call_itself(inline, mutual):
    """Recursion is refused also through another function."""
    if mutual:
        functions = [
            function("Ping", 1, [call("pong", "Pong", "x0")], ["pong:output:0"]),
            function("Pong", 1, [call("ping", "Ping", "x0")], ["ping:output:0"]),
        ]
    else:
        functions = [function("Ping", 1, [call("ping", "Ping", "x0")], ["ping:output:0"])]
    nodes = [
        variable("v"),
        call("call", "Ping", "v"),
        of_variable("read", "ReadVariableOp", "call"),
    ]
    with pytest.raises(
        tf.errors.UnimplementedError, match="Recursive function calls are not supported"
    ):
        placed(nodes, functions, "read:0", inline=inline)
