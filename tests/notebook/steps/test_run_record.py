"""A recorded step: its contents, the data for views, and its representation without a kernel."""

from __future__ import annotations

import itertools
import json
import time
import zlib
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tfnb as tf
from tests.notebook.steps.recorded_loop import HOSTILE, recorded_loop
from tfnb.common_runtime.lowering.run import step_way
from tfnb.common_runtime.session import step_runner
from tfnb.notebook.pictures.record_summary import record_svg, record_text
from tfnb.notebook.steps import step_tape
from tfnb.notebook.steps.chrome_trace import chrome_trace
from tfnb.notebook.steps.run_record import RunTape
from tfnb.notebook.steps.step_tape import DEAD, DONE, ITERATION_STARTED, RECEIVED, SENT, STARTED
from tfnb.notebook.views.record import Recording
from tfnb.notebook.views.record_html import record_html

if TYPE_CHECKING:
    from pathlib import Path


def test_every_execution_has_its_node_frame_iteration_and_times() -> None:
    """Events are in order of time, and each start precedes its end."""
    record = recorded_loop(iterations=4)

    starts = int(np.count_nonzero(record.kind == STARTED))
    ends = int(np.count_nonzero((record.kind == DONE) | (record.kind == DEAD)))
    assert starts == ends > 50
    assert (np.diff(record.time_ns) >= 0).all()
    assert record.time_ns[0] >= 0
    assert record.time_ns[-1] <= record.duration_ns
    assert all(
        begin <= end for *_, begin, end in [*record.executions(), *record.executions(waits=True)]
    )


@pytest.mark.parametrize("is_loop", [False, True])
def test_what_prepares_a_step_is_no_part_of_it(
    monkeypatch: pytest.MonkeyPatch, is_loop: bool
) -> None:
    """The first record of a signature begins with its first node, after its function is written."""
    prepared: list[int] = []

    def choose_way(*given: Any) -> Any:
        way = step_way.choose_way(*given)
        prepared.append(time.perf_counter_ns())
        return way

    monkeypatch.setattr(step_runner, "choose_way", choose_way)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.while_loop(lambda i: i < 3, lambda i: i + x, [x]) if is_loop else tf.square(x)
        recorder = RunTape(lambda: session.graph)
        session.runtime.step_events.add(recorder)
        session.run(y, {x: 1.0})
        (tape,), (record,) = recorder.done, recorder.records()
    assert record.time_ns[0] == 1
    assert record.duration_ns <= tape.ended_ns - prepared[-1]


def test_loops_are_frames_with_parents_and_iterations() -> None:
    """An inner loop has a frame for each outer iteration."""
    record = recorded_loop(iterations=4)

    outer = [i for i, frame in enumerate(record.frames) if frame.name.startswith("outer/while")]
    inner = [frame for frame in record.frames if "inner" in frame.name]
    assert len(outer) == 1
    assert {frame.parent for frame in inner} == set(outer)
    # The last frame was entered dead: only its condition is evaluated.
    assert sorted(frame.parent_iteration for frame in inner)[:4] == [0, 1, 2, 3]
    begun = (record.kind == ITERATION_STARTED) & (record.frame == outer[0])
    assert sorted(record.iteration[begun].tolist()) == [0, 1, 2, 3, 4]


def test_the_summary_counts_bodies_that_ran() -> None:
    """The iteration that ends a loop, and a frame that was entered dead, do not count."""
    text = record_text(recorded_loop(iterations=4))

    (outer,) = {line for line in text.splitlines() if "loop outer/while_context" in line}
    assert outer.endswith(": 4 iterations")
    (inner,) = [line for line in text.splitlines() if "loop outer/inner" in line]
    assert inner.endswith(": 8 iterations, entered 4×")


def test_transfers_are_kept_with_their_bytes() -> None:
    """Sent and received tensors have their bytes."""
    record = recorded_loop()

    # To the other device and back.
    assert record.iteration[record.kind == SENT].tolist() == [4, 4]
    assert np.count_nonzero(record.kind == RECEIVED) == 2


