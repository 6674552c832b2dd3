"""One training of a sweep, in the worker that runs it."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.session.live_sessions import open_sessions
from tfnb.client.training.monitored_session import MonitoredTrainingSession
from tfnb.client.training.session_run_hook import SessionRunArgs, SessionRunHook
from tfnb.core import errors
from tfnb.core.process.notification import Notification
from tfnb.core.step_events import unwatch_sessions, watch_sessions
from tfnb.dask_runtime.cancelled_tasks import current_task, is_cancelled
from tfnb.framework.graph import Graph
from tfnb.library.training.checkpoint_state import latest_checkpoint
from tfnb.library.training.global_step import get_or_create_global_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tfnb.core.step_events import StepEvents

EXPORTS = {"dask": ["SweepRun"]}

_SECONDS_BETWEEN_EVENTS = 0.2
_SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a worker is told about a training.

    Attributes:
      topic: the topic of its events.
      index: its number in the sweep.
      parameters: the arguments of the user's function.
      checkpoint_dir: the folder of its checkpoints.
    """

    topic: str
    index: int
    parameters: dict[str, Any]
    checkpoint_dir: str


class SweepRun:
    """The first argument of the function that a sweep calls: reports, checkpoints, the end.

    Attributes:
      index: the number of the training in the sweep.
      parameters: its parameters.
      checkpoint_dir: the folder of its checkpoints. A training whose worker died starts again with
        the same folder.
      step: the last step that was reported.
      loss: the last loss that was reported.
      figures: the last values of all other figures.
    """

    def __init__(self, order: RunOrder, send: Callable[[dict[str, Any]], None]) -> None:
        """Make a run.

        Args:
          order: what the worker was told.
          send: sends an event to the sweep.
        """
        self.index = order.index
        self.parameters = dict(order.parameters)
        self.checkpoint_dir = order.checkpoint_dir
        self.step = 0
        self.loss: float | None = None
        self.figures: dict[str, float] = {}
        self._send = send
        self._sent_at = 0.0
        self._cancelled = Notification()

    def report(self, step: int, loss: Any = None, **figures: Any) -> None:
        """Tell the sweep how far the training is; a few reports a second are sent.

        Args:
          step: the number of steps done.
          loss: the loss; None: as it was.
          **figures: further numbers.

        Raises:
          CancelledError: the training was cancelled: let it end.
        """
        self.step = int(step)
        if loss is not None:
            self.loss = float(loss)
        self.figures |= {name: float(value) for name, value in figures.items()}
        self.check()
        now = time.monotonic()
        if now - self._sent_at >= _SECONDS_BETWEEN_EVENTS:
            self._sent_at = now
            self.tell("progress")

    def check(self) -> None:
        """End a training that was cancelled.

        Raises:
          CancelledError: it was cancelled.
        """
        if self._cancelled.has_been_notified():
            raise errors.cancelled("The training was cancelled.")

    def tell(self, kind: str) -> None:
        """Send an event with the last report; internal."""
        self._send(
            {
                "run": self.index,
                "kind": kind,
                "step": self.step,
                "loss": self.loss,
                "figures": dict(self.figures),
            }
        )

    def cancel(self) -> None:
        """Have the next report or step end the training; internal."""
        self._cancelled.notify()

    # -- sessions

    def session(self, loss: Any = None, *, hooks: Any = (), **arguments: Any) -> Any:
        """Return a ``MonitoredTrainingSession`` that reports, saves, and starts at a checkpoint.

        Args:
          loss: a tensor to report; or a mapping of names to tensors, ``loss`` among them.
          hooks: further hooks.
          **arguments: further arguments of ``tf.train.MonitoredTrainingSession``.
        """
        arguments.setdefault("checkpoint_dir", self.checkpoint_dir)
        arguments.setdefault("log_step_count_steps", None)
        return MonitoredTrainingSession(hooks=[self.hook(loss), *hooks], **arguments)

    def hook(self, loss: Any = None) -> SessionRunHook:
        """Return a hook for a ``MonitoredSession`` that reports the global step and figures.

        Args:
          loss: a tensor to report; or a mapping of names to tensors, ``loss`` among them.
        """
        tensors = {} if loss is None else dict(loss) if isinstance(loss, dict) else {"loss": loss}
        return _ReportHook(self, tensors)

    def restore(self, sess: Any, saver: Any) -> int:
        """Give the variables of a plain session the values of the last checkpoint.

        Args:
          sess: the session.
          saver: a ``tf.train.Saver``.

        Returns:
          The step of the checkpoint; 0 if there is none, and nothing was restored.
        """
        path = latest_checkpoint(self.checkpoint_dir)
        if path is None:
            return 0
        saver.restore(sess, path)
        _, _, step = path.rpartition("-")
        return int(step) if step.isdecimal() else 0

    def save(self, sess: Any, saver: Any, step: int) -> str:
        """Save a checkpoint that :meth:`restore` finds; return its prefix.

        Args:
          sess: the session.
          saver: a ``tf.train.Saver``.
          step: the number of steps done.
        """
        found: str = saver.save(sess, os.path.join(self.checkpoint_dir, "model"), global_step=step)
        return found


