"""import_graph_def: names, order, inputs, devices, functions, versions, and errors."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.core import errors
from tfnb.proto import op_def_pb2

CONST = """node { name: "a" op: "Const"
    attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
"""


def neg(name: str, source: str, more: str = "", dtype: str = "DT_FLOAT") -> str:
    """The text of a Neg node."""
    inputs = " ".join(f'input: "{one}"' for one in source.split())
    attr = f'attr {{ key: "T" value {{ type: {dtype} }} }}'
    return f'node {{ name: "{name}" op: "Neg" {inputs} {attr} {more} }}\n'


def no_op(name: str, source: str = "", more: str = "") -> str:
    """The text of a NoOp node."""
    inputs = " ".join(f'input: "{one}"' for one in source.split())
    return f'node {{ name: "{name}" op: "NoOp" {inputs} {more} }}\n'


def graph_def(text: str) -> tf.GraphDef:
    """The message for a text."""
    return text_format.Parse(text, tf.GraphDef())


def names(graph: tf.Graph) -> list[str]:
    """The names of a graph's operations in order."""
    return [op.name for op in graph.get_operations()]


# -- names -----------------------------------------------------------------------------------------


def test_nodes_go_into_a_scope_of_their_own(graph: tf.Graph) -> None:
    """The scope is `import`, then `import_1`, or the given name; with "" there is none."""
    nodes = graph_def(CONST)
    for name in (None, None, "p", ""):
        tf.import_graph_def(nodes, name=name)
    assert names(graph) == ["import/a", "import_1/a", "p/a", "a"]


def test_the_message_is_left_as_it_was(graph: tf.Graph) -> None:
    """Neither names nor defaults are written into it, and changing it later changes nothing."""
    nodes = graph_def(
        CONST + 'node { name: "p" op: "Placeholder" attr { key: "dtype" '
        "value { type: DT_FLOAT } } }"
    )
    copy = tf.GraphDef()
    copy.CopyFrom(nodes)
    tf.import_graph_def(nodes)
    assert nodes == copy
    nodes.node[0].attr["value"].tensor.float_val[0] = 5
    assert graph.get_operation_by_name("import/a").get_attr("value").float_val[0] == 1
    assert graph.get_operation_by_name("import/p").attr("shape").rank is None


def test_names_that_are_taken_get_numbers(graph: tf.Graph) -> None:
    """So does a name that is a scope of others; inputs and colocation follow."""
    tf.constant(1.0, name="a")
    tf.constant(1.0, name="sc/q")
    tf.import_graph_def(
        graph_def(
            CONST
            + no_op("sc")
            + neg("y", "a ^sc", 'attr { key: "_class" value { list { s: "loc:@a" } } }')
        ),
        name="",
    )
    assert names(graph)[2:] == ["a_1", "sc_1", "y"]
    y = graph.get_operation_by_name("y")
    assert list(y.node_def.input) == ["a_1", "^sc_1"]
    assert y.get_attr("_class") == [b"loc:@a_1"]
    assert graph.unique_name("y") == "y_1"


def test_a_prefix_goes_before_colocation_groups_too(graph: tf.Graph) -> None:
    """Other classes than groups stay as they are."""
    tf.import_graph_def(
        graph_def(
            CONST + neg("y", "a", 'attr { key: "_class" value { list { s: "loc:@a" s: "x" } } }')
        ),
        name="p",
    )
    assert graph.get_operation_by_name("p/y").get_attr("_class") == [b"loc:@p/a", b"x"]


# -- order and inputs ------------------------------------------------------------------------------


def test_nodes_may_come_before_their_inputs(graph: tf.Graph) -> None:
    """They are made in the topological order nearest to the one given."""
    tf.import_graph_def(graph_def(neg("y", "a") + CONST + no_op("z")), name="")
    assert names(graph) == ["a", "y", "z"]


def test_a_long_chain_is_no_recursion(graph: tf.Graph) -> None:
    """The chain is given backwards, so that it must be sorted as well."""
    length = 3000
    nodes = graph_def(CONST)
    for index in reversed(range(length)):
        source = "a" if index == 0 else f"n{index - 1}"
        node = nodes.node.add(name=f"n{index}", op="Neg", input=[source])
        node.attr["T"].type = tf.float32.as_datatype_enum
    tf.import_graph_def(nodes, name="")
    assert names(graph)[-1] == f"n{length - 1}"


@pytest.mark.slow
def test_thirty_thousand_nodes_can_be_read(graph: tf.Graph) -> None:
    """A chain of thirty thousand nodes is imported."""
    nodes = graph_def(CONST)
    for index in range(30_000):
        node = nodes.node.add(name=f"n{index}", op="Neg", input=[f"n{index - 1}" if index else "a"])
        node.attr["T"].type = tf.float32.as_datatype_enum
    tf.import_graph_def(nodes, name="")
    assert graph.version == 30_001
    assert len(graph.as_graph_def().node) == 30_001


def test_inputs_are_written_in_one_spelling(graph: tf.Graph) -> None:
    """`a:0` is `a`; control inputs are sorted and stand there once."""
    tf.import_graph_def(graph_def(CONST + no_op("b") + neg("y", "a:0 ^b ^a ^b")), name="")
    node = graph.as_graph_def().node[2]
    assert list(node.input) == ["a", "^a", "^b"]


LOOP = """
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
node { name: "enter" op: "Enter" input: "zero" attr { key: "T" value { type: DT_INT32 } }
  attr { key: "frame_name" value { s: "f" } } }
node { name: "merge" op: "Merge" input: "enter" input: "next"
  attr { key: "T" value { type: DT_INT32 } } attr { key: "N" value { i: 2 } } }
node { name: "next" op: "NextIteration" input: "merge" attr { key: "T" value { type: DT_INT32 } } }
"""


def test_a_loop_closes_with_its_back_edge(graph: tf.Graph) -> None:
    """The Merge takes the NextIteration that comes after it.

    zero -> enter -> merge -> next
                       ^--------'
    """
    tf.import_graph_def(graph_def(LOOP), name="w")
    merge = graph.get_operation_by_name("w/merge")
    back = graph.get_tensor_by_name("w/next:0")
    assert [t.name for t in merge.inputs] == ["w/enter:0", "w/next:0"]
    assert back.consumers() == [merge]
    assert list(merge.node_def.input) == ["w/enter", "w/next"]
    assert merge.outputs[1].shape.as_list() == []


def test_a_loop_in_any_order_is_a_loop(graph: tf.Graph) -> None:
    """Back edges do not count when nodes are sorted."""
    nodes = graph_def(LOOP)
    backwards = tf.GraphDef(node=reversed(nodes.node))
    tf.import_graph_def(backwards, name="")
    assert names(graph) == ["zero", "enter", "merge", "next"]
    assert [t.name for t in graph.get_operation_by_name("merge").inputs] == ["enter:0", "next:0"]


# -- what is wrong with a GraphDef -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONST + CONST, "Node 'a' is not unique"),
        (no_op(""), "Node '': Node name contains invalid characters"),
        (no_op("<img onerror>"), "Node '<img onerror>': Node name contains invalid characters"),
        (no_op("_y"), "Node '_y': Node name contains invalid characters"),
        (neg("y", "nope"), "Node 'y': Unknown input node 'nope'"),
        (no_op("y", "^nope"), "Node 'y': Unknown input node '^nope'"),
        (CONST + no_op("y", "^a:0"), "Node 'y': Unknown input node '^a:0'"),
        (CONST + neg("y", "a:-1"), "Node 'y': Unknown input node 'a:-1'"),
        (CONST + neg("y", "a:x"), "Node 'y': Unknown input node 'a:x'"),
        (
            CONST + neg("y", "a:99999999999999999999"),
            "Node 'y': Unknown input node 'a:99999999999999999999'",
        ),
        (
            CONST + neg("y", "a:1"),
            "Node 'y': Connecting to invalid output 1 of source node a which has 1 outputs.",
        ),
        (
            CONST + neg("y", "^a a"),
            "Node 'y': Control dependencies must come after regular dependencies",
        ),
        (
            CONST + neg("y", "a", dtype="DT_INT32"),
            "Input 0 of node y was passed float from a:0 incompatible with expected int32.",
        ),
        (
            CONST + neg("y", "a a"),
            "NodeDef expected inputs 'float' do not match 2 inputs specified; Op<",
        ),
        (
            neg("y", ""),
            "NodeDef expected inputs 'float' do not match 0 inputs specified; Op<name=Neg;",
        ),
        (neg("y", "y"), "1 nodes in a cycle"),
        (neg("y", "z") + neg("z", "y"), "2 nodes in a cycle, including: 'y', 'z'"),
        (no_op("y", "^z") + no_op("z", "^y"), "2 nodes in a cycle"),
        (
            CONST + neg("y", "a", dtype="DT_STRING"),
            "Value for attr 'T' of string is not in the list of allowed values: "
            "bfloat16, half, float",
        ),
        (
            CONST + 'node { name: "y" op: "Neg" input: "a" }',
            "NodeDef missing attr 'T' from Op<name=Neg; signature=x:T -> y:T; "
            "attr=T:type,allowed=[",
        ),
        (
            CONST + 'node { name: "y" op: "Neg" input: "a" attr { key: "T" value { i: 3 } } }',
            "AttrValue had value with type 'int' when 'type' expected",
        ),
        (
            CONST + 'node { name: "y" op: "Neg" input: "a" attr { key: "T" value { type: 999 } } }',
            "AttrValue has invalid DataType enum: 999",
        ),
        (
            CONST + 'node { name: "y" op: "Neg" input: "a" '
            'attr { key: "T" value { placeholder: "X" } } }',
            "found the placeholder 'X'",
        ),
        (
            CONST + 'node { name: "y" op: "Pack" input: "a" attr { key: "N" value { i: 0 } } '
            'attr { key: "T" value { type: DT_FLOAT } } }',
            "Value for attr 'N' of 0 must be at least minimum 1",
        ),
        (
            CONST
            + 'node { name: "y" op: "Pack" input: "a" attr { key: "N" value { i: 1000000000 } } '
            'attr { key: "T" value { type: DT_FLOAT } } }',
            "'values' cannot be a list of that length",
        ),
        (
            CONST + 'node { name: "y" op: "MatMul" input: "a" input: "a" '
            'attr { key: "T" value { type: DT_FLOAT } } }',
            "Shape must be rank 2 but is rank 0 for '{{node y}} = MatMul[",
        ),
        (
            no_op("y", more='attr { key: "_class" value { list { s: "loc:@nope" } } }'),
            "Node 'y' expects to be colocated with unknown node 'nope'",
        ),
        (no_op("y", more='device: "/foo:bar"'), "Unknown attribute"),
        (
            no_op("y") + "versions { producer: 100000 min_consumer: 99999 }",
            "GraphDef min consumer version 99999 above current version 2474",
        ),
        (
            no_op("y") + "versions { producer: 27 bad_consumers: 2474 }",
            "GraphDef disallows consumer version 2474",
        ),
        (
            no_op("y") + "versions { producer: -1 }",
            "GraphDef producer version -1 below min producer 0",
        ),
        (
            'node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
            'attr { key: "shape" value { shape { dim { size: -5 } } } } }',
            "Shape [-5] has dimensions with values below -1",
        ),
    ],
)
def test_a_bad_graph_is_refused_whole(graph: tf.Graph, text: str, message: str) -> None:
    """A ValueError with TensorFlow's sentence; the graph is as it was."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        tf.import_graph_def(graph_def(text), name="")
    assert message in str(caught.value)
    assert graph.version == 0
    assert graph.graph_def_versions.producer == 2474


def test_all_missing_ops_are_named_at_once(graph: tf.Graph) -> None:
    """The error has a node of each op, also in functions, the number of ops and their share."""
    text = (
        CONST
        + """node { name: "y" op: "Nope" input: "a" } node { name: "z" op: "Nope2" }
        node { name: "y2" op: "Nope" input: "y" } library { function { signature { name: "f" }
        node_def { name: "deep" op: "Nope3" } } }"""
    )
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'Nope'") as caught:
        tf.import_graph_def(graph_def(text))
    message = str(caught.value)
    listed = "'Nope' (node 'y' and 1 more), 'Nope2' (node 'z'), 'Nope3' (node 'f/deep')"
    assert f"Missing ops: {listed}; 4 of 5 nodes need them." in message
    assert "Nothing was imported and nothing ran." in message
    assert graph.version == 0


def test_of_very_many_missing_ops_the_first_are_named() -> None:
    """The error stays readable."""
    text = "".join(f'node {{ name: "n{i}" op: "Nope{i}" }}' for i in range(100))
    with pytest.raises(errors.NotFoundError, match=r"'Nope19' \(node 'n19'\), 80 more; 100 of 100"):
        tf.import_graph_def(graph_def(text))


def test_an_op_that_was_removed_is_refused_in_new_graphs_only(graph: tf.Graph) -> None:
    """Graphs of older producers may contain it."""
    text = """node { name: "p" op: "PlaceholderV2" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "shape" value { shape { dim { size: 2 } } } } }"""
    with pytest.raises(errors.UnimplementedError, match="has been removed in version 23"):
        tf.import_graph_def(graph_def(text + "versions { producer: 27 }"), name="")
    tf.import_graph_def(graph_def(text + "versions { producer: 22 }"), name="")
    assert names(graph) == ["p"]


def test_arguments_of_other_types_are_refused() -> None:
    """graph_def, input_map and return_elements."""
    nodes = graph_def(CONST)
    with pytest.raises(TypeError, match="Argument `graph_def` must be a GraphDef proto"):
        tf.import_graph_def(tf.MetaGraphDef())
    with pytest.raises(
        TypeError, match=r"Argument `input_map` must be a dictionary. Obtained list"
    ):
        tf.import_graph_def(nodes, input_map=[1])
    with pytest.raises(TypeError, match="All keys for argument `input_map` must be strings"):
        tf.import_graph_def(nodes, input_map={1: tf.constant(1.0)})
    with pytest.raises(TypeError, match="`return_elements` must be a list of strings"):
        tf.import_graph_def(nodes, return_elements=[1])
    with pytest.raises(ValueError, match="Cannot convert 'a:x' to a tensor name"):
        tf.import_graph_def(nodes, return_elements=["a:x"])


# -- input_map and return_elements -----------------------------------------------------------------


def test_inputs_can_be_replaced(graph: tf.Graph) -> None:
    """By tensors, by values, and control inputs by operations."""
    mine = tf.constant(5.0, name="mine")
    nodes = graph_def(CONST + no_op("n") + neg("y", "a ^n"))
    tf.import_graph_def(nodes, input_map={"a": mine, "^n": mine}, name="p")
    y = graph.get_operation_by_name("p/y")
    assert y.inputs == (mine,)
    assert y.control_inputs == [mine.op]
    assert mine.consumers() == [y]
    tf.import_graph_def(nodes, input_map={b"a:0": 3.0}, name="q")
    assert graph.get_operation_by_name("q/y").inputs[0].name == "q/_inputs/Const:0"


def test_a_replacement_must_have_the_dtype(graph: tf.Graph) -> None:
    """The sentence names the tensor that was given."""
    wrong = tf.constant(1, name="wrong")
    with pytest.raises(
        ValueError, match="was passed int32 from wrong:0 incompatible with expected"
    ):
        tf.import_graph_def(graph_def(CONST + neg("y", "a")), input_map={"a": wrong})
    assert wrong.consumers() == []


def test_misspelt_keys_are_refused(graph: tf.Graph) -> None:
    """Keys that are in the graph but not needed are accepted."""
    mine = tf.constant(5.0)
    nodes = graph_def(CONST + no_op("n"))
    tf.import_graph_def(nodes, input_map={"a": mine, "^n": mine})
    before = graph.version
    with pytest.raises(ValueError, match=r"not found in graph_def: \[q:1, a:4, \^z\]"):
        tf.import_graph_def(nodes, input_map={"q:1": mine, "a:4": mine, "^z": mine})
    assert graph.version == before


def test_values_in_the_map_need_a_scope_to_stand_in() -> None:
    """With name="" these values are refused."""
    with pytest.raises(
        ValueError, match="requires a non-empty `name` if `input_map` contains non-Tensor"
    ):
        tf.import_graph_def(graph_def(CONST), input_map={"a": 3.0}, name="")


def test_operations_and_tensors_come_back(graph: tf.Graph) -> None:
    """By their names in the message; a replaced tensor is its replacement."""
    nodes = graph_def(CONST + neg("y", "a"))
    op, tensor = tf.import_graph_def(nodes, return_elements=["a", b"y:0"])
    assert (op.name, tensor.name) == ("import/a", "import/y:0")
    mine = tf.constant(5.0)
    assert tf.import_graph_def(nodes, input_map={"a": mine}, return_elements=["a:0"]) == [mine]
    assert tf.import_graph_def(nodes, return_elements=[]) == []
    assert tf.import_graph_def(nodes) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nope", "Requested return node 'nope' not found in graph def"),
        ("nope:0", "Requested return tensor 'nope:0' not found in graph def"),
        ("a:3", "Invalid return output 3 of node 'a', which has 1 output"),
    ],
)
def test_return_elements_must_be_there(graph: tf.Graph, name: str, text: str) -> None:
    """A missing name is refused, and nothing is imported."""
    with pytest.raises(ValueError, match=text):
        tf.import_graph_def(graph_def(CONST), return_elements=[name])
    assert graph.version == 0


# -- devices, scopes, colocation -------------------------------------------------------------------


def test_devices_merge_with_the_scopes_around(graph: tf.Graph) -> None:
    """The node's device has precedence; every node waits for the control inputs."""
    first = tf.no_op(name="first")
    with tf.device("/job:w"), tf.control_dependencies([first]):
        tf.import_graph_def(graph_def(CONST + neg("y", "a", 'device: "/cpu:0"')))
    a, y = graph.get_operations()[1:]
    assert (a.device, y.device) == ("/job:w", "/job:w/device:CPU:0")
    assert (a.control_inputs, y.control_inputs) == ([first], [first])
    assert y.node_def.device == y.device
    assert list(graph.as_graph_def().node[2].input) == ["import/a", "^first"]


