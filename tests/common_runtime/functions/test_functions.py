"""Function calls that run as part of the caller's step: waiting, ending, observing."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tests.time_outs import message_of_time_out
from tfnb.common_runtime.session.session_factory import SessionOptions, new_session
from tfnb.core.attr_value import NameAttrList
from tfnb.core.step_events import PartitionedGraph, StepObserver
from tfnb.framework.functions.function import Defun
from tfnb.ops.control import functional_ops
from tfnb.proto import graph_pb2

# After this time a call that waits for ever fails its test.
LIMIT_MS = 200_000


@pytest.fixture(autouse=True)
def graph():
    """A graph of the test's own."""
    with tf.Graph().as_default() as found:
        yield found


def plain(**fields: Any) -> tf.ConfigProto:
    """Keep every call: nothing is inlined."""
    config = tf.ConfigProto(**fields)
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return config


def float_queue() -> Any:
    """A queue of numbers."""
    return tf.FIFOQueue(10, tf.float32, shapes=[[]])


def taking(queue: Any, name: str = "Take") -> Any:
    """Return a function that dequeues an element."""

    @Defun(tf.float32, func_name=name)
    def take(x: Any) -> Any:
        return queue.dequeue() + x

    return take


def test_a_body_that_waits_lets_the_caller_go_on():
    """The body waits for another node of the same step."""
    queue = float_queue()
    result = taking(queue)(tf.constant(1.0))
    put = queue.enqueue(tf.constant(5.0))
    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        for _ in range(3):
            assert session.run([result, put])[0] == 6.0


def test_two_bodies_may_wait_for_each_other():
    """Each body waits for what the other gives."""
    first, second = float_queue(), float_queue()

    @Defun(tf.float32, func_name="Ping")
    def ping(x: Any) -> Any:
        with tf.control_dependencies([first.enqueue(x)]):
            return second.dequeue()

    @Defun(tf.float32, func_name="Pong")
    def pong(x: Any) -> Any:
        got = first.dequeue()
        with tf.control_dependencies([second.enqueue(got * 2.0)]):
            return got + x

    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        a, b = pong(tf.constant(10.0)), ping(tf.constant(3.0))
        assert session.run([a, b]) == [13.0, 6.0]
        assert session.run([b, a]) == [6.0, 13.0]


def test_calls_within_calls_wait_too():
    """Calls two levels deep wait; other calls of the step have ended."""
    queue = float_queue()
    take = taking(queue)

    @Defun(tf.float32, func_name="Outer")
    def outer(x: Any) -> Any:
        return take(x) * 2.0 + take(x)

    twice = Defun(tf.float32, func_name="Twice")(lambda x: x + x)
    result, done = outer(tf.constant(1.0)), twice(tf.constant(4.0))
    put = queue.enqueue_many([done + tf.constant([0.0, 0.0])])
    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        assert session.run([result, put])[0] == 27.0


def _node(name: str, op: str, *inputs: str, **attrs: str) -> str:
    text = f'node_def {{ name: "{name}" op: "{op}"'
    text += "".join(f' input: "{one}"' for one in inputs)
    for key, value in attrs.items():
        text += f' attr {{ key: "{key}" value {{ {value} }} }}'
    return f"{text} }}"


_INT, _FLOAT = "type: DT_INT32", "type: DT_FLOAT"
_ARGS = {"i": "DT_INT32", "t": "DT_FLOAT"}


def _number(name: str, value: int) -> str:
    tensor = f"tensor {{ dtype: DT_INT32 tensor_shape {{}} int_val: {value} }}"
    return _node(name, "Const", dtype=_INT, value=tensor)


def _below() -> str:
    return f"""function {{ signature {{ name: "Below"
        input_arg {{ name: "i" type: DT_INT32 }} input_arg {{ name: "t" type: DT_FLOAT }}
        output_arg {{ name: "p" type: DT_BOOL }} }}
        {_number("three", 3)} {_node("less", "Less", "i", "three:output:0", T=_INT)}
        ret {{ key: "p" value: "less:z:0" }} }}"""