def test_only_the_latest_steps_are_kept() -> None:
    """The memory is bounded; requesting a missing step is an error."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(1.0)
        with Recording() as recording:
            for _ in range(step_tape.MAX_STEPS + 3):
                session.run(x)
    assert len(recording.records) == step_tape.MAX_STEPS
    with pytest.raises(IndexError, match="There is no step 99: 8 were kept"):
        recording.view(99)


def test_events_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A very long step is cut, and the missing events are counted."""
    monkeypatch.setattr(step_tape, "MAX_EVENTS", 100)
    record = recorded_loop(iterations=20)

    assert record.num_events == 100
    assert record.dropped > 100
    assert "later events were not kept" in record_text(record)


def test_a_failed_step_keeps_its_error() -> None:
    """Events up to the failing node are kept."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [], name="x")
        y = tf.identity(10 // x, name="y")
        with Recording() as recording, pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: 0})
    assert "InvalidArgumentError" in recording.record.error
    assert "error:" in record_text(recording.record)


def test_no_step_is_said_plainly() -> None:
    """Without a step the display says so."""
    with Recording() as recording:
        pass
    assert repr(recording.view()) == "No step ran."


def test_what_is_sent_to_the_browser_has_a_header_and_columns() -> None:
    """Columns are aligned to eight bytes, so that the browser can read them in place."""
    record = recorded_loop()
    data = zlib.decompress(record.encode())
    size = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + size])

    assert (4 + size) % 8 == 0
    assert header["events"] == record.num_events
    events = record.num_events * 21
    tensors, elsewhere = len(record.tensors) * 40, len(record.elsewhere) * 32
    assert len(data) == 4 + size + events + tensors + elsewhere
    times = np.frombuffer(data, "<f8", record.num_events, 4 + size)
    np.testing.assert_array_equal(times, record.time_ns)


def test_the_trace_has_a_process_per_device_and_slices_that_do_not_cross() -> None:
    """Perfetto requires that slices of one thread do not overlap."""
    record = recorded_loop()
    events = chrome_trace(record)["traceEvents"]

    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert [name[-5:] for name in names] == ["CPU:0", "CPU:1"]
    by_thread: dict[Any, list[Any]] = {}
    for event in events:
        if event["ph"] == "X":
            by_thread.setdefault((event["pid"], event["tid"]), []).append(event)
    assert len(by_thread) > 3
    for slices in by_thread.values():
        slices.sort(key=lambda event: event["ts"])
        for one, following in itertools.pairwise(slices):
            assert one["ts"] + one["dur"] <= following["ts"] + 1e-6


def test_the_picture_that_stays_is_well_formed() -> None:
    """The SVG has a title, and as many lanes as loops and devices."""
    record = recorded_loop()
    root = ElementTree.fromstring(record_svg(record))

    assert "nodes ran" in (root.findtext("{http://www.w3.org/2000/svg}title") or "")


def test_a_file_of_its_own_needs_nothing_from_outside(tmp_path: Path) -> None:
    """The page has no address in it, and no name can end its script."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        graph_def = graph.as_graph_def()
        node = graph_def.node.add()
        node.name, node.op = "x", "NoOp"
        tf.import_graph_def(graph_def, name="")
        y = tf.constant(1.0, name="y")
        with Recording() as recording:
            session.run([y, "x"])
    recording.save_html(tmp_path / "run.html")
    recording.save_chrome_trace(tmp_path / "run.json")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")

    assert 'src="' not in text
    assert "default-src 'none'" in text
    assert text.count("</script>") == 2
    assert json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert HOSTILE not in record_html(recording.record, 400)


def test_the_magic_prints_the_step_in_a_terminal(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`%%tfnb record` runs a cell and prints the step."""
    capsys.readouterr()
    loaded.run_cell("%%tfnb record\ny = (tf.constant(2.0) * 3.0).eval()\n", store_history=True)
    printed = capsys.readouterr().out

    assert "nodes ran" in printed
    assert loaded.user_ns["y"] == 6.0