class _ReportHook(SessionRunHook):
    def __init__(self, run: SweepRun, tensors: Mapping[str, Any]) -> None:
        self._run = run
        self._tensors = dict(tensors)

    def begin(self) -> None:
        self._step = get_or_create_global_step()

    def before_run(self, run_context: Any) -> Any:
        self._run.check()
        return SessionRunArgs([self._step, self._tensors])

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step, figures = run_values.results
        self._run.report(int(step), **{name: np.mean(one) for name, one in figures.items()})


def train_one(train: Callable[..., Any], order: RunOrder) -> dict[str, Any]:
    """Call the user's function; runs in a worker. Return its value and the last report.

    Args:
      train: the function.
      order: which training this is.

    Raises:
      CancelledError: the training was cancelled.
      RuntimeError: the function ended with an exception that would end the worker.
    """
    found = current_task()
    assert found is not None
    worker, key = found
    name = str(worker.name)
    run = SweepRun(order, lambda event: worker.log_event(order.topic, {**event, "by": name}))
    os.makedirs(order.checkpoint_dir, exist_ok=True)
    begin = time.monotonic()
    with _watched(run, lambda: is_cancelled(worker, key)), Graph().as_default():
        run.tell("started")
        try:
            value = train(run, **order.parameters)
        except (SystemExit, KeyboardInterrupt) as error:
            # Dask would end the worker, and start the training again on the others.
            raise RuntimeError(f"The training ended with {error!r}.") from error
    return {
        "value": value,
        "step": run.step,
        "loss": run.loss,
        "figures": run.figures,
        "seconds": time.monotonic() - begin,
    }


@contextmanager
def _watched(run: SweepRun, was_cancelled: Callable[[], bool]) -> Iterator[None]:
    """End the steps of sessions that this thread opens, once the training is cancelled."""
    own = threading.get_ident()
    events: list[StepEvents] = []
    is_begun = False

    def join(opened: StepEvents) -> None:
        # The first call lists sessions that exist already, those of other trainings.
        if is_begun and threading.get_ident() == own:
            events.append(opened)

    def look() -> None:
        while not over.wait(_SECONDS_BETWEEN_LOOKS):
            if was_cancelled():
                run.cancel()
                _end_steps(events)

    watch_sessions(join)
    is_begun = True
    over = Notification()
    watcher = threading.Thread(target=look, name="tfnb-sweep", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.notify()
        watcher.join()
        unwatch_sessions(join)


def _end_steps(events: list[StepEvents]) -> None:
    for session in open_sessions():
        if getattr(session.runtime, "step_events", None) in events:
            with suppress(RuntimeError):  # steps begin and end meanwhile; the next look sees them
                for run_state in session.runtime.active_steps():
                    run_state.end(errors.cancelled("The training was cancelled."))
