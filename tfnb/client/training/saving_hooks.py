"""Hooks that write files: checkpoints, summaries, steps per second, timelines."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from tfnb.client.files import gfile
from tfnb.client.files.summary_writer import FileWriterCache
from tfnb.client.profiler import timeline
from tfnb.client.tf_logging import WARN, log_first_n
from tfnb.client.training.hooks import SecondOrStepTimer, global_step_read
from tfnb.client.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import get_collection
from tfnb.library.training.global_step import get_global_step
from tfnb.library.training.graph_io import write_graph
from tfnb.library.training.meta_graph import create_meta_graph_def
from tfnb.proto.config_pb2 import RunOptions
from tfnb.proto.event_pb2 import SessionLog
from tfnb.proto.summary_pb2 import Summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.files.summary_writer import FileWriter

EXPORTS = {
    "train": [
        "CheckpointSaverHook", "CheckpointSaverListener", "ProfilerHook", "StepCounterHook",
        "SummarySaverHook",
    ]
}  # fmt: skip

_log = logging.getLogger("tensorflow")


class CheckpointSaverListener:
    """The base class of listeners that a :class:`CheckpointSaverHook` calls when it saves."""

    def begin(self) -> None:
        """Begin; called once, while the graph may still grow."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Prepare for a save; called before the checkpoint is written."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Observe a save; called when the checkpoint is written. True requests a stop."""
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """End; called after the last checkpoint."""


class CheckpointSaverHook(SessionRunHook):
    """A hook that saves checkpoints: at the beginning, every N steps or seconds, and at the end.

    Args:
        checkpoint_dir: Folder of the checkpoints.
        save_secs: Seconds between two checkpoints.
        save_steps: Steps between two checkpoints.
        saver: The Saver; if None, that of ``scaffold`` or of the collection of savers.
        checkpoint_basename: Prefix of the file names.
        scaffold: The Scaffold that has the saver.
        listeners: CheckpointSaverListeners to call.
        save_graph_def: Whether to write the graph as well.

    Raises:
        ValueError: Both a saver and a scaffold are given; or both or none of seconds and steps.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._checkpoint_dir = str(checkpoint_dir)
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def

    def add_listener(self, listener: CheckpointSaverListener) -> None:
        """Add a listener, unless it is one already; before the session begins."""
        if listener not in self._listeners:
            self._listeners.append(listener)

    def begin(self) -> None:
        """Find the global step, open the event file."""
        self._writer = FileWriterCache.get(self._checkpoint_dir)
        self._step = global_step_read("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Write the graph and the first checkpoint."""
        step = session.run(self._step)
        graph = get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        if self._save_graph_def:
            write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        self._writer.add_graph(graph)
        self._writer.add_meta_graph(
            create_meta_graph_def(graph_def=graph_def, saver_def=saver.saver_def if saver else None)
        )
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save a checkpoint if it is due."""
        # The run may have taken many steps after the fetched one.
        if not self._timer.should_trigger_for_step(run_values.results + 1_000_000):
            return
        step = run_context.session.run(self._step)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        """Save the last step."""
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Save a checkpoint; return whether a listener requests a stop."""
        for listener in self._listeners:
            listener.before_save(session, step)
        _log.info("Saving checkpoints for %d into %s.", step, self._save_path)
        self._get_saver().save(
            session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def
        )
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
        self._writer.add_session_log(log, step)
        should_stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                _log.info("A listener requested that training be stopped: %s", listener)
                should_stop = True
        return should_stop

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection "
                "or provide a saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one "
                "to use by passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


class StepCounterHook(SessionRunHook):
    """A hook that logs the steps per second and writes them as a summary.

    Args:
        every_n_steps: Steps between two measurements.
        every_n_secs: Seconds between two measurements.
        output_dir: Folder of the event file.
        summary_writer: The writer to use instead of one for ``output_dir``.

    Raises:
        ValueError: Both or none of steps and seconds are given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: FileWriter | None = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._writer = summary_writer
        self._output_dir = output_dir
        self._last_step: int | None = None

    def begin(self) -> None:
        """Find the global step, open the event file."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        self._step = global_step_read("StepCounterHook")
        self._tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log and write the rate if it is due."""
        stale = run_values.results
        if self._timer.should_trigger_for_step(stale + 1):
            step = run_context.session.run(self._step)
            if self._timer.should_trigger_for_step(step):
                secs, steps = self._timer.update_last_triggered_step(step)
                if secs is not None and steps is not None:
                    self._log_and_record(steps, secs, step)
        if stale == self._last_step:
            log_first_n(
                WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased. "
                "Current value (could be stable): %s vs previous value: %s. You could increase the "
                "global step by passing tf.train.get_global_step() to Optimizer.apply_gradients or "
                "Optimizer.minimize.",
                5,
                *(stale, self._last_step),
            )
        self._last_step = stale

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        rate = elapsed_steps / elapsed_time if elapsed_time else float("inf")
        if self._writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), global_step)
        _log.info("%s: %g", self._tag, rate)


class SummarySaverHook(SessionRunHook):
    """A hook that writes summaries every N steps or seconds.

    Args:
        save_steps: Steps between two summaries.
        save_secs: Seconds between two summaries.
        output_dir: Folder of the event file.
        summary_writer: The writer to use instead of one for ``output_dir``.
        scaffold: The Scaffold that has the summary op.
        summary_op: The summaries, a tensor or a list of tensors.

    Raises:
        ValueError: Both or none of scaffold and summary op, or of steps and seconds, are given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        """Find the global step, open the event file."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._is_due = False
        self._step = global_step_read("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the step, and the summaries if they are due."""
        self._is_due = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        fetches = {"global_step": self._step}
        summaries = self._summaries() if self._is_due else None
        if summaries is not None:
            fetches["summary"] = summaries
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the summaries."""
        if self._writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._is_due:
            step = run_context.session.run(self._step)
        if self._next_step is None:
            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._is_due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        """Flush the event file."""
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list[Any] | None:
        op = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        return op if op is None or isinstance(op, list) else [op]


class ProfilerHook(SessionRunHook):
    """A hook that traces a run every N steps or seconds, and writes its timeline.

    Args:
        save_steps: Steps between two traces.
        save_secs: Seconds between two traces.
        output_dir: Folder of ``timeline-<step>.json`` and of the event file.
        show_dataflow: Whether the timeline has arrows.
        show_memory: Whether the timeline shows memory.

    Raises:
        ValueError: Both or none of steps and seconds are given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._output_dir = output_dir
        self._writer = FileWriterCache.get(output_dir or ".")
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        """Find the global step."""
        self._next_step: int | None = None
        self._is_due = False
        self._step = global_step_read("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Request a trace if it is due."""
        self._is_due = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_due else None
        return SessionRunArgs({"global_step": self._step}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the trace."""
        stale = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(stale)
        step = stale + 1
        if self._is_due:
            step = run_context.session.run(self._step)
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def _save(self, step: int, run_metadata: Any) -> None:
        path = os.path.join(self._output_dir, f"timeline-{step}.json")
        _log.info("Saving timeline for %d into '%s'.", step, path)
        trace = timeline.Timeline(run_metadata.step_stats)
        with gfile.GFile(path, "w") as file:
            file.write(
                trace.generate_chrome_trace_format(
                    show_dataflow=self._show_dataflow, show_memory=self._show_memory
                )
            )
        self._writer.add_run_metadata(run_metadata, f"step_{step}")
