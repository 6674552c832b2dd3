"""Samples of where steps spend their time, without instrumentation.

A thread reads a few times a second which node runs (``BaseSession.running_nodes``) and counts the
results.  Steps stay on their fastest path; the only cost is the time in which the thread holds the
interpreter.  A node that is seen often takes long; a node that is never seen takes almost no time.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import TYPE_CHECKING, Self, TypeAlias

from tfnb.client.session.session import live_sessions
from tfnb.client.session.session_errors import place_of_node
from tfnb.core import errors
from tfnb.core.process.notification import Notification

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from tfnb.client.session.session import BaseSession
    from tfnb.common_runtime.executor.running_nodes import RunningNode

EXPORTS = {"debugger": ["StepSampler"]}

SAMPLES_PER_SECOND = 50.0
_JOIN_TIMEOUT_S = 10.0
_log = logging.getLogger("tfnb")

Sample: TypeAlias = "list[tuple[BaseSession, list[RunningNode]]]"
"""The sampled sessions, and the nodes that ran in each."""


class StepSampler:
    """A counter of the nodes that run inside a ``with`` block.

    >>> import tfnb as tf
    >>> sampler = tf.debugger.StepSampler()
    >>> with tf.Graph().as_default(), tf.Session() as sess, sampler:
    ...     float(sess.run(tf.constant(2.0) * 3.0))
    6.0
    >>> sampler.num_samples >= sampler.num_busy
    True

    Attributes:
      counts: how often each node was seen; nodes of functions are listed with the calling node.
      num_samples: how many samples were taken.
      num_busy: in how many samples a node was running.
    """

    def __init__(
        self,
        *sessions: BaseSession,
        samples_per_second: float = SAMPLES_PER_SECOND,
        on_sample: Callable[[Sample], None] | None = None,
    ) -> None:
        """Prepare the sampler.

        Args:
          *sessions: sessions whose steps are sampled; all open sessions if none is given.
          samples_per_second: the frequency.
          on_sample: is called with each sample, by the thread that took it.

        Raises:
          ValueError: ``samples_per_second`` is not positive.
        """
        if not samples_per_second > 0:
            raise ValueError(f"samples_per_second must be positive, not {samples_per_second}.")
        self.counts: Counter[tuple[RunningNode, ...]] = Counter()
        self.num_samples = 0
        self.num_busy = 0
        self._sessions = sessions
        self._interval_s = 1.0 / samples_per_second
        self._on_sample = on_sample
        self._places: dict[tuple[RunningNode, ...], str] = {}
        self._stopping = Notification()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start sampling, until :meth:`stop`; no effect on a running sampler.

        Raises:
          UnimplementedError: no thread can be started.
        """
        errors.require_threads(
            "Sampling of running steps", "Record them: `%%tfnb record`, `%%tfnb progress`."
        )
        if self._thread is None:
            self._stopping = Notification()
            self._thread = threading.Thread(target=self._run, name="tfnb-sampler", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.notify()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_JOIN_TIMEOUT_S)

    def sample(self) -> Sample:
        """Take one sample; the thread calls this repeatedly."""
        sessions = self._sessions or tuple(live_sessions())
        found = [
            (session, session.running_nodes()) for session in sessions if not session.is_closed
        ]
        self.num_samples += 1
        self.num_busy += any(nodes for _, nodes in found)
        for session, nodes in found:
            for node in nodes:
                key = _path(node)
                self.counts[key] += 1
                if key not in self._places:
                    self._places[key] = place_of_node(node.outermost.name, session.graph)
        return found

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            try:
                found = self.sample()
                if self._on_sample is not None:
                    self._on_sample(found)
            except Exception:
                _log.exception("Sampling failed; the steps continue without it.")
                return

    def text(self, most: int = 10) -> str:
        """Return the nodes that were seen most often, as plain text.

        Args:
          most: how many nodes at most.
        """
        if not self.num_busy:
            return f"Looked {self.num_samples} times, and no node ran."
        total = sum(self.counts.values())
        lines = [f"A node ran in {self.num_busy} of {self.num_samples} samples:"]
        rows = self.counts.most_common()
        for path, count in rows[:most]:
            lines.append(f"{100 * count / total:5.1f} %  {_text(path, self._places[path])}")
        if len(rows) > most:
            rest = sum(count for _, count in rows[most:])
            lines.append(f"{100 * rest / total:5.1f} %  {len(rows) - most} other nodes")
        return "\n".join(lines)


def _path(node: RunningNode) -> tuple[RunningNode, ...]:
    """Return the node and its callers, without the parts that differ from step to step."""
    found: list[RunningNode] = []
    here: RunningNode | None = node
    while here is not None:
        found.append(type(here)(here.name, here.op, here.device, function=here.function))
        here = here.caller
    return tuple(found)


def _text(path: Sequence[RunningNode], place: str) -> str:
    text = ", called by ".join(
        f"{node}, in function '{node.function}'" if node.function else str(node) for node in path
    )
    return f"{text}, made at {place}" if place else text
