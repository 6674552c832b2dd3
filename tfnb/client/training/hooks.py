"""Hooks that observe or stop training: logging, the last step, NaN, waiting, feeding."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfnb.core import errors
from tfnb.framework.default_graph import get_default_graph
from tfnb.library.training.global_step import get_or_create_global_step_read

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {
    "train": [
        "FeedFnHook", "FinalOpsHook", "GlobalStepWaiterHook", "LoggingTensorHook",
        "NanLossDuringTrainingError", "NanTensorHook", "SecondOrStepTimer", "StopAtStepHook",
    ]
}  # fmt: skip

_log = logging.getLogger("tensorflow")

# Seconds that a worker waits before it reads the global step again.
_POLL_SECS = 0.5


class SecondOrStepTimer:
    """A timer with an interval in seconds or steps.

    Args:
        every_secs: Seconds between two triggers.
        every_steps: Steps between two triggers.

    Raises:
        ValueError: Both or none are given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Reset the timer, so that it is due at once."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether the timer is due at a step."""
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return step >= self._last_step + (self._every_steps or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record a trigger; return the seconds and steps since the previous one, if any."""
        now = time.time()
        elapsed: tuple[float | None, int | None] = (None, None)
        if self._last_time is not None and self._last_step is not None:
            elapsed = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """Return the step of the last trigger."""
        return self._last_step


def global_step_read(user: str) -> Any:
    """Return the tensor by which a hook fetches the global step.

    Raises:
        RuntimeError: The graph has no global step.
    """
    step = get_or_create_global_step_read()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {user}.")
    return step


class LoggingTensorHook(SessionRunHook):
    """A hook that logs values of tensors, as INFO.

    Args:
        tensors: Tensors or their names, as a list or as values of a dictionary of tags.
        every_n_iter: Runs between two lines.
        every_n_secs: Seconds between two lines.
        at_end: Whether to log also at the end.
        formatter: Makes the line of a dictionary of tags and values.

    Raises:
        ValueError: No interval is given, or two are.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tags = sorted(tensors) if isinstance(tensors, dict) else list(tensors)
        self._tensors = tensors if isinstance(tensors, dict) else {t: t for t in tensors}
        self._formatter = formatter
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end = at_end

    def begin(self) -> None:
        """Find the tensors."""
        if self._timer is not None:
            self._timer.reset()
        self._count = 0
        self._is_due = False
        self._fetches = {tag: _as_graph_element(item) for tag, item in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the tensors if they are to be logged."""
        self._is_due = self._timer is not None and self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._fetches) if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the tensors if they were fetched for this."""
        if self._is_due:
            self._log_values(run_values.results)
        self._count += 1

    def end(self, session: Any) -> None:
        """Log the tensors again if ``at_end`` is set."""
        if self._at_end:
            self._log_values(session.run(self._fetches))

    def _log_values(self, values: dict[Any, Any]) -> None:
        elapsed = None
        if self._timer is not None:
            elapsed, _ = self._timer.update_last_triggered_step(self._count)
        with np.printoptions(suppress=True):
            if self._formatter:
                text = self._formatter(values)
            else:
                text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
                if elapsed is not None:
                    text += f" ({elapsed:.3f} sec)"
        _log.info("%s", text)


def _as_graph_element(item: Any) -> Any:
    """Return the tensor or op given to a hook, perhaps by name; an op's name means its output."""
    graph = get_default_graph()
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise ValueError(
                f"Passed {item} should have graph attribute that is equal to current graph {graph}."
            )
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    element = graph.as_graph_element(f"{item}:0")
    if len(element.op.outputs) > 1:
        raise ValueError(
            f"Name {item} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return element


class StopAtStepHook(SessionRunHook):
    """A hook that stops training at a step.

    Args:
        num_steps: Number of steps to take, from the step at which the session begins.
        last_step: The last step.

    Raises:
        ValueError: Both or none are given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Find the global step."""
        self._step = global_step_read("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Compute the last step."""
        if self._last_step is None:
            self._last_step = session.run(self._step) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop if it was the last step."""
        # The fetched step may be the one before the run's update, so read it again to decide.
        last = self._last_step
        if last is None or run_values.results + 1 < last:
            return
        if run_context.session.run(self._step) >= last:
            run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """A hook that stops training when the loss is NaN.

    Args:
        loss_tensor: The loss.
        fail_on_nan_loss: Whether NaN raises an error; otherwise training only stops.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fail = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Check the loss.

        Raises:
            NanLossDuringTrainingError: The loss is NaN and ``fail_on_nan_loss`` is set.
        """
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail:
            _log.error(message)
            raise NanLossDuringTrainingError
        _log.warning(message)
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """A hook that makes a worker wait until the global step reaches a value.

    Args:
        wait_until_step: The global step to wait for.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Find the global step."""
        self._is_started = False
        self._step = global_step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait before the first run."""
        if self._is_started:
            return
        if self._wait_until_step > 0:
            _log.info("Waiting for global step %d before starting training.", self._wait_until_step)
            while run_context.session.run(self._step) < self._wait_until_step:
                time.sleep(_POLL_SECS)
        self._is_started = True


class FinalOpsHook(SessionRunHook):
    """A hook that fetches values at the end.

    Args:
        final_ops: The fetches, as for ``Session.run``.
        final_ops_feed_dict: The feeds.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The fetched values."""
        return self._values

    def end(self, session: Any) -> None:
        """Fetch the values.

        Raises:
            OutOfRangeError: The fetch reads from an exhausted input.
        """
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, feed_dict=self._feed_dict)
        except (errors.OutOfRangeError, StopIteration) as error:
            _log.warning(
                "The ops of a FinalOpsHook read from an input that has ended: they are to depend "
                "on variables only. (%s)",
                error,
            )
            raise


class FeedFnHook(SessionRunHook):
    """A hook that feeds the result of a function in every run.

    Args:
        feed_fn: Returns a feed dictionary.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Call the function."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
