"""``tfnb.sweep``: a training for each point of a grid, on Dask's workers."""

from __future__ import annotations

import hashlib
import html
import inspect
import itertools
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tfnb.client.live_runs import RunRow, add_run_group
from tfnb.core import errors
from tfnb.core.process.notification import Notification
from tfnb.dask_runtime.clients import are_on_this_machine, get_client
from tfnb.dask_runtime.sweep_run import RunOrder, train_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"tf": ["sweep"], "dask": ["Sweep"]}

_FINAL = frozenset(("finished", "failed", "cancelled"))
_WAIT_S = 0.5


def sweep(
    train: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    *,
    client: Any = None,
    directory: str | os.PathLike[str] | None = None,
    retries: int = 0,
    title: str | None = None,
) -> Sweep:
    """Start a training for each point of a grid; return at once.

    Each runs as one task of Dask, with a default graph of its own. The trainings and their reports
    are shown by the returned object and, in JupyterLab, in the side panel. A training whose worker
    dies starts again on another one, with the folder of its checkpoints; no other is concerned.

        def train(run, rate):
            loss = ...
            step = tf.train.GradientDescentOptimizer(rate).minimize(
                loss, tf.train.get_or_create_global_step())
            with run.session(loss, save_checkpoint_steps=100) as sess:
                while sess.run(tf.train.get_global_step()) < 1000:
                    sess.run(step)

        tfnb.sweep(train, {"rate": [0.1, 0.01]}).result()

    Args:
      train: is called with a ``tfnb.dask.SweepRun`` and the parameters of one point by name.
      grid: parameter -> values, for all combinations; or a list of points.
      client: a ``distributed.Client``; the current one, or workers on this machine, if None.
      directory: the folder for checkpoints, which all workers reach under this path. A later sweep
        in the same folder goes on from the checkpoints of equal points. If None and all workers are
        on this machine, a new folder for temporary files, ``Sweep.directory``.
      retries: how often a training is started again that ended with an error.
      title: a title for people; the name of the function if None.

    Raises:
      TypeError: the function does not take these parameters.
      ValueError: the grid is empty, or ``directory`` is needed.
      UnimplementedError: Dask is not installed.
    """
    points = _points(grid)
    for point in points:
        _check_call(train, point)
    client = get_client(client)
    if directory is None:
        if not are_on_this_machine(client):
            raise ValueError(
                "Workers on other machines need a folder for checkpoints that all of them reach: "
                "sweep(..., directory='/shared/folder')"
            )
        directory = tempfile.mkdtemp(prefix="tfnb-sweep-")
    name = title or str(getattr(train, "__name__", "training"))
    return Sweep(client, train, points, os.path.abspath(directory), retries, name)