def _adding_an_element(name: str, args: str, *, with_next: bool = False) -> str:
    """Return a function that adds an element of the queue "shared" to t, and may add 1 to i."""
    signature = "".join(f'input_arg {{ name: "{a}" type: {_ARGS[a]} }}' for a in args.split())
    body = _node(
        "queue", "FIFOQueueV2", component_types="list { type: DT_FLOAT }",
        shapes="list { shape {} }", capacity="i: 10", shared_name='s: "shared"',
    )  # fmt: skip
    types = "list { type: DT_FLOAT }"
    body += _node("take", "QueueDequeueV2", "queue:handle:0", component_types=types)
    body += _node("sum", "AddV2", "t", "take:components:0", T=_FLOAT)
    returned = 'ret { key: "total" value: "sum:z:0" }'
    if with_next:
        signature += 'output_arg { name: "next" type: DT_INT32 }'
        body += _number("one", 1) + _node("add", "AddV2", "i", "one:output:0", T=_INT)
        returned += 'ret { key: "next" value: "add:z:0" }'
    signature += 'output_arg { name: "total" type: DT_FLOAT }'
    return f'function {{ signature {{ name: "{name}" {signature} }} {body} {returned} }}'


@pytest.mark.parametrize("kind", ["while", "for", "if", "case"])
def test_loops_and_branches_that_are_not_taken_apart_wait_too(kind):
    """Each iteration waits for an element that another node of the step gives."""
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[]], shared_name="shared")

    library = "".join(
        [
            _below(),
            _adding_an_element("NextRound", "i t", with_next=True),
            _adding_an_element("AddOne", "i t"),
            _adding_an_element("OneMore", "t"),
        ]
    )
    text = f"library {{ {library} }} versions {{ producer: 27 min_consumer: 12 }}"
    tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
    zero = tf.constant(0.0)
    if kind == "while":
        _, result = functional_ops.while_(
            [tf.constant(0), zero],
            cond=NameAttrList("Below", {}),
            body=NameAttrList("NextRound", {}),
        )
    elif kind == "for":
        (result,) = functional_ops.for_(0, 3, 1, [zero], body=NameAttrList("AddOne", {}))
    elif kind == "if":
        one = NameAttrList("OneMore", {})
        (result,) = functional_ops.if_(
            True, [zero], Tout=[tf.float32], then_branch=one, else_branch=one
        )
    else:
        one = NameAttrList("OneMore", {})
        (result,) = functional_ops.case(1, [zero], Tout=[tf.float32], branches=[one, one])
    put = queue.enqueue_many([[1.0, 2.0, 3.0]])
    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        assert session.run([result, put])[0] == (6.0 if kind in ("while", "for") else 1.0)


def test_a_time_out_reaches_into_a_call_and_says_what_waits_there():
    """The message names the node, its function, and the callers."""
    result = taking(float_queue())(tf.constant(1.0), name="call")
    with tf.Session(config=plain()) as session:
        message = message_of_time_out(
            lambda limit: session.run(result, options=tf.RunOptions(timeout_in_ms=limit)), "waits"
        )
    assert "QueueDequeueV2) waits for elements of queue" in message
    assert "in function 'Take' called by 'call'" in message


def test_closing_the_session_ends_what_waits_inside_a_call():
    """The thread that runs the step gets the error of close."""
    result = taking(float_queue())(tf.constant(1.0))
    session = tf.Session(config=plain())
    inside = threading.Event()

    class Watcher(StepObserver):
        def call_started(self, *_: Any) -> None:
            inside.set()

    session.runtime.step_events.add(Watcher())
    failed: list[Exception] = []

    def run() -> None:
        try:
            session.run(result)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert inside.wait(60)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    assert isinstance(failed[0], tf.errors.CancelledError)


def test_ctrl_c_ends_what_waits_inside_a_call():
    """The session stays usable."""
    queue = float_queue()
    result = taking(queue)(tf.constant(1.0))

    class Interrupter(StepObserver):
        def call_started(self, *_: Any) -> None:
            signal.raise_signal(signal.SIGINT)

    watcher = Interrupter()
    with tf.Session(config=plain()) as session:
        session.runtime.step_events.add(watcher)
        with pytest.raises(KeyboardInterrupt):
            session.run(result)
        session.runtime.step_events.remove(watcher)
        session.run(queue.enqueue(tf.constant(2.0)))
        assert session.run(result) == 3.0


