"""``tf.summary.FileWriter``: summaries, graphs and other data for TensorBoard, as events."""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from tfnb.client.files.event_file_writer import EventFileWriter
from tfnb.core.scalar_events import summary_written
from tfnb.framework.graph import Graph
from tfnb.library.training.meta_graph import create_meta_graph_def
from tfnb.proto import event_pb2, graph_pb2, meta_graph_pb2, summary_pb2

if TYPE_CHECKING:
    from tfnb.proto.config_pb2 import RunMetadata

EXPORTS = {"summary": ["FileWriter", "FileWriterCache", "initialize", "all_v2_summary_ops"]}


class FileWriter:
    """A writer of an event file; a thread writes, so that adding an event is cheap.

    Args:
        logdir: The directory, which is made if it does not exist.
        graph: A graph to add at once.
        max_queue: How many events may wait to be written.
        flush_secs: How often the file is flushed, in seconds.
        graph_def: The old way to give the graph.
        filename_suffix: The end of the file's name.
        session: Accepted for compatibility; it is not used.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self.event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._closed = False
        self._run_metadata_tags: set[str] = set()
        self._described_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            self.add_meta_graph(_meta_graph_of(graph if graph is not None else graph_def))

    def get_logdir(self) -> str:
        """Return the directory."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: int | None = None) -> None:
        """Add a ``Summary``, or the bytes from a summary op.

        Args:
            summary: The summary; it is not changed.
            global_step: The step that it belongs to.
        """
        if isinstance(summary, bytes):
            summary = summary_pb2.Summary.FromString(summary)
        event = event_pb2.Event(summary=summary)
        # The metadata of a tag are stored once.
        for value in event.summary.value:
            if value.tag in self._described_tags:
                value.ClearField("metadata")
            elif value.HasField("metadata"):
                self._described_tags.add(value.tag)
        self._add(event, global_step)
        summary_written(event.summary, global_step, str(self.get_logdir()))

    def add_session_log(
        self, session_log: event_pb2.SessionLog, global_step: int | None = None
    ) -> None:
        """Add a ``SessionLog``: that a session began, saved or ended."""
        self._add(event_pb2.Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Add a graph.

        Args:
            graph: A ``Graph``; None if ``graph_def`` is given.
            global_step: The step that it belongs to.
            graph_def: The old way to give it, a ``GraphDef``.

        Raises:
            ValueError: Both are given.
            TypeError: The argument is not a graph.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph if graph is not None else graph_def
        if isinstance(given, Graph):
            given = given.as_graph_def(add_shapes=True)
        elif not isinstance(given, graph_pb2.GraphDef):
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, "
                f"not {type(given).__name__}"
            )
        self._add(event_pb2.Event(graph_def=given.SerializeToString()), global_step)

    def add_meta_graph(
        self, meta_graph_def: meta_graph_pb2.MetaGraphDef, global_step: int | None = None
    ) -> None:
        """Add a ``MetaGraphDef``.

        Raises:
            TypeError: It is not a ``MetaGraphDef``.
        """
        if not isinstance(meta_graph_def, meta_graph_pb2.MetaGraphDef):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        data = meta_graph_def.SerializeToString()
        self._add(event_pb2.Event(meta_graph_def=data), global_step)

    def add_run_metadata(
        self, run_metadata: RunMetadata, tag: str, global_step: int | None = None
    ) -> None:
        """Add the metadata of a run.

        Args:
            run_metadata: The message that ``session.run`` filled.
            tag: A name for it, used once.
            global_step: The step that it belongs to.

        Raises:
            ValueError: The tag was used before.
        """
        if tag in self._run_metadata_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_metadata_tags.add(tag)
        tagged = event_pb2.TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(event_pb2.Event(tagged_run_metadata=tagged), global_step)

    def add_event(self, event: event_pb2.Event) -> None:
        """Add an event unchanged."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def _add(self, event: event_pb2.Event, step: int | None) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=3,
            )

    def flush(self) -> None:
        """Write everything added so far to the file."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Write everything and close the file; repeated calls do nothing."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """Continue in a new file after ``close``."""
        self.event_writer.reopen()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _meta_graph_of(graph: Any) -> meta_graph_pb2.MetaGraphDef:
    """Return a graph with its collections and the definitions of its ops."""
    if not isinstance(graph, Graph):
        return meta_graph_pb2.MetaGraphDef(graph_def=graph)
    graph_def = graph.as_graph_def(add_shapes=True)
    made: meta_graph_pb2.MetaGraphDef = create_meta_graph_def(graph_def=graph_def, graph=graph)
    return made


class FileWriterCache:
    """One ``FileWriter`` for each directory."""

    _cache: ClassVar[dict[str, FileWriter]] = {}  # guarded by _lock
    _lock = threading.RLock()

    @staticmethod
    def get(logdir: str) -> FileWriter:
        """Return the writer of a directory, which is made on the first request."""
        from tfnb.framework.default_graph import get_default_graph

        with FileWriterCache._lock:
            found = FileWriterCache._cache.get(logdir)
            if found is None:
                found = FileWriter(logdir, graph=get_default_graph())
                FileWriterCache._cache[logdir] = found
            return found

    @staticmethod
    def clear() -> None:
        """Close and forget all writers."""
        with FileWriterCache._lock:
            writers = list(FileWriterCache._cache.values())
            FileWriterCache._cache.clear()
        for writer in writers:
            writer.close()


def initialize(graph: Any = None, session: Any = None) -> NoReturn:
    """Start the summary ops that write themselves; graphs of tfnb have none.

    Raises:
        RuntimeError: Always: there is no writer for these ops, and ``FileWriter`` needs no start.
    """
    raise RuntimeError(
        "No default tf.contrib.summary.SummaryWriter found: use tf.summary.FileWriter, which needs "
        "no initialization"
    )


def all_v2_summary_ops() -> list[Any]:
    """Return the summary ops of the default graph that write themselves: there are none."""
    return []
