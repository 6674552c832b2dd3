"""``tf.contrib.testing``: summaries of a test, kept in memory or read from event files."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.as_tensorflow.stand_ins.testing.test_util import assert_meta_graph_protos_equal
from tfnb.client.files import summary_writer as _summary_writer
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

# Summaries of numbers agree to this many decimals.
_TOLERANCE = 1.5e-2


class FakeSummaryWriter:
    """A writer of summaries that keeps in memory what it is given.

    Between ``install`` and ``uninstall`` it takes the place of ``tf.summary.FileWriter`` in the
    cache of writers that hooks use.

    Args:
      logdir: the folder, in which nothing is written.
      graph: the graph.
    """

    _replaced: ClassVar[Any] = None

    def __init__(self, logdir: str, graph: Any = None) -> None:
        self._logdir = logdir
        self._graph = graph
        self._graphs: list[Any] = []
        self._meta_graphs: list[Any] = []
        self._session_logs: list[Any] = []
        self._run_metadata: dict[str, Any] = {}
        self.summaries: dict[int, list[Any]] = {}

    @classmethod
    def install(cls) -> None:
        """Take the place of ``FileWriter``.

        Raises:
          ValueError: it has taken it already.
        """
        if cls._replaced is not None:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced = _summary_writer.FileWriter
        _summary_writer.FileWriter = cls  # type: ignore[misc, assignment]

    @classmethod
    def uninstall(cls) -> None:
        """Give ``FileWriter`` its place back.

        Raises:
          ValueError: it was not taken.
        """
        if cls._replaced is None:
            raise ValueError("FakeSummaryWriter not installed.")
        _summary_writer.FileWriter = cls._replaced  # type: ignore[misc]
        cls._replaced = None

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: str | None = None,
        expected_graph: Any = None,
        expected_summaries: Mapping[int, Mapping[str, float]] | None = None,
        expected_added_graphs: Sequence[Any] | None = None,
        expected_added_meta_graphs: Sequence[Any] | None = None,
        expected_session_logs: Sequence[Any] | None = None,
    ) -> None:
        """Fail a test unless the writer was given what is expected; None is not compared.

        Args:
          test_case: the test.
          expected_logdir: the folder.
          expected_graph: the graph.
          expected_summaries: step -> tag -> number; further steps are allowed.
          expected_added_graphs: the graphs, in order.
          expected_added_meta_graphs: the meta graphs, in order.
          expected_session_logs: the session logs, in order.
        """
        if expected_logdir is not None:
            assert expected_logdir == self._logdir
        if expected_graph is not None:
            assert expected_graph is self._graph
        for step, numbers in (expected_summaries or {}).items():
            assert step in self.summaries, "no summary of this step was added"
            # A supervisor's thread adds the speed at any time.
            found = {
                one.tag: one.simple_value
                for summary in self.summaries[step]
                for one in summary.value
                if one.tag != "global_step/sec"
            }
            assert numbers == found
        if expected_added_graphs is not None:
            assert expected_added_graphs == self._graphs
        if expected_added_meta_graphs is not None:
            assert len(expected_added_meta_graphs) == len(self._meta_graphs)
            for one, other in zip(expected_added_meta_graphs, self._meta_graphs, strict=True):
                assert_meta_graph_protos_equal(test_case, one, other)
        if expected_session_logs is not None:
            assert expected_session_logs == self._session_logs

    def add_summary(self, summ: Any, current_global_step: int) -> None:
        """Keep a summary, a message or the bytes of one."""
        if isinstance(summ, bytes):
            summ = to_summary_proto(summ)
        self.summaries.setdefault(current_global_step, []).append(summ)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Keep a graph."""
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Keep a meta graph."""
        _check_step(global_step)
        self._meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Keep a session log."""
        self._session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Keep the statistics of a step."""
        _check_step(global_step)
        self._run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Do nothing: all is in memory."""

    def reopen(self) -> None:
        """Do nothing: nothing is closed."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _check_step(step: int | None) -> None:
    if step is not None and step < 0:
        raise ValueError(f"Invalid global_step {step}.")


def assert_summary(
    expected_tags: Iterable[str], expected_simple_values: Mapping[str, float], summary_proto: Any
) -> None:
    """Fail unless a summary has these tags, and about these numbers.

    Raises:
      ValueError: the tags are others.
      AssertionError: a number differs in its first two decimals.
    """
    for one in summary_proto.value:
        expected = expected_simple_values.get(one.tag)
        if expected is not None and not math.isclose(
            one.simple_value, expected, rel_tol=0, abs_tol=_TOLERANCE
        ):
            raise AssertionError(f"{one.tag}: {one.simple_value} is not {expected}")
    found, wanted = {one.tag for one in summary_proto.value}, set(expected_tags)
    if found != wanted:
        raise ValueError(f"Expected tags {wanted}, got {found}.")


def to_summary_proto(summary_str: bytes) -> Any:
    """Return the message of a summary's bytes."""
    return tf.Summary.FromString(summary_str)


def latest_event_file(base_dir: str) -> str | None:
    """Return the last event file of a folder, in the order of names; None if there is none."""
    found = tf.gfile.Glob(os.path.join(base_dir, "events.*"))
    return max(found, default=None)


def latest_events(base_dir: str) -> Iterable[Any]:
    """Return the events of the last event file of a folder."""
    path = latest_event_file(base_dir)
    return tf.train.summary_iterator(path) if path else []


def latest_summaries(base_dir: str) -> list[Any]:
    """Return the events of the last event file that are summaries."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Collection[str]) -> dict[str, float]:
    """Return tag -> its number at the last step.

    Raises:
      ValueError: a summary of one of the tags is no number.
    """
    steps: dict[str, int] = {}
    values: dict[str, float] = {}
    for event in events:
        for one in event.summary.value if event.HasField("summary") else ():
            if one.tag not in tags:
                continue
            if not one.HasField("simple_value"):
                raise ValueError(f"Summary for {one.tag} is not a simple_value.")
            if event.step > steps.get(one.tag, -1):
                steps[one.tag], values[one.tag] = event.step, one.simple_value
    return values