@pytest.mark.parametrize("waits", [False, True])
def test_an_error_says_in_which_function_and_who_called_it(waits):
    """The error names the body's node; each call adds a line."""
    queue = float_queue()

    @Defun(tf.int32, func_name="Divide")
    def divide(x: Any) -> Any:
        if waits:
            with tf.control_dependencies([queue.dequeue()]):
                return tf.floordiv(7, x, name="bad")
        return tf.floordiv(7, x, name="bad")

    @Defun(tf.int32, func_name="Around")
    def around(x: Any) -> Any:
        return divide(x, name="inner") + 1

    result = around(tf.constant(0), name="outer")
    fetches = [result, queue.enqueue(tf.constant(1.0))] if waits else result
    with (
        tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="division by zero") as caught,
    ):
        session.run(fetches)
    assert caught.value.node_name == "bad_0"
    notes = "\n".join(caught.value.__notes__)
    assert "in function 'Divide', called by node 'inner'" in notes
    assert "in function 'Around', called by node 'outer'" in notes


def test_an_error_in_an_inlined_body_names_the_call_and_where_it_was_made():
    """The name of the node begins with the call's name."""
    divide = Defun(tf.int32, func_name="Divide")(lambda x: tf.floordiv(7, x, name="bad"))
    result = divide(tf.placeholder(tf.int32, [], name="x"), name="call")
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="division by zero") as caught,
    ):
        session.run(result, {"x:0": 0})
    assert caught.value.node_name == "call/bad_0"
    assert "inside [[node call (Divide), defined at" in str(caught.value)


def test_an_error_elsewhere_ends_calls_that_wait():
    """Nothing is left behind, and the next step runs."""
    queue = float_queue()
    result = taking(queue)(tf.constant(1.0))
    bad = tf.floordiv(1, tf.placeholder_with_default(0, []))
    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
            session.run([result, bad])
        session.run(queue.enqueue(tf.constant(2.0)))
        assert session.run(result) == 3.0


def test_partial_runs_drive_calls_that_wait():
    """A feed of a later call reaches the body."""
    queue = float_queue()
    x = tf.placeholder(tf.float32, [])
    result = taking(queue)(x)
    y = tf.placeholder(tf.float32, [])
    twice = y * 2.0
    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        handle = session.partial_run_setup([result, twice], [x, y])
        assert session.partial_run(handle, twice, {y: 2.0, x: 1.0}) == 4.0
        session.run(queue.enqueue(tf.constant(2.0)))
        assert session.partial_run(handle, result) == 3.0


_FACTORIAL = """
    library {
      function {
        signature { name: "Fact" input_arg { name: "n" type: DT_INT32 }
                    output_arg { name: "y" type: DT_INT32 } }
        node_def { name: "one" op: "Const"
          attr { key: "dtype" value { type: DT_INT32 } }
          attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
        node_def { name: "more" op: "Greater" input: "n" input: "one:output:0"
          attr { key: "T" value { type: DT_INT32 } } }
        node_def { name: "if" op: "If" input: "more:z:0" input: "n"
          attr { key: "Tcond" value { type: DT_BOOL } }
          attr { key: "Tin" value { list { type: DT_INT32 } } }
          attr { key: "Tout" value { list { type: DT_INT32 } } }
          attr { key: "_lower_using_switch_merge" value { b: LOWER } }
          attr { key: "then_branch" value { func { name: "Down" } } }
          attr { key: "else_branch" value { func { name: "Same" } } } }
        ret { key: "y" value: "if:output:0" }
      }
      function {
        signature { name: "Down" input_arg { name: "n" type: DT_INT32 }
                    output_arg { name: "y" type: DT_INT32 } }
        node_def { name: "one" op: "Const"
          attr { key: "dtype" value { type: DT_INT32 } }
          attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
        node_def { name: "less" op: "Sub" input: "n" input: "one:output:0"
          attr { key: "T" value { type: DT_INT32 } } }
        node_def { name: "again" op: "Fact" input: "less:z:0" }
        node_def { name: "mul" op: "Mul" input: "n" input: "again:y:0"
          attr { key: "T" value { type: DT_INT32 } } }
        ret { key: "y" value: "mul:z:0" }
      }
      function {
        signature { name: "Same" input_arg { name: "n" type: DT_INT32 }
                    output_arg { name: "y" type: DT_INT32 } }
        ret { key: "y" value: "n" }
      }
    }
    node { name: "n" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
    node { name: "fact" op: "Fact" input: "n" }
    versions { producer: 27 min_consumer: 12 }
"""


