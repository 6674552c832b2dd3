"""Store how TensorFlow places and partitions graphs: tests/golden/partitions.json.

    python scripts/oracle/graphs/partitions.py        needs TensorFlow

A case is a GraphDef with device requests, colocation, variables, conds and loops over three CPU
devices, its fetches and targets, and TensorFlow's partitions of it (or its error) in the form of
tests/graph/partition_text.py. A few are written by hand, most are random, by seed.

Constants have a hundred elements, because TensorFlow 2 copies small ones to each device that uses
them. Free Identity nodes are not among the random ops, because TensorFlow 2 moves those to their
consumers. TensorFlow 1 does neither.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import tensorflow.compat.v1 as tf
from tensorflow.core.framework import graph_pb2

from tests.graph.partition_text import partition_text

if TYPE_CHECKING:
    from collections.abc import Callable

tf.disable_v2_behavior()

NUM_FLAT, NUM_LOOPS = 60, 16
DEVICES = [None, "/cpu:0", "/cpu:1", "/cpu:2"]
OUT = Path(__file__).resolve().parents[3] / "tests/golden/partitions.json"


def config(soft: bool) -> Any:
    """Return a configuration with three CPU devices and no optimization."""
    found = tf.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=soft)
    found.operation_timeout_in_ms = 10_000
    found.graph_options.rewrite_options.disable_meta_optimizer = True
    found.graph_options.optimizer_options.opt_level = -1
    return found


def answer(name: str, fetches: list[str], targets: list[str], soft: bool, **feeds: Any) -> Any:
    """Run the default graph once and return the record."""
    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
    graph_def = tf.get_default_graph().as_graph_def()
    case: dict[str, Any] = {
        "name": name,
        "graph": base64.b85encode(zlib.compress(graph_def.SerializeToString(), 9)).decode(),
        "feeds": [f"{key}:0" for key in feeds],
        # A direct session sorts the requests before it prepares them.
        "fetches": sorted(fetches),
        "targets": sorted(targets),
        "soft": soft,
    }
    with tf.Session(config=config(soft)) as session:
        try:
            session.run([variable.initializer for variable in tf.global_variables()])
            session.run(
                [*fetches, *targets],
                {f"{key}:0": value for key, value in feeds.items()},
                options=options,
                run_metadata=metadata,
            )
        except tf.errors.DeadlineExceededError:
            return None  # TensorFlow itself stands still in a few nests of loops
        except tf.errors.InvalidArgumentError as error:
            text = error.message.partition("Cannot colocate nodes")
            case["error"] = (text[1] + text[2]).partition("\n")[0]
    case["partitions"] = partition_text(metadata.partition_graphs)
    return case


def big(value: float) -> Any:
    """Return a constant that stays one node."""
    return tf.constant([value] * 100)


# -- by hand ---------------------------------------------------------------------------------------


def shared_tensor() -> list[Any]:
    """Build a tensor with two consumers on another device."""
    with tf.device("/cpu:0"):
        a = tf.random.uniform([2], name="a")
    with tf.device("/cpu:1"):
        return [tf.add(a, a, name="b"), tf.negative(a, name="c")]


def control_edges() -> list[Any]:
    """Build two control edges and a data edge between two devices."""
    with tf.device("/cpu:0"):
        a, n = tf.random.uniform([2], name="a"), tf.no_op("n")
    with tf.device("/cpu:1"), tf.control_dependencies([a.op, n]):
        return [tf.negative(big(1.0), name="b"), tf.negative(a, name="d")]


def reference_across() -> list[Any]:
    """Build a reference variable that is read twice on another device."""
    with tf.device("/cpu:1"):
        v = tf.Variable([1.0] * 100, use_resource=False, name="v")
    with tf.device("/cpu:0"):
        return [tf.add(v, v, name="b"), tf.negative(v, name="c"), tf.assign_add(v, v, name="d")]


def cond_across() -> list[Any]:
    """Build a cond with its sides on two devices."""
    with tf.device("/cpu:0"):
        a, p = big(1.0), tf.reduce_sum(big(1.0)) > 0.0
    with tf.device("/cpu:1"):
        b = big(2.0)

    def there() -> Any:
        with tf.device("/cpu:1"):
            return a + b

    def here() -> Any:
        with tf.device("/cpu:0"):
            return a * b

    with tf.device("/cpu:0"):
        return [tf.cond(p, there, here)]


def on(device: int) -> Any:
    """Return a device scope."""
    return tf.device(f"/cpu:{device}")


def nested_loops_on_three_devices() -> list[Any]:
    """Build nested loops whose bodies are on other devices than the loops around them."""

    def inner(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            with on(2):
                z = y * x
            with on(0):
                return i + 1.0, z + x

        with on(1):
            start = tf.reduce_sum(x) * 0.0
            return tf.while_loop(lambda i, y: i < 2.0, body, [start, x])[1]

    def outer(i: Any, x: Any) -> Any:
        with on(1):
            y = -x
        with on(2):
            return i + 1.0, inner(y) + x

    with on(0):
        start = tf.reduce_sum(big(0.0))
        return [tf.while_loop(lambda i, x: i < 2.0, outer, [start, big(1.0)])[1]]


def three_loops_deep() -> list[Any]:
    """Build three nested loops, only the innermost on another device."""

    def loop(x: Any, depth: int) -> Any:
        def body(i: Any, y: Any) -> Any:
            if depth:
                return i + 1.0, loop(y, depth - 1)
            with on(1):
                return i + 1.0, y + y

        start = tf.reduce_sum(x) * 0.0
        return tf.while_loop(lambda i, y: i < 2.0, body, [start, x])[1]

    with on(0):
        return [loop(big(1.0), 2)]


def two_loops_in_a_row() -> list[Any]:
    """Build two frames side by side that both send to two other devices."""
    with on(0):
        x, start = big(1.0), tf.reduce_sum(big(0.0))

    def body(i: Any, y: Any) -> Any:
        with on(1):
            a = y + y
        with on(2):
            return i + 1.0, -a + y

    def step(x: Any) -> Any:
        with on(0):
            return tf.while_loop(lambda i, y: i < 2.0, body, [start, x])[1]

    first = step(x)
    with on(2):
        between = -first
    return [step(between), first]


def two_loops_in_a_loop() -> list[Any]:
    """Build two frames inside one, on two devices, that share captured tensors."""
    with on(2):
        c = big(3.0)
    with on(0):
        x, start = big(1.0), tf.reduce_sum(big(0.0))

    def inner(x: Any, device: int) -> Any:
        def body(i: Any, y: Any) -> Any:
            with on(device):
                return i + 1.0, y * c

        with on(0):
            return tf.while_loop(lambda i, y: i < 2.0, body, [start, x])[1]

    def outer(i: Any, y: Any) -> Any:
        a, b = inner(y, 1), inner(y, 2)
        with on(1):
            return i + 1.0, a + b

    with on(0):
        return [tf.while_loop(lambda i, y: i < 2.0, outer, [start, x])[1]]


def loop_carried_to_three_devices() -> list[Any]:
    """Build a loop in which two other devices use a tensor twice each."""
    with on(0):
        x, start = big(1.0), tf.reduce_sum(big(0.0))

    def body(i: Any, y: Any, z: Any) -> Any:
        with on(0):
            s = y + z
        with on(1):
            a = s * s + (-s)
        with on(2), tf.control_dependencies([a]):
            b = s * s - s
        with on(0):
            return i + 1.0, a + b, b

    with on(0):
        return list(tf.while_loop(lambda i, y, z: i < 3.0, body, [start, x, x])[1:])


def cond_in_a_loop() -> list[Any]:
    """Build a cond with its sides on two devices, inside a loop on a third."""
    with on(0):
        x, start = big(1.0), tf.reduce_sum(big(0.0))

    def there(y: Any) -> Any:
        with on(1):
            return y + y

    def here(y: Any) -> Any:
        with on(2):
            return y * y

    def body(i: Any, y: Any) -> Any:
        with on(1):
            return i + 1.0, tf.cond(i > 0.0, lambda: there(y), lambda: here(y))

    with on(0):
        return [tf.while_loop(lambda i, y: i < 3.0, body, [start, x])[1]]


BY_HAND: list[Callable[[], list[Any]]] = [
    shared_tensor,
    control_edges,
    reference_across,
    cond_across,
    nested_loops_on_three_devices,
    three_loops_deep,
    two_loops_in_a_row,
    two_loops_in_a_loop,
    loop_carried_to_three_devices,
    cond_in_a_loop,
]


# -- flat and random -------------------------------------------------------------------------------

FLAT_DEVICES = [f"/device:CPU:{i}" for i in (0, 1, 2, "*")] + ["/job:localhost"]


class FlatGraph:
    """A random GraphDef of arithmetic, reference variables and handles."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.graph_def = graph_pb2.GraphDef()
        self.graph_def.versions.producer = 1000
        self.names: list[str] = []
        self.values: list[str] = []
        self.refs: list[str] = []
        self.handles: list[str] = []
        for _ in range(rng.randint(5, 22)):
            self.add_any()

    def add(self, op: str, inputs: tuple[str, ...] = (), **types: int) -> Any:
        """Add a node with a random device, colocation and control input."""
        rng = self.rng
        device = rng.choice(FLAT_DEVICES) if rng.random() < 0.4 else ""
        node = self.graph_def.node.add(name=f"n{len(self.names)}", op=op, device=device)
        node.input.extend(inputs)
        for name, number in types.items():
            node.attr[name].type = number
        if self.names and rng.random() < 0.18:
            node.attr["_class"].list.s.append(b"loc:@" + rng.choice(self.names).encode())
        if self.names and rng.random() < 0.15:
            node.input.append("^" + rng.choice(self.names))
        self.names.append(node.name)
        return node

    def add_any(self) -> None:
        """Add a node of a random op that can be added now."""
        choice, values, refs, handles = self.rng.random(), self.values, self.refs, self.handles
        pick = self.rng.choice
        if choice < 0.2 or not values:
            node = self.add("Const", dtype=1)
            tensor = node.attr["value"].tensor
            tensor.dtype = 1
            tensor.tensor_shape.dim.add(size=100)
            tensor.float_val.append(1.5)
            values.append(node.name)
        elif choice < 0.5:
            values.append(self.add("AddV2", (pick(values), pick(values)), T=1).name)
        elif choice < 0.64:
            values.append(self.add("Neg", (pick(values),), T=1).name)
        elif choice < 0.72:
            node = self.add("VariableV2", dtype=1)
            node.attr["shape"].shape.dim.add(size=100)
            refs.append(node.name)
        elif choice < 0.8 and refs:
            node = self.add("Assign", (pick(refs), pick(values)), T=1)
            refs.append(node.name)
            values.append(node.name)
        elif choice < 0.84 and refs:
            self.add("IsVariableInitialized", (pick(refs),), dtype=1)
        elif choice < 0.9:
            node = self.add("VarHandleOp", dtype=1)
            node.attr["shape"].shape.dim.add(size=100)
            node.attr["shared_name"].s = node.name.encode()
            handles.append(node.name)
        elif choice < 0.95 and handles:
            self.add("AssignVariableOp", (pick(handles), pick(values)), dtype=1)
        elif handles:
            self.add("VarIsInitializedOp", (pick(handles),))
        else:
            values.append(self.add("Neg", (pick(values),), T=1).name)


