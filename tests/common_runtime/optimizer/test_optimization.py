"""Passes: their order, their reports, and that they change no result."""

from __future__ import annotations

import numpy as np
import pytest

from tests.common_runtime.graph_defs import binary, const, graph_def, node, placeholder, session
from tests.traced_memory import traced_memory
from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
    OptimizationPassRegistry,
)
from tfnb.core import dtypes, errors
from tfnb.proto import config_pb2, graph_pb2, rewriter_config_pb2

F = np.float32
OFF = rewriter_config_pb2.RewriterConfig.OFF


class Noting:
    """A pass that records when it ran."""

    def __init__(self, name, log):
        self.name = name
        self.log = log

    def run(self, options):
        """Record; return a report only with a graph."""
        self.log.append(self.name)
        return [] if options.graph is None else [f"{self.name} was here"]


def test_passes_of_a_grouping_run_by_phase_and_report_what_they_did():
    """Phase numbers decide, then registration; passes without changes have no report."""
    registry, log = OptimizationPassRegistry(), []
    registry.register(Grouping.POST_PLACEMENT, 2, Noting("c", log))
    registry.register(Grouping.POST_PLACEMENT, 1, Noting("a", log))
    registry.register(Grouping.POST_PLACEMENT, 1, Noting("b", log))
    registry.register(Grouping.PRE_PLACEMENT, 0, Noting("other", log))
    options = OptimizationPassOptions(None, config_pb2.ConfigProto())
    assert registry.run_grouping(Grouping.POST_PLACEMENT, options) == []
    assert log == ["a", "b", "c"]
    assert registry.listing()[0] == (Grouping.PRE_PLACEMENT, 0, "other")


class CallsSeven:
    """A pass that adds a function without inputs, and calls it instead of every Const."""

    name = "calls_seven"

    def run(self, options):
        """Replaces constants, but not the function's own."""
        if options.graph is None or options.function_name:
            return []
        seven = graph_pb2.FunctionDef()
        seven.signature.name = "seven"
        seven.signature.output_arg.add(name="y", type=dtypes.float32.as_datatype_enum)
        seven.node_def.add().CopyFrom(const("c", 7.0))
        seven.ret["y"] = "c:output:0"
        options.library.add_function(seven)
        found = [each for each in options.graph.op_nodes() if each.op == "Const"]
        for each in found:
            options.graph.change_op(each, "seven", {})
        return [f"'{each.name}' calls 'seven'" for each in found]


@pytest.mark.parametrize("grouping", [Grouping.PRE_PLACEMENT, Grouping.POST_REWRITE_FOR_EXEC])
def test_a_pass_may_add_functions_and_call_them(grouping):
    """The library of the session gets the function, and the next signature can use it."""
    added = CallsSeven()
    native = session(const("a", 1.0), placeholder("p"), binary("s", "Add", "a", "p"))
    REGISTRY.register(grouping, 0, added)
    try:
        assert native.run({"p:0": F(1)}, ["s:0"], []) == [8.0]
        assert native.run({}, ["a:0"], []) == [7.0]
        (report,) = [one for one in native.optimization_reports(["a:0"]) if one.phase == 0 and
                     one.grouping == grouping and one.name == "calls_seven"]  # fmt: skip
        assert report.actions == ("'a' calls 'seven'",)
    finally:
        REGISTRY.deregister(grouping, added)
    assert native.extend(graph_def(const("b", 2.0))) is None
    assert native.run({}, ["b:0"], []) == [2.0]


def test_bodies_of_functions_are_optimised_too():
    """The report names the called function."""
    twice = graph_pb2.FunctionDef()
    twice.signature.name = "twice"
    for arg, args in (("x", twice.signature.input_arg), ("y", twice.signature.output_arg)):
        args.add(name=arg, type=dtypes.float32.as_datatype_enum)
    twice.node_def.add().CopyFrom(const("one", 1.0))
    twice.node_def.add().CopyFrom(binary("s", "Add", "x", "x"))
    twice.node_def.add().CopyFrom(binary("m", "Mul", "s:z:0", "one:output:0"))
    twice.ret["y"] = "m:z:0"
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.function_optimization = OFF
    seen = []

    class Looks:
        """Records the remaining ops of each body."""

        name = "looks"

        def run(self, options):
            """Record."""
            seen.append((options.function_name, [n.op for n in options.graph.op_nodes()]))
            return []

    looks = Looks()
    REGISTRY.register(Grouping.POST_PARTITIONING, 0, looks)
    try:
        graph = graph_def(placeholder("p"))
        graph.node.add(name="call", op="twice", input=["p"])
        graph.library.function.add().CopyFrom(twice)
        native = session(config=config)
        native.create(graph)
        assert native.run({"p:0": F(4)}, ["call:0"], []) == [8.0]
    finally:
        REGISTRY.deregister(Grouping.POST_PARTITIONING, looks)
    assert ("twice", ["_Arg", "Add", "_Retval"]) in seen