@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("inline", [True, False])
def test_a_function_that_calls_itself_may_end(lower, inline):
    """The recursion ends, and is not inlined forever.

    Too deep a recursion is an error that says so.
    """
    text = _FACTORIAL.replace("LOWER", lower)
    tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
    with tf.Session(config=tf.ConfigProto() if inline else plain()) as session:
        assert session.run("fact:0", {"n:0": 10}) == 3628800
        assert session.run("fact:0", {"n:0": 1}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="was called 64 calls deep"):
            session.run("fact:0", {"n:0": 1000})
        assert session.run("fact:0", {"n:0": 3}) == 6


class InsideWatcher(StepObserver):
    """Records which nodes ran in which call."""

    def __init__(self) -> None:
        self.functions: dict[int, PartitionedGraph] = {}
        self.calls: dict[int, tuple[int, int]] = {}
        self.ended: list[int] = []
        self.nodes: list[tuple[str, str]] = []

    def function_instantiated(self, partitioned: PartitionedGraph) -> None:
        """Record."""
        self.functions[partitioned.signature_id] = partitioned

    def call_started(
        self, call_id: int, signature_id: int, step_id: int, partition: int, node_id: int, t_ns: int
    ) -> None:
        """Record."""
        self.calls[call_id] = (signature_id, node_id)

    def call_done(self, call_id: int, t_ns: int) -> None:
        """Record."""
        self.ended.append(call_id)

    def node_done(
        self,
        step_id: int,
        partition: int,
        node_id: int,
        frame: int,
        iteration: int,
        t: int,
        d: bool,
    ) -> None:
        """Record."""
        if step_id in self.calls:
            view = self.functions[self.calls[step_id][0]]
            self.nodes.append((view.function, view.partitions[partition].node_names[node_id]))


class OutsideWatcher(StepObserver):
    """Counts nodes, without those inside calls."""

    def __init__(self) -> None:
        self.num_nodes = 0

    def node_done(self, *_: Any) -> None:
        """Count."""
        self.num_nodes += 1


@pytest.mark.parametrize("waits", [False, True])
def test_observers_of_calls_see_events_inside_calls(waits):
    """Observers without call_started see only nodes of the step itself."""
    queue = float_queue()

    @Defun(tf.float32, func_name="Sine")
    def sine(x: Any) -> Any:
        return tf.sin(x, name="s") + (queue.dequeue(name="take") if waits else 0.0)

    result = sine(tf.constant(0.0, name="c"), name="call")
    inside, outside = InsideWatcher(), OutsideWatcher()
    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        session.runtime.step_events.add(outside)
        if waits:
            session.run(queue.enqueue(tf.constant(0.0)))
        before = outside.num_nodes
        session.runtime.step_events.add(inside)
        assert session.run(result) == 0.0
        alone = outside.num_nodes - before
    assert alone == (4 if waits else 3)  # c, the queue's handle, the call, its result
    assert ("Sine", "s") in inside.nodes
    assert (("Sine", "take") in inside.nodes) is waits
    assert inside.ended == list(inside.calls)
    late = InsideWatcher()
    session.runtime.step_events.add(late)
    assert [view.function for view in late.functions.values()] == ["Sine"]


def test_an_immediate_call_runs_in_the_schedule_of_its_caller():
    """A call in which nothing can wait uses no executor."""
    twice = Defun(tf.float32, func_name="Twice")(lambda x: x + x)
    result = twice(tf.constant(4.0)) + 1.0
    with tf.Session(config=plain()) as session:
        assert [session.run(result) for _ in range(3)] == [9.0] * 3
        native = session.runtime
        prepared = native.prepare((), (result.name,), ())
        assert prepared.executors.states[0].schedule is not None
        assert prepared.executors.states[0].warm_up.lowered is not None


def test_many_calls_may_wait_at_once():
    """A hundred calls of one queue get one element each."""
    queue = tf.FIFOQueue(200, tf.float32, shapes=[[]])
    take = taking(queue)
    results = [take(tf.constant(0.0)) for _ in range(100)]
    put = queue.enqueue_many([tf.range(100.0)])
    with tf.Session(config=plain(operation_timeout_in_ms=LIMIT_MS)) as session:
        found = session.run([*results, put])[:-1]
    assert sorted(found) == np.arange(100.0).tolist()