def test_a_device_function_is_asked_for_imported_nodes(graph: tf.Graph) -> None:
    """The function gets the node's own device."""
    with tf.device(lambda op: f"{op.device}/task:1"):
        tf.import_graph_def(graph_def(no_op("y", more='device: "/cpu:0"')))
    assert graph.get_operation_by_name("import/y").device == "/device:CPU:0/task:1"


def test_a_colocated_node_has_the_device_of_its_fellow(graph: tf.Graph) -> None:
    """The node's own device is ignored."""
    group = 'attr { key: "_class" value { list { s: "loc:@n" } } }'
    tf.import_graph_def(
        graph_def(
            no_op("n", more='device: "/gpu:1"') + no_op("m", more='device: "/cpu:0"' + group)
        ),
        name="",
    )
    assert graph.get_operation_by_name("m").device == "/device:GPU:1"


def test_scopes_of_attributes_and_contexts_hold_for_imported_nodes(graph: tf.Graph) -> None:
    """A control-flow context adopts each node, and attribute scopes apply."""

    class Context:
        def __init__(self) -> None:
            self.names: list[str] = []

        def add_op(self, op: tf.Operation) -> None:
            self.names.append(op.name)

    context = Context()
    graph._set_control_flow_context(context)
    with graph._attr_scope({"_mark": tf.AttrValue(i=1)}):
        tf.import_graph_def(graph_def(CONST + neg("y", "a")), name="")
    graph._set_control_flow_context(None)
    assert context.names == ["a", "y"]
    assert [node.attr["_mark"].i for node in graph.as_graph_def().node] == [1, 1]