def test_every_grouping_may_run_without_a_graph():
    """Every pass accepts that there is no graph."""
    options = OptimizationPassOptions(None, config_pb2.ConfigProto())
    assert [REGISTRY.run_grouping(grouping, options) for grouping in Grouping] == [[]] * 4


def nodes_of(native, feeds, fetches):
    """Return the names of the nodes that a signature runs."""
    prepared = native.prepare(feeds, fetches, ())
    return {n.name for item in prepared.executors.items for n in item.graph.op_nodes()}


def level(opt_level):
    """Return a configuration with this optimization level, for the partitions only."""
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = opt_level
    return config


def chain():
    """(2 + 3) * p, twice."""
    return (
        placeholder("p"),
        const("two", 2.0),
        const("three", 3.0),
        binary("five", "Add", "two", "three"),
        binary("x", "Mul", "five", "p"),
        binary("y", "Mul", "five", "p"),
        binary("z", "Sub", "x", "y"),
    )


@pytest.mark.parametrize("opt_level", [-1, 0])
def test_optimisation_changes_no_answer(opt_level):
    """Results with and without optimization are equal."""
    native = session(*chain(), config=level(opt_level))
    assert native.run({"p:0": F(7)}, ["x:0", "z:0", "five:0"], []) == [35.0, 0.0, 5.0]


def test_constants_are_computed_once():
    """2 + 3 is replaced by its value, and the report says so."""
    native = session(*chain(), config=level(0))
    names = nodes_of(native, ("p:0",), ("x:0",))
    assert "five" not in names
    assert "two" not in names
    unneeded, folding = native.optimization_reports(["x:0"], ["p:0"])
    assert (unneeded.name, folding.name) == ("pruning", "constant_folding")
    assert folding.actions == ("'five:0' (Add) became a constant",)


def test_equal_nodes_are_joined():
    """Two equal nodes x and y become one Mul."""
    native = session(*chain(), config=level(0))
    assert len(nodes_of(native, ("p:0",), ("z:0",)) & {"x", "y"}) == 1


def test_level_zero_leaves_every_node():
    """L0 without switches keeps every node."""
    native = session(*chain(), config=level(-1))
    assert {"two", "three", "five", "x", "y", "z"} <= nodes_of(native, ("p:0",), ("z:0",))


def test_one_switch_turns_one_pass_on():
    """do_constant_folding alone does not join equal nodes."""
    config = level(-1)
    config.graph_options.optimizer_options.do_constant_folding = True
    names = nodes_of(session(*chain(), config=config), ("p:0",), ("z:0",))
    assert "five" not in names
    assert {"x", "y"} <= names


def test_what_fails_is_not_folded():
    """1 // 0 fails in the step, at its node."""
    native = session(
        const("one", 1, dtypes.int32),
        const("zero", 0, dtypes.int32),
        binary("bad", "FloorDiv", "one", "zero", dtypes.int32),
    )
    with pytest.raises(errors.InvalidArgumentError, match="division by zero") as caught:
        native.run({}, ["bad:0"], [])
    assert caught.value.node_name == "bad"


def test_a_value_over_the_limit_is_not_kept():
    """max_folded_constant_in_bytes limits folded values."""
    config = level(0)
    config.graph_options.optimizer_options.max_folded_constant_in_bytes = 8
    native = session(
        const("a", [1.0, 2.0, 3.0]), binary("b", "Add", "a", "a"), placeholder("p"),
        binary("c", "Mul", "b", "p"), config=config,
    )  # fmt: skip
    assert "b" in nodes_of(native, ("p:0",), ("c:0",))
    assert native.run({"p:0": F(2)}, ["c:0"], [])[0].tolist() == [4, 8, 12]


def test_a_large_value_is_not_computed_before_the_step():
    """Not even where a small one follows from it: the step may have limits."""
    for size, is_folded in ((1000, True), (2**25, False)):
        native = session(
            const("dims", [size], dtypes.int32), const("zero", 0, dtypes.int32), const("one", 1.0),
            node("fill", "Fill", "dims", "one", T=dtypes.float32, index_type=dtypes.int32),
            node("sum", "Sum", "fill", "zero", T=dtypes.float32, Tidx=dtypes.int32,
                 keep_dims=False),
            placeholder("p"), binary("x", "Mul", "sum", "p"),
        )  # fmt: skip
        with traced_memory() as memory:
            names = nodes_of(native, ("p:0",), ("x:0",))
        assert ("fill" not in names) == is_folded
        assert memory.peak < 2**26


def test_a_node_with_a_control_input_stays():
    """The order of this node may be significant."""
    native = session(
        placeholder("p"), const("a", 1.0), node("b", "Identity", "a", "^p", T=dtypes.float32)
    )
    assert "b" in nodes_of(native, ("p:0",), ("b:0",))