def _points(
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the points of a grid.

    Raises:
      ValueError: there is none.
      TypeError: it is no grid.
    """
    if isinstance(grid, Mapping):
        for key, values in grid.items():
            if isinstance(values, str) or not hasattr(values, "__iter__"):
                raise TypeError(f"The values of {key!r} must be a list, not {values!r}.")
        points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    else:
        if not all(isinstance(one, Mapping) for one in grid):
            raise TypeError("`grid` must be a mapping of lists, or a list of mappings.")
        points = [dict(one) for one in grid]
    if not points:
        raise ValueError("The grid has no point: each parameter needs a value.")
    return points


def _check_call(train: Callable[..., Any], point: Mapping[str, Any]) -> None:
    """Refuse parameters that the function does not take.

    Raises:
      TypeError: it does not take them.
    """
    try:
        signature = inspect.signature(train)
    except ValueError:  # a function that does not tell
        return
    try:
        signature.bind(None, **point)
    except TypeError as error:
        raise TypeError(
            f"The training must take a run and {', '.join(point) or 'nothing else'}: {error}"
        ) from None


@dataclass(slots=True)
class _State:
    """A training, as the sweep knows it."""

    row: RunRow
    began: float | None = None
    value: Any = None


class Sweep:
    """The trainings of one call of ``tfnb.sweep``.

    Attributes:
      key: a name that no other sweep has.
      title: a title for people.
      directory: the folder that has a folder of checkpoints for each training.
    """

    def __init__(
        self,
        client: Any,
        train: Callable[..., Any],
        points: Sequence[dict[str, Any]],
        directory: str,
        retries: int,
        title: str,
    ) -> None:
        """Start the trainings; ``tfnb.sweep`` calls this."""
        self.key = f"tfnb-sweep-{uuid.uuid4().hex[:12]}"
        self.title = title
        self.directory = directory
        self._client = client
        self._lock = threading.RLock()
        self._over = Notification()
        # Guarded by self._lock.
        self._states = [_State(RunRow(index, point)) for index, point in enumerate(points)]
        client.subscribe_topic(self.key, self._hear)
        self._futures = []
        for index, point in enumerate(points):
            folder = os.path.join(directory, _folder_of(index, point))
            order = RunOrder(self.key, index, point, folder)
            future = client.submit(
                train_one,
                train,
                order,
                key=f"{self.key}-{index}",
                pure=False,
                retries=retries,
            )
            self._futures.append(future)
        for index, future in enumerate(self._futures):
            future.add_done_callback(lambda done, index=index: self._end(index, done))
        add_run_group(self)

    # -- what is known

    def rows(self) -> list[RunRow]:
        """Return the trainings as they are now."""
        now = time.monotonic()
        with self._lock:
            return [
                replace(one.row, seconds=now - one.began)
                if one.row.status == "running" and one.began is not None
                else one.row
                for one in self._states
            ]

    def table(self) -> Any:
        """Return a row for each training: a pandas DataFrame; without pandas a list of dicts."""
        rows = [_as_dict(one) for one in self.rows()]
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows)

    def values(self) -> list[Any]:
        """Return what the function returned for each training that is finished; None for others."""
        with self._lock:
            return [one.value for one in self._states]

    @property
    def is_over(self) -> bool:
        """Whether no training waits or runs."""
        with self._lock:
            return all(one.row.status in _FINAL for one in self._states)

    def result(self, timeout: float | None = None) -> Any:
        """Wait until all trainings have ended; return the table.

        An interrupt ends the waiting, not the trainings: they go on, and :meth:`cancel` ends them.

        Args:
          timeout: seconds to wait; None: no limit.

        Raises:
          DeadlineExceededError: they have not ended in this time.
          FailedPreconditionError: the client was closed meanwhile.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_over:
            left = _WAIT_S if until is None else min(_WAIT_S, until - time.monotonic())
            if left <= 0:
                raise errors.deadline_exceeded(
                    f"After {timeout:g} s trainings still wait or run:\n{self._text()}"
                )
            if not self._over.wait(left) and self._client.status == "closed":
                raise errors.failed_precondition(
                    "The Dask client was closed while trainings ran. Start the sweep again "
                    f"with directory={self.directory!r}: it goes on from the checkpoints."
                )
        return self.table()

    # -- the end

    def cancel(self, index: int | None = None) -> None:
        """End one training, or all; those that are over stay as they are.

        A training ends with a CancelledError from its next report, or from the step that runs.

        Args:
          index: the number of the training; None: all.

        Raises:
          IndexError: there is no such training.
        """
        if index is not None and not 0 <= index < len(self._states):
            raise IndexError(f"There is no training {index}; there are {len(self._states)}.")
        chosen = range(len(self._states)) if index is None else [index]
        with self._lock:
            chosen = [one for one in chosen if self._states[one].row.status not in _FINAL]
            for one in chosen:
                self._close(one, status="cancelled")
        self._client.cancel([self._futures[one] for one in chosen])
        self._leave_topic()

    def _leave_topic(self) -> None:
        if self.is_over and self._client.status == "running":
            self._client.unsubscribe_topic(self.key)

    # -- events

    def _hear(self, event: tuple[float, Any]) -> None:
        """Receive an event of a training, in the client's own thread."""
        _, content = event
        index = content["run"]
        with self._lock:
            state = self._states[index]
            if state.row.status in _FINAL:
                return
            if content["kind"] == "started":
                again = int(state.row.status == "running")
                state.began = time.monotonic()
                worker = str(content["by"])
                self._update(index, restarts=state.row.restarts + again, worker=worker)
            else:
                self._update(
                    index,
                    step=content["step"],
                    loss=content["loss"],
                    figures=dict(content["figures"]),
                )
            self._update(index, status="running")

    def _end(self, index: int, future: Any) -> None:
        """Receive the end of a training, in a thread of Dask."""
        changes: dict[str, Any]
        value = None
        if future.status == "finished":
            found = future.result()
            value = found.pop("value")
            changes = {"status": "finished", **found}
        elif future.status == "error":
            error = future.exception()
            text = f"{type(error).__name__}: {error}"
            was_cancelled = isinstance(error, errors.CancelledError)
            changes = {"status": "cancelled" if was_cancelled else "failed", "error": text}
        else:
            changes = {"status": "cancelled"}
        with self._lock:
            state = self._states[index]
            if state.row.status not in _FINAL:
                state.value = value
                self._close(index, **changes)

    def _close(self, index: int, **changes: Any) -> None:
        """Change what is known of a training that ends; the lock is held."""
        began = self._states[index].began
        if began is not None:
            changes.setdefault("seconds", time.monotonic() - began)
        self._update(index, **changes)
        if self.is_over:
            self._over.notify()

    def _update(self, index: int, **changes: Any) -> None:
        """Change what is known of a training; the lock is held."""
        state = self._states[index]
        state.row = replace(state.row, **changes)

    # -- display

    def _text(self) -> str:
        lines = [_cells(_as_dict(one)) for one in self.rows()]
        names = list(dict.fromkeys(name for line in lines for name in line))
        grid = [names, *([line.get(name, "") for name in names] for line in lines)]
        widths = [max(len(row[column]) for row in grid) for column in range(len(names))]
        return "\n".join(
            "  ".join(text.rjust(width) for text, width in zip(row, widths)).rstrip()
            for row in grid
        )

    def __repr__(self) -> str:
        return f"Sweep of {self.title}: {self.directory}\n{self._text()}"

    def _repr_html_(self) -> str:
        lines = [_cells(_as_dict(one)) for one in self.rows()]
        names = list(dict.fromkeys(name for line in lines for name in line))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(line.get(name, ''))}</td>" for name in names)
            + "</tr>"
            for line in lines
        )
        return (
            f"<table><caption>{html.escape(self.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )


def _folder_of(index: int, point: Mapping[str, Any]) -> str:
    """Return the name of a training's folder, which depends on its parameters."""
    text = repr(sorted(point.items(), key=lambda pair: pair[0]))
    return f"{index:03d}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _as_dict(row: RunRow) -> dict[str, Any]:
    """Return the columns of a row; a figure with the name of another column gets a suffix."""
    found: dict[str, Any] = {
        **row.parameters,
        "status": row.status,
        "step": row.step,
        "loss": row.loss,
    }
    for name, value in row.figures.items():
        found[f"{name}_" if name in found else name] = value
    return {
        **found,
        "seconds": row.seconds,
        "restarts": row.restarts,
        "worker": row.worker,
        "error": row.error,
    }


def _cells(columns: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a row; long ones are cut."""
    texts = {}
    for name, value in columns.items():
        text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
        line = " ".join(text.split())
        texts[name] = line if len(line) <= 60 else f"{line[:59]}…"
    return texts