# -- attributes, versions, functions ---------------------------------------------------------------


def test_defaults_are_filled_in_and_unknown_attributes_kept(graph: tf.Graph) -> None:
    """An old graph lacks attributes that the op has got since; a new one has more."""
    tf.import_graph_def(
        graph_def(
            'node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
            'attr { key: "new" value { i: 3 } } attr { key: "_note" value { s: "x" } } }'
        ),
        name="",
    )
    node = graph.as_graph_def().node[0]
    assert node.attr["shape"].shape.unknown_rank
    assert (node.attr["new"].i, node.attr["_note"].s) == (3, b"x")
    assert graph.get_operation_by_name("p").get_attr("new") == 3


def test_a_list_of_producer_ops_drops_unknown_defaults(graph: tf.Graph) -> None:
    """An unknown attribute with the default value of the producer's op is dropped."""
    nodes = graph_def(
        no_op("n", more='attr { key: "new" value { i: 3 } } attr { key: "b" value { i: 4 } }')
    )
    ops = op_def_pb2.OpList()
    op = ops.op.add(name="NoOp")
    for name in ("new", "b"):
        op.attr.add(name=name, type="int").default_value.i = 3
    tf.import_graph_def(nodes, producer_op_list=ops, name="")
    assert list(graph.as_graph_def().node[0].attr) == ["b"]


