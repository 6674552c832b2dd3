"""Figures of the profiler: parameters, float operations, time, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.profiler import models
from tfnb import errors

if TYPE_CHECKING:
    from pathlib import Path

BUILDER = tf.profiler.ProfileOptionBuilder


def quiet(options: dict[str, Any]) -> dict[str, Any]:
    """The same options, printing nothing."""
    return BUILDER(options).with_empty_output().build()


def traced(fetch: Any, feeds: dict[str, Any]) -> Any:
    """Return the metadata of a run."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        session.run(fetch, feeds, options=options, run_metadata=metadata)
    return metadata


def test_float_operations_of_a_small_network() -> None:
    """Convolution, bias, pooling and product are each counted by their formula."""
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [2, 8, 8, 3])
        hidden = tf.nn.conv2d(images, tf.ones([3, 3, 3, 4]), [1, 1, 1, 1], "SAME")
        hidden = tf.nn.bias_add(hidden, tf.ones([4]))
        hidden = tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        tf.matmul(tf.reshape(hidden, [2, 64]), tf.ones([64, 10]))
        flops = tf.profiler.profile(graph, options=quiet(BUILDER.float_operation()))

    convolution, bias, pooling, product = 2 * 512 * 27, 512, 128 * 4, 2 * 20 * 64
    assert flops.total_float_ops == convolution + bias + pooling + product
    assert {child.name: child.total_float_ops for child in flops.children} == {
        "Conv2D": convolution,
        "BiasAdd": bias,
        "MaxPool": pooling,
        "MatMul": product,
    }


def test_a_run_tells_how_often_a_loop_went_round() -> None:
    """Without the metadata of a run, the body of a loop counts once."""
    with tf.Graph().as_default():
        fetch = models.loop(tf)
        options = quiet(BUILDER.float_operation())
        metadata = traced(fetch, {"matrix:0": np.ones((6, 6))})
        body = {"show_name_regexes": [".*product"], **options, "account_type_regexes": ["MatMul"]}
        once = tf.profiler.profile(cmd="op", options=body)
        often = tf.profiler.profile(run_meta=metadata, cmd="op", options=body)

    assert (once.total_float_ops, often.total_float_ops) == (432, 5 * 432)


def test_a_run_tells_the_shapes_that_the_graph_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    """With a batch of unknown size, figures need the metadata of a run."""
    with tf.Graph().as_default():
        fetch = models.open_batch(tf)
        metadata = traced(fetch, {"images:0": np.ones((3, 5))})
        options = quiet(BUILDER.float_operation())
        before = tf.profiler.profile(options=options)
        told = capsys.readouterr().err
        after = tf.profiler.profile(run_meta=metadata, options=options)

    assert before.total_float_ops == 0
    assert told == "4 ops no flops stats due to incomplete shapes.\n"
    assert after.total_float_ops == 15 + 6 + 6 + 3  # product, sums, total, result


def test_trainable_parameters_are_counted_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The default counts trainable parameters; a step counter is not among them."""
    with tf.Graph().as_default() as graph:
        models.convolutional(tf)
        counted = tf.profiler.profile(graph)
        sizes = [variable.shape.num_elements() for variable in tf.trainable_variables()]

    assert counted.total_parameters == sum(sizes) == 216 + 8 + 720
    assert "  conv (--/224 params)\n    conv/bias (8, 8/8 params)\n" in capsys.readouterr().out


def test_time_and_memory_are_those_of_the_run() -> None:
    """Figures are the time and memory of nodes, and the sums below a scope."""
    with tf.Graph().as_default():
        metadata = traced(models.open_batch(tf), {"images:0": np.ones((3, 5))})
        view = tf.profiler.profile(
            run_meta=metadata, options=quiet(BUILDER.time_and_memory(min_bytes=0))
        )

    (device,) = metadata.step_stats.dev_stats
    nodes = [node for node in device.node_stats if node.node_name != "_SOURCE"]
    took = sum(max(node.op_end_rel_micros, 1) for node in nodes)
    assert view.total_exec_micros == view.total_cpu_exec_micros == took
    (scaled,) = (child for child in view.children if child.name == "scaled")
    below = [node for node in nodes if node.node_name.startswith("scaled/")]
    assert scaled.total_run_count == len(below) > 1
    assert scaled.total_output_bytes == sum(
        output.tensor_description.allocation_description.requested_bytes
        for node in below
        for output in node.output
    )


def test_code_is_summed_up_by_the_lines_that_made_it() -> None:
    """The code view sums up by lines of the user's code."""
    with tf.Graph().as_default():
        models.loop(tf)
        options = BUILDER(quiet(BUILDER.float_operation())).with_min_float_operations(432)
        view = tf.profiler.profile(cmd="code", options=options.build())
        lines = []
        while view.children:
            (view,) = view.children
            lines.append(view.name.split(":"))

    assert [lines[-1][0], lines[-1][2]] == ["models.py", "body"]
    assert view.total_float_ops == 1 + 432
    assert [node.name for node in view.graph_nodes if node.float_ops > 1] == ["while/product"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["scope", "graph", "op", "code"])
def test_graphs_may_be_deep(command: str) -> None:
    """A chain deeper than Python's recursion limit is profiled."""
    with tf.Graph().as_default():
        x = tf.ones([2])
        for _ in range(1500):
            x = tf.negative(x)
        view = tf.profiler.profile(cmd=command, options=quiet(BUILDER.float_operation()))

    assert view.total_float_ops == 3000


def test_the_text_goes_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file has the text that would be printed, between the options and the end."""
    path = str(tmp_path / "view")
    with tf.Graph().as_default():
        models.loop(tf)
        options = BUILDER.float_operation()
        tf.profiler.profile(options=options)
        printed = capsys.readouterr().out
        tf.profiler.profile(options=BUILDER(options).with_file_output(path).build())

    written = (tmp_path / "view").read_text()
    assert "node name | # float_ops\n_TFProfRoot (--/" in written
    assert f"{'=' * 22}\n{written}\n{'=' * 22}End" in printed
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", ["timeline", "pprof"])
def test_outputs_that_are_not_there_are_refused(kind: str, tmp_path: Path) -> None:
    """The error names the supported outputs."""
    options = {**BUILDER().build(), "output": f"{kind}:outfile={tmp_path / 'x'}"}
    with tf.Graph().as_default(), pytest.raises(errors.UnimplementedError, match=kind):
        tf.profiler.profile(options=options)


def test_a_step_of_a_profiler_that_has_no_run_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the step for which no run was traced."""
    with tf.Graph().as_default():
        models.loop(tf)
        tf.profiler.Profiler().add_step(4, tf.RunMetadata())

    assert capsys.readouterr().err == "Invalid RunMetadata for step 4\n"


@pytest.mark.parametrize("command", ["scope", "graph", "op", "code"])
def test_a_view_explains_itself_and_its_columns(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Above the profile a line explains the view and each column."""
    with tf.Graph().as_default():
        models.loop(tf)
        columns = ["bytes", "device", "float_ops", "micros", "occurrence", "params"]
        options = {**BUILDER().select(columns).build(), "account_type_regexes": [".*"]}
        tf.profiler.profile(cmd=command, options=options)
    about = capsys.readouterr().out.partition("Doc:\n")[2].partition("\n\nProfile:\n")[0]
    assert [line.partition(": ")[0] for line in about.split("\n")] == [command, *columns]
