"""A function and its attributes become a graph with arguments and results."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from tests.graph.small_graphs import names, node, small_graph, wiring
from tfnb.core import dtypes, errors
from tfnb.core.attr_value import NameAttrList
from tfnb.graph.function_body import FunctionBody, instantiate
from tfnb.graph.function_library import FunctionLibraryDefinition
from tfnb.proto import graph_pb2

TWICE = """
    signature {
      name: "Twice"
      input_arg { name: "x" type_attr: "T" }
      output_arg { name: "y" type_attr: "T" }
      attr { name: "T" type: "type" }
    }
    node_def {
      name: "pass" op: "TestPass" input: "x"
      attr { key: "T" value { placeholder: "T" } }
    }
    node_def {
      name: "again" op: "TestPass" input: "pass:y:0" input: "^pass"
      attr { key: "T" value { placeholder: "T" } }
    }
    ret { key: "y" value: "again:y:0" }
"""
SPLIT = """
    signature {
      name: "SplitUp"
      input_arg { name: "xs" type_attr: "T" number_attr: "N" }
      input_arg { name: "z" type: DT_FLOAT }
      output_arg { name: "ys" type_attr: "T" number_attr: "N" }
      output_arg { name: "last" type_attr: "T" }
      attr { name: "T" type: "type" }
      attr { name: "N" type: "int" }
    }
    node_def {
      name: "many" op: "TestMany" input: "xs"
      attr { key: "T" value { placeholder: "T" } }
      attr { key: "N" value { placeholder: "N" } }
    }
    ret { key: "ys" value: "many:ys" }
    ret { key: "last" value: "many:ys:1" }
"""


def library(*texts: str) -> FunctionLibraryDefinition:
    """A library of functions written as text."""
    found = FunctionLibraryDefinition()
    for text in texts:
        found.add_function(text_format.Parse(text, graph_pb2.FunctionDef()))
    return found


def body(text: str, **attrs: object) -> FunctionBody:
    """The body of the one function in ``text``."""
    functions = library(text)
    definition = functions.find(functions.names()[0])
    assert definition is not None
    return instantiate(definition, attrs, functions)


def test_placeholder_attributes_get_the_callers_values() -> None:
    """One graph per set of attributes.

    x -> pass -> again -> y_RetVal
    """
    found = body(TWICE, T=dtypes.int32)
    assert wiring(found.graph) == {
        "x:0 -> pass:0", "pass:0 -> again:0", "^pass -> again", "again:0 -> y_RetVal:0",
    }  # fmt: skip
    assert node(found.graph, "pass").attrs["T"] is dtypes.int32
    assert (found.arg_types, found.ret_types) == ([dtypes.int32], [dtypes.int32])


def test_list_arguments_and_results_are_one_node_each_tensor() -> None:
    """Indices count tensors."""
    found = body(SPLIT, T=dtypes.int32, N=2)
    assert [each.name for each in found.arg_nodes] == ["xs_0", "xs_1", "z"]
    assert [each.attrs["index"] for each in found.arg_nodes] == [0, 1, 2]
    assert [each.name for each in found.ret_nodes] == ["ys_RetVal_0", "ys_RetVal_1", "last_RetVal"]
    assert {"many:0 -> ys_RetVal_0:0", "many:1 -> last_RetVal:0", "xs_1:0 -> many:1"} <= wiring(
        found.graph
    )


def test_functions_as_attributes_keep_their_own_attributes() -> None:
    """A placeholder inside is replaced too."""
    text = """
        signature { name: "Outer" output_arg { name: "y" type: DT_FLOAT }
                    attr { name: "T" type: "type" } }
        node_def { name: "call" op: "TestCall"
                   attr { key: "f" value { func { name: "Inner"
                          attr { key: "T" value { placeholder: "T" } } } } } }
        ret { key: "y" value: "call:out:0" }
    """
    found = body(text, T=dtypes.int32)
    assert node(found.graph, "call").attrs["f"] == NameAttrList("Inner", {"T": dtypes.int32})


def test_effects_and_control_results_are_kept_and_the_rest_dropped() -> None:
    """A stateless node that no result needs does not run."""
    text = """
        signature { name: "Effects" input_arg { name: "x" type: DT_FLOAT }
                    output_arg { name: "y" type: DT_FLOAT } control_output: "later" }
        node_def { name: "lost" op: "TestRelu" input: "x" }
        node_def { name: "effect" op: "TestEffect" input: "x" }
        node_def { name: "wanted" op: "TestRelu" input: "x" }
        ret { key: "y" value: "x" }
        control_ret { key: "later" value: "wanted" }
    """
    found = body(text)
    assert names(found.graph) == ["x", "effect", "wanted", "y_RetVal"]
    assert [each.name for each in found.control_ret_nodes] == ["wanted"]


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('input: "pass:y:0"', 'input: "pass:y:1"', "'again' uses the unknown tensor 'pass:y:1'"),
        ('input: "pass:y:0"', 'input: "nope"', "'again' uses the unknown tensor 'nope'"),
        ('input: "^pass"', 'input: "^nope"', "'again' waits for the unknown node 'nope'"),
        ('input: "^pass"', 'input: "x"', "node 'again' takes 1 inputs, 2 are given"),
        ('value: "again:y:0"', 'value: "nope:y:0"', "'y' uses the unknown tensor 'nope:y:0'"),
        ('ret { key: "y"', 'ret { key: "q"', "the result 'y' comes from nowhere"),
        ('placeholder: "T"', 'placeholder: "U"', "'U' is not one of its attributes"),
        ('name: "again"', 'name: "pass"', "Node name 'pass' is used twice"),
        ('name: "x" type_attr: "T"', 'name: "x" type: DT_DOUBLE', "passed double from x:0"),
    ],
)
def test_malformed_body_is_refused(old: str, new: str, match: str) -> None:
    """The message names the function and the missing part."""
    assert old in TWICE
    with pytest.raises(errors.InvalidArgumentError, match=match) as caught:
        body(TWICE.replace(old, new), T=dtypes.int32)
    assert "'Twice'" in caught.value.message


def test_missing_attribute_is_named() -> None:
    """A call must bind all attributes."""
    with pytest.raises(
        errors.InvalidArgumentError, match="function 'Twice': NodeDef missing attr 'T'"
    ):
        body(TWICE)


# -- the library -----------------------------------------------------------------------------------


def test_function_is_an_op_of_its_graph() -> None:
    """Node types follow from the signature and the call's attributes."""
    graph = small_graph("a = TestInt\nb = Twice(a) T=int32", library(TWICE))
    assert node(graph, "b").output_types == (dtypes.int32,)
    assert node(graph, "b").op_definition is not None
    assert node(graph, "b").op_definition.has_kernel("GPU")  # type: ignore[union-attr]