def test_written_shapes_are_used_and_dropped(graph: tf.Graph) -> None:
    """_output_shapes knows more than the op; a contradiction is refused."""
    shapes = (
        'attr {{ key: "_output_shapes" value {{ list {{ shape {{ dim {{ size: {} }} }} }} }} }}'
    )
    dtype = 'attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}'
    text = 'node {{ name: "p" op: "Placeholder" ' + dtype + " {} {} }}"
    known = 'attr { key: "shape" value { shape { dim { size: 3 } } } }'
    tf.import_graph_def(graph_def(text.format("", shapes.format(2))), name="")
    assert graph.get_tensor_by_name("p:0").shape.as_list() == [2]
    assert "_output_shapes" not in graph.as_graph_def().node[0].attr
    with pytest.raises(ValueError, match="attribute inconsistent with the GraphDef for output #0"):
        tf.import_graph_def(graph_def(text.format(known, shapes.format(2))))


def test_an_old_empty_shape_is_unknown(graph: tf.Graph) -> None:
    """Before version 24 an empty shape meant an unknown one."""
    text = """node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "shape" value { shape {} } } } versions { producer: %d }"""
    tf.import_graph_def(graph_def(text % 27), name="new")
    assert graph.get_tensor_by_name("new/p:0").shape.as_list() == []
    tf.import_graph_def(graph_def(text % 5), name="old")
    assert graph.get_tensor_by_name("old/p:0").shape.rank is None
    assert graph.graph_def_versions.producer == 5


