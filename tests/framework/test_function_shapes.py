"""Static shapes of function calls."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.core import errors
from tfnb.framework import function_shapes

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def function(name: str, nodes: str, result: str, attr: str = "") -> str:
    """The text of a function of one tensor x with one result y."""
    kind = 'type_attr: "T"' if attr else "type: DT_FLOAT"
    return f"""function {{
      signature {{ name: "{name}" input_arg {{ name: "x" {kind} }} output_arg {{ name: "y" {kind} }}
        {attr} }}
      {nodes} ret {{ key: "y" value: "{result}" }} }}"""


def neg(name: str, source: str, attr: str = FLOAT) -> str:
    """The text of a Neg in a function's body."""
    return f'node_def {{ name: "{name}" op: "Neg" input: "{source}" {attr} }}'


def call(name: str, source: str, field: str = "node_def") -> str:
    """The text of a node that calls a function."""
    return f'{field} {{ name: "c_{name}" op: "{name}" input: "{source}" }}'


def import_call(functions: str, op: str = "F", more: str = "") -> tf.Tensor:
    """Imports a call of a function on a (2, ?) placeholder and gives its result."""
    text = f"""node {{ name: "p" op: "Placeholder"
        attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
        attr {{ key: "shape" value {{ shape {{ dim {{ size: 2 }} dim {{ size: -1 }} }} }} }} }}
      node {{ name: "t" op: "{op}" input: "p" {more} }}
      library {{ {functions} }}"""
    graph_def = text_format.Parse(text, tf.GraphDef())
    (result,) = tf.import_graph_def(graph_def, name="", return_elements=["t:0"])
    return result


CALL = """attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "f" value { func { name: "F" } } }"""


@pytest.mark.parametrize(
    ("op", "more"), [("F", ""), ("PartitionedCall", CALL), ("StatefulPartitionedCall", CALL)]
)
def test_a_call_has_the_shapes_of_the_body(op: str, more: str) -> None:
    """All kinds of calls are covered."""
    assert import_call(function("F", neg("n", "x"), "n:y:0"), op, more).shape.as_list() == [2, None]


def test_calls_in_bodies_are_followed() -> None:
    """g calls f; an argument may be a result."""
    inner = function("F", "", "x")
    outer = function("G", call("F", "x"), "c_F:y:0")
    assert import_call(inner + outer, "G").shape.as_list() == [2, None]


def test_attributes_of_the_call_fill_the_body() -> None:
    """A placeholder in the body stands for the function's attribute."""
    holder = 'attr { key: "T" value { placeholder: "T" } }'
    generic = function("F", neg("n", "x", holder), "n:y:0", 'attr { name: "T" type: "type" }')
    assert import_call(generic, more=FLOAT).shape.as_list() == [2, None]


def test_nodes_of_a_body_may_have_inner_names_and_wait_for_each_other() -> None:
    """Waiting for an argument has no effect."""
    nodes = neg("_a", "x") + f'node_def {{ name: "b" op: "Neg" input: "_a:y" input: "^x" {FLOAT} }}'
    assert import_call(function("F", nodes, "b:y:0")).shape.as_list() == [2, None]


def test_a_function_that_calls_itself_is_not_followed() -> None:
    """Direct and indirect recursion is not followed."""
    assert import_call(function("F", call("F", "x"), "c_F:y:0")).shape.rank is None
    with tf.Graph().as_default():
        both = function("F", call("G", "x"), "c_G:y:0") + function("G", call("F", "x"), "c_F:y:0")
        assert import_call(both).shape.rank is None


def test_many_calls_of_one_function_build_its_body_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that call each other twice on many levels are built once each."""
    built = []
    original = function_shapes._shapes_of_results

    def count(graph: tf.Graph, name: str, *args: object) -> object:
        built.append(name)
        return original(graph, name, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(function_shapes, "_shapes_of_results", count)
    functions = function("F0", "", "x")
    for level in range(1, 21):
        twice = call(f"F{level - 1}", "x") + (
            f'node_def {{ name: "d" op: "F{level - 1}" input: "c_F{level - 1}:y:0" }}'
        )
        functions += function(f"F{level}", twice, "d:y:0")
    assert import_call(functions, "F20").shape.as_list() == [2, None]
    assert sorted(built) == sorted(f"F{level}" for level in range(21))


@pytest.mark.parametrize(
    ("functions", "error", "text"),
    [
        (function("F", neg("n", "x"), "nowhere:y:0"), ValueError, "Return y -> nowhere:y:0 is not"),
        (function("F", neg("n", "x"), "n:y:3"), ValueError, "Return y -> n:y:3 is not found"),
        (function("F", neg("n", "zz"), "n:y:0"), ValueError, "input zz is not found: {{node n}}"),
        (
            function("F", neg("n", "m:y:0") + neg("m", "n:y:0"), "n:y:0"),
            ValueError,
            "2 nodes in a cycle",
        ),
        (
            function("F", 'node_def { name: "n" op: "Nope" }', "n:y:0"),
            errors.NotFoundError,
            "Op type not registered 'Nope'",
        ),
        (
            function("F", neg("n", "x"), "n:y:0").replace('key: "y"', 'key: "z"'),
            ValueError,
            "Return y missing",
        ),
        (
            function("Neg", neg("n", "x"), "n:y:0"),
            ValueError,
            "Cannot add function 'Neg' because an op with the same name already exists",
        ),
    ],
)
def test_a_bad_body_is_refused_where_it_is_called(
    graph: tf.Graph, functions: str, error: type[Exception], text: str
) -> None:
    """The graph is left as it was."""
    with pytest.raises(error) as caught:
        import_call(functions)
    assert text in str(caught.value)
    assert graph.version == 0
    assert not graph._functions


def test_a_call_may_ask_not_to_be_followed() -> None:
    """A bad body is then not reported either."""
    more = 'attr { key: "_disable_call_shape_inference" value { b: true } }'
    assert import_call(function("F", neg("n", "zz"), "n:y:0"), more=more).shape.rank is None


def test_what_a_handle_refers_to_goes_through_a_call(graph: tf.Graph) -> None:
    """A body that reads a variable knows its shape."""
    text = """node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
        attr { key: "shape" value { shape { dim { size: 3 } } } } }
      node { name: "t" op: "Read" input: "v" }
      library { function { signature { name: "Read" is_stateful: true
          input_arg { name: "x" type: DT_RESOURCE } output_arg { name: "y" type: DT_FLOAT } }
        node_def { name: "r" op: "ReadVariableOp" input: "x"
          attr { key: "dtype" value { type: DT_FLOAT } } }
        ret { key: "y" value: "r:value:0" } } }"""
    tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
    assert graph.get_tensor_by_name("t:0").shape.as_list() == [3]
