"""Store the RunMetadata of TensorFlow's steps: tests/golden/step_stats.json.

    python scripts/oracle/graphs/step_stats.py        needs TensorFlow

A case is a GraphDef, how it is run, and its RunMetadata in the form of
tests/common_runtime/metadata_text.py. Every used value is fetched as well, because TensorFlow's
kernels otherwise write into the buffers of their inputs, which NumPy's do not.
TensorFlow must have oneDNN, and the first session must build a cost model: only then does the
allocator of the CPU keep sizes and ids.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np
import tensorflow.compat.v1 as tf

from tests.common_runtime.metadata_text import (
    cost_graph_text,
    fields_text,
    sharing_text,
    stats_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

tf.disable_v2_behavior()

OUT = Path(__file__).resolve().parents[3] / "tests/golden/step_stats.json"
LEVELS = ("NO_TRACE", "SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE")


def plain() -> Any:
    """Build constants, a feed, arithmetic, and ops that pass their input on."""
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.matmul(x, tf.constant(np.ones((3, 4), np.float32), name="w"), name="y")
    row = tf.reshape(y, [8], name="row")
    same = tf.identity(row, name="same")
    values, positions = tf.nn.top_k(y, 2, name="largest")
    with tf.control_dependencies([row]):
        total = tf.reduce_sum(y, name="total")
    first = tf.add(positions, 1, name="first")
    return [y, row, same, values, positions, total, first], {"x:0": [[1.0, 2.0, 3.0]] * 2}


def variables() -> Any:
    """Build a reference variable, a resource variable, and ops that change them."""
    old = tf.Variable(np.ones((3, 4), np.float32), name="old", use_resource=False)
    new = tf.Variable(np.ones((3, 4), np.float32), name="new", use_resource=True)
    read = tf.add(old, 1.0, name="sum_of_old")
    value = tf.multiply(new.read_value(), 2.0, name="product_of_new")
    with tf.control_dependencies([read]):
        more = tf.assign_add(old, np.ones((3, 4), np.float32), name="more")
    return [read, value, more], {}


def two_devices() -> Any:
    """Build values and control edges between two devices."""
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    with tf.device("/cpu:1"):
        y = tf.matmul(x, x, name="y")
    with tf.control_dependencies([y]):
        z = tf.matmul(x, y, name="z")
    return [y, z], {"x:0": [[1.0, 2.0], [3.0, 4.0]]}


def loop() -> Any:
    """Build a loop of four iterations."""
    out = tf.while_loop(lambda i: i < 4, lambda i: i + 1, [tf.constant(0, name="zero")], name="w")
    return [out], {}


def branches() -> Any:
    """Build a cond, whose untaken side leaves no record."""
    go = tf.placeholder(tf.bool, [], name="go")
    x = tf.constant([1.0, 2.0], name="x")
    out = tf.cond(go, lambda: tf.exp(x, name="e"), lambda: tf.negative(x, name="n"), name="c")
    return [out], {"go:0": True}


def large() -> Any:
    """Build an output of a megabyte, whose size is in its label."""
    x = tf.placeholder(tf.float32, [512, 512], name="x")
    return [tf.matmul(x, x, name="y"), tf.exp(x, name="e")], {"x:0": np.zeros((512, 512)).tolist()}


def answer(build: Callable[[], Any], level: str, every: int) -> dict[str, Any]:
    """Run a graph twice and return the record of the second run."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.build_cost_model = every
    with tf.Graph().as_default() as graph, tf.Session(config=config) as session:
        fetches, feeds = build()
        init = [variable.initializer for variable in tf.global_variables()]
        session.run(init)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=getattr(tf.RunOptions, level))
        fetches = sorted(fetches, key=lambda fetch: fetch.name)
        for _ in range(2):
            session.run(fetches, feeds, options=options, run_metadata=metadata)
        data = zlib.compress(graph.as_graph_def().SerializeToString(), 9)
        return {
            "name": f"{build.__name__} {level} {every}",
            "graph": base64.b85encode(data).decode(),
            "fetches": [fetch.name for fetch in fetches],
            "feeds": {} if build is large else feeds,
            "init": [op.name for op in init],
            "level": level,
            "build_cost_model": every,
            "fields": fields_text(metadata),
            # The loop's own values are not fetched, so its kernels write into their inputs.
            "with_memory": (known := build is not loop),
            "stats": stats_text(metadata.step_stats, with_memory=known),
            "sharing": sharing_text(metadata.step_stats) if known else [],
            "cost_graph": cost_graph_text(metadata.cost_graph, with_memory=known),
        }


def main() -> None:
    """Run and store all cases."""
    cases = [answer(plain, level, every) for level in LEVELS for every in (1, 0)]
    cases += [
        answer(build, "FULL_TRACE", 1) for build in (variables, two_devices, loop, branches, large)
    ]
    OUT.write_text(json.dumps(cases, indent=1) + "\n")
    print(f"{len(cases)} cases, {OUT.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