FUNCTION = """library { function { signature { name: "Twice"
    input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "add" op: "AddV2" input: "x" input: "x"
    attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "add:z:0" } }
  function { signature { name: "TwiceGrad"
    input_arg { name: "x" type: DT_FLOAT } input_arg { name: "dy" type: DT_FLOAT }
    output_arg { name: "dx" type: DT_FLOAT } }
  ret { key: "dx" value: "dy" } }
  gradient { function_name: "Twice" gradient_func: "TwiceGrad" } }
"""


def test_functions_come_along(graph: tf.Graph) -> None:
    """A node may have a function as its op; the library is exported again."""
    nodes = graph_def(CONST + 'node { name: "t" op: "Twice" input: "a" }' + FUNCTION)
    tf.import_graph_def(nodes, name="")
    call = graph.get_operation_by_name("t")
    assert [t.dtype for t in call.outputs] == [tf.float32]
    written = graph.as_graph_def()
    assert written.library == nodes.library
    assert written.versions.min_consumer == 12
    tf.import_graph_def(nodes, name="again")
    assert graph.as_graph_def().library == nodes.library


def test_two_functions_of_one_name_are_refused(graph: tf.Graph) -> None:
    """The library stays as it was."""
    tf.import_graph_def(graph_def(FUNCTION))
    other = graph_def(CONST + FUNCTION.replace("AddV2", "Mul"))
    with pytest.raises(
        ValueError, match="Cannot add function 'Twice' because a different function"
    ):
        tf.import_graph_def(other)
    assert graph.version == 0


def test_what_was_exported_imports_to_the_same(graph: tf.Graph) -> None:
    """Message -> graph -> message is the identity on our own messages."""
    x = tf.placeholder(tf.float32, [2, None], name="x")
    with tf.device("/cpu:0"), tf.control_dependencies([tf.no_op()]):
        tf.add(x, 1.0)
    written = graph.as_graph_def(add_shapes=True)
    plain = graph.as_graph_def()
    with tf.Graph().as_default() as twin:
        tf.import_graph_def(written, name="")
    assert twin.as_graph_def() == plain
    assert twin.as_graph_def(add_shapes=True) == written


def test_creation_sites_point_at_the_import(graph: tf.Graph) -> None:
    """The creation site is the call of the import."""
    tf.import_graph_def(graph_def(CONST))
    site = graph.get_operation_by_name("import/a").creation_site
    assert site is not None
    assert site.function == "test_creation_sites_point_at_the_import"
    assert site.text == "tf.import_graph_def(graph_def(CONST))"
