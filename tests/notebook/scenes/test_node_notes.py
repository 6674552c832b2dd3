"""Kernel, colocation and passes of a node."""

from __future__ import annotations

import tfnb as tf
from tfnb.notebook.scenes.node_notes import colocation_groups, kernel_text, passes_by_node
from tfnb.notebook.views.targets import find_target


def test_the_kernel_is_the_function_of_the_device() -> None:
    """The module and name of the kernel; nothing for an unregistered op."""
    assert kernel_text("Neg", "/device:CPU:0", {}).endswith(" on CPU")
    assert kernel_text("Neg", "", {}) == kernel_text("Neg", "/device:CPU:0", {})
    assert kernel_text("NoSuchOp", "/device:CPU:0", {}) == ""


def test_colocated_nodes_are_a_group() -> None:
    """Groups that share a member are joined; a node alone has no group."""
    groups = colocation_groups(
        {"b": [b"loc:@a"], "c": [b"loc:@b"], "d": [b"loc:@d"], "f": [b"loc:@e"], "g": [b"other"]}
    )
    assert groups == {"a": "a", "b": "a", "c": "a", "e": "e", "f": "e"}


def test_a_chain_of_ten_thousand_is_one_group() -> None:
    """The chain is ten thousand nodes deep."""
    groups = colocation_groups({f"n{i + 1}": [b"loc:@n%d" % i] for i in range(10_000)})
    assert len(set(groups.values())) == 1


def test_passes_are_found_by_the_names_they_quote() -> None:
    """Each report is listed under all nodes that it names, with its pass."""
    lines = [
        "meta_optimizer (post rewrite for exec, 1000)",
        "  constfold: 'x/mul' (Mul) became a constant",
        "  cse: 'one' (Square) is the same as 'two:0'",
        "constant_folding (post partitioning, 10)",
        "  'one:0' (Add) became a constant",
    ]
    found = passes_by_node(lines)
    assert found["x/mul"] == ("meta_optimizer: constfold: 'x/mul' (Mul) became a constant",)
    assert found["two"] == ("meta_optimizer: cse: 'one' (Square) is the same as 'two:0'",)
    assert len(found["one"]) == 2
    assert found["one"][1].startswith("constant_folding: ")


def test_a_graph_knows_all_of_it_once_it_ran() -> None:
    """The description has allowed devices, kernel, colocation and passes."""
    with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=False)
        with tf.colocate_with(v.op):
            scale = tf.multiply(tf.constant(2.0), 3.0, name="scale")
        y = tf.multiply(v, scale, name="y")
        init = tf.global_variables_initializer()
    with tf.Session(graph=graph) as session:
        session.run(init)
        session.run(y)
        nodes = {node.name: node for node in find_target(session).scene().nodes}
    assert nodes["scale"].colocated == nodes["v"].colocated != ""
    assert nodes["y"].kernel.endswith(" on CPU")
    assert nodes["y"].allowed == ("CPU",)
    assert any("became a constant" in line for line in nodes["scale"].touched)