def test_equal_function_may_come_again_another_may_not() -> None:
    """Extending with the whole library is common, so equal functions are accepted."""
    functions = library(TWICE, TWICE)
    assert len(functions) == 1
    with pytest.raises(
        errors.InvalidArgumentError, match="a different function with the same name"
    ):
        functions.add_function(
            text_format.Parse(TWICE.replace("^pass", "^x"), graph_pb2.FunctionDef())
        )


def test_gradient_is_declared_once() -> None:
    """A second gradient is refused together with everything in the same message."""
    message = graph_pb2.FunctionDefLibrary()
    message.gradient.add(function_name="Twice", gradient_func="G1")
    functions = FunctionLibraryDefinition(message)
    assert functions.find_gradient("Twice") == "G1"
    message.gradient[0].gradient_func = "G2"
    message.function.add().signature.name = "New"
    with pytest.raises(errors.InvalidArgumentError, match="already has gradient function 'G1'"):
        functions.add_library(message)
    assert "New" not in functions


def test_only_reachable_functions_go_along() -> None:
    """A function is reachable directly, as an attribute, through a body, or as a gradient."""
    inner = TWICE.replace("Twice", "Inner")
    caller = """
        signature { name: "Caller" output_arg { name: "y" type: DT_FLOAT } }
        node_def { name: "c" op: "TestCall" attr { key: "f" value { func { name: "Inner" } } } }
        ret { key: "y" value: "c:out:0" }
    """
    functions = library(inner, caller, TWICE, TWICE.replace("Twice", "Grad"))
    functions.add_gradient("Inner", "Grad")
    graph = small_graph("a = Caller", functions)
    assert functions.reachable_from(graph.op_nodes()).names() == ["Caller", "Inner", "Grad"]
    assert (
        functions.reachable_from(small_graph("a = TestSource", functions).op_nodes()).names() == []
    )
    assert {f.signature.name for f in functions.to_proto().function} == set(functions.names())