def flat_case(seed: int) -> Any:
    """Return a random flat graph and TensorFlow's answer."""
    rng = random.Random(seed)
    graph = FlatGraph(rng)
    soft = rng.random() < 0.5
    targets = [name for name in graph.names if rng.random() < 0.5] or graph.names[-1:]
    tf.import_graph_def(graph.graph_def, name="")
    return answer(f"flat {seed}", [], targets, soft)


# -- loops and conds, random -----------------------------------------------------------------------


class LoopGraph:
    """Random while loops and conds, nested two deep, over the devices."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        with self.device():
            values = [big(1.0), big(2.0)]
        values = self.block(self.block(values, 0), 0)
        self.values = [*values, self.loop(values, 1)]

    def device(self) -> Any:
        """Return a random device scope."""
        return tf.device(self.rng.choice(DEVICES))

    def op(self, values: list[Any]) -> Any:
        """Add a random op."""
        pick = self.rng.choice
        with self.device():
            kind = self.rng.randrange(2)
            return pick(values) + pick(values) if kind else -pick(values)

    def block(self, values: list[Any], depth: int) -> list[Any]:
        """Add a few ops, loops or conds in sequence."""
        for _ in range(self.rng.randint(1, 3)):
            choice = self.rng.random()
            if choice < 0.25 and depth < 2:
                values = [*values, self.loop(values, depth + 1)]
            elif choice < 0.45 and depth < 2:
                values = [*values, self.cond(values, depth + 1)]
            else:
                values = [*values, self.op(values)]
        return values

    def loop(self, values: list[Any], depth: int) -> Any:
        """Add a loop of two iterations."""
        rng = self.rng
        with self.device():
            start = tf.reduce_sum(big(0.0))

        def body(i: Any, x: Any) -> Any:
            inside = self.block([x, *values[:2]], depth)
            waits_for = [rng.choice(inside)] if rng.random() < 0.3 else []
            with self.device(), tf.control_dependencies(waits_for):
                return i + 1.0, inside[-1] + inside[0]

        with self.device():
            result = tf.while_loop(lambda i, x: i < 2.0, body, [start, rng.choice(values)])
        return result[1]

    def cond(self, values: list[Any], depth: int) -> Any:
        """Add a cond with a block on each side."""
        with self.device():
            pred = tf.reduce_sum(self.rng.choice(values)) > 0.0
        with self.device():
            return tf.cond(
                pred,
                lambda: self.block(values[:2], depth)[-1],
                lambda: self.block(values[:2], depth)[-1],
            )


def loops_case(seed: int) -> Any:
    """Return a random graph of loops and TensorFlow's answer."""
    values = LoopGraph(random.Random(seed)).values
    return answer(f"loops {seed}", [value.name for value in values[-3:]], [], True)


def main() -> None:
    """Run every case with TensorFlow and write the file."""
    cases = []
    for build in BY_HAND:
        tf.reset_default_graph()
        fetches = [tensor.name for tensor in build()]
        cases.append(answer(build.__name__, fetches, [], True))
    for make, count in ((flat_case, NUM_FLAT), (loops_case, NUM_LOOPS)):
        for seed in range(count):
            tf.reset_default_graph()
            cases.append(make(seed))
    cases = [case for case in cases if case is not None]
    OUT.write_text(json.dumps(cases, indent=0) + "\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