def _negating(name: str, op: str = "Neg") -> str:
    return f"""function {{ signature {{ name: "{name}" input_arg {{ name: "x" type: DT_FLOAT }}
        output_arg {{ name: "y" type: DT_FLOAT }} }} {_node("n", op, "x", T=_FLOAT)}
        ret {{ key: "y" value: "n:y:0" }} }}"""


def _extension(nodes: str, library: str) -> Any:
    text = f"{nodes} library {{ {library} }} versions {{ producer: 27 min_consumer: 12 }}"
    return text_format.Parse(text, graph_pb2.GraphDef())


_TWO = """node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 2 } } } }"""


def _call(name: str, function: str, x: str) -> str:
    return f'node {{ name: "{name}" op: "{function}" input: "{x}" }}'


@pytest.mark.parametrize("inline", [True, False])
def test_functions_may_come_with_later_nodes(inline):
    """Prepared signatures still run; new nodes may call old and new functions."""
    native = new_session(SessionOptions("", tf.ConfigProto() if inline else plain()))
    native.create(_extension(_TWO + _call("first", "F", "two"), _negating("F")))
    assert native.run({}, ["first:0"], []) == [-2.0]
    later = _call("second", "G", "first") + _call("third", "F", "second")
    native.extend(_extension(later, _negating("G", "Square")))
    assert native.run({}, ["second:0", "third:0", "first:0"], []) == [4.0, -4.0, -2.0]
    native.extend(_extension(_call("fourth", "F", "third"), _negating("F")))  # the same again
    assert native.run({"third:0": np.float32(1.0)}, ["fourth:0"], []) == [-1.0]
    native.close()


@pytest.mark.parametrize(
    ("library", "message"),
    [
        (_negating("F", "Exp"), "Cannot add function 'F' because a different function"),
        (_negating("Neg"), "Cannot add function 'Neg' because an op with the same name"),
        (
            'gradient { function_name: "F" gradient_func: "H" }',
            "Cannot assign gradient function 'H' to 'F' because it already has gradient function",
        ),
    ],
)
def test_a_library_that_contradicts_the_session_s_is_refused(library, message):
    """Neither functions nor nodes of the extension are kept."""
    native = new_session(SessionOptions("", plain()))
    gradient = 'gradient { function_name: "F" gradient_func: "G" }'
    native.create(_extension(_TWO + _call("first", "F", "two"), _negating("F") + gradient))
    more = _call("second", "Other", "two")
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        native.extend(_extension(more, _negating("Other") + library))
    assert not native.has_node("second")
    with pytest.raises(tf.errors.NotFoundError, match="Other"):
        native.extend(_extension(more, ""))
    assert native.run({}, ["first:0"], []) == [-2.0]
    native.close()


def test_a_gradient_of_a_function_that_is_not_there_is_refused():
    """The importer names the missing function, and the graph is unchanged."""
    gradient = 'gradient { function_name: "F" gradient_func: "G" }'
    with pytest.raises(ValueError, match="FunctionDefLibrary missing 'G' FunctionDef"):
        tf.import_graph_def(_extension(_TWO, _negating("F") + gradient), name="")
    assert tf.get_default_graph().get_operations() == []


@pytest.mark.parametrize("op", ["If", "PartitionedCall"])
def test_what_a_node_that_was_taken_apart_gave_can_be_fed(op):
    """Consumers get the fed value; fetching the node and waiting for it work as before."""
    Defun(tf.float32, func_name="Twice")(lambda x: x + x).add_to_graph(tf.get_default_graph())
    twice, x = NameAttrList("Twice", {}), tf.placeholder(tf.float32, [], name="x")
    if op == "If":
        (y,) = functional_ops.if_(
            x > 0.0, [x], Tout=[tf.float32], then_branch=twice, else_branch=twice
        )
        y.op._set_attr("_lower_using_switch_merge", True)
    else:
        (y,) = functional_ops.partitioned_call([x], Tout=[tf.float32], f=twice)
    z = y + 1.0
    with tf.control_dependencies([y.op]):
        after = tf.constant(7.0)
    with tf.Session() as session:
        assert session.run([y, z, after], {x: 2.0}) == [4.0, 5.0, 7.0]
        assert session.run(z, {y: 10.0}) == 11.0
        assert session.run(y.op, {x: 2.0}) is None
        done = session.runtime.optimization_reports([y.name], [x.name])
        assert "lower_functional_ops (pre placement" in str(done)
