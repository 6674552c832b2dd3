"""Readers, behind handles of reader ops: they read records from files named in a queue.

A reader works on one name at a time. Its ``_open`` makes an iterator of (key, value) pairs for a
name; :class:`Reader` serves one request after the other, and dequeues a name when it has none. No
thread is held while the queue is empty: the request continues when a name arrives.

State, all guarded by ``_lock``: ``_records``, the remaining records of the current name, or None;
``_busy``, whether a request is being served; the counters that users can read. Corresponds to
``reader_base.cc`` and related kernels.
"""

from __future__ import annotations

import threading
from collections import deque
from itertools import count, islice
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from tfnb.core import effects, errors
from tfnb.core.files import file_system
from tfnb.core.files.leveldb_table import get_varint, put_varint
from tfnb.core.files.tf_record import WINDOW_BITS, inflated, tf_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.kernel_types import Array
    from tfnb.ops.waiting.queue_kernels import Queue

    type_of_records = Iterator[tuple[bytes, bytes]]


class _Request:
    """A request for ``limit`` records; None for exactly one."""

    __slots__ = ("answer", "done", "guard", "has_left", "limit", "manager", "queue")

    def __init__(
        self,
        limit: int | None,
        queue: Queue,
        done: Callable[[Array], None],
        manager: CancellationManager,
    ) -> None:
        self.limit = limit
        self.queue = queue
        self.done = done
        self.manager = manager
        self.guard = effects.current_guard()  # of the requesting node, in any thread
        self.answer: Array = None  # the queue's answer; guarded by the reader's lock
        self.has_left = False  # whether the requesting thread has returned; guarded as well


class Reader:
    """Base class of all readers; thread safe.

    Args:
      name: the name for messages.
    """

    kind = "Reader"
    keeps_state = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.RLock()
        self._requests: deque[_Request] = deque()
        self._busy = False
        self._records: type_of_records | None = None
        self._clear()

    def _open(self, work: bytes) -> type_of_records:
        """Return the records of a name; if this call raises, the name does not count as started."""
        raise NotImplementedError

    def _let_go(self) -> None:
        """Release the resources of the current name."""

    def _clear(self) -> None:
        self._let_go()
        self._work_started = self._work_finished = self._num_produced = 0
        self._work = b""
        self._records = None

    # -- public methods

    def read(
        self,
        limit: int | None,
        queue: Queue,
        done: Callable[[Array], None],
        manager: CancellationManager,
    ) -> None:
        """Pass ``done`` a list of records or an exception; wait for the queue's names."""
        with self._lock:
            self._requests.append(_Request(limit, queue, done, manager))
        self._serve()

    def num_records_produced(self) -> int:
        """Return the number of records read."""
        return self._num_produced

    def num_work_units_completed(self) -> int:
        """Return the number of names that are finished."""
        return self._work_finished

    def reset(self) -> None:
        """Reset all state, including the current name."""
        with self._lock:
            self._clear()

    def close(self) -> None:
        """Release the current name, when the session ends."""
        self.reset()

    def serialize_state(self) -> bytes:
        """Return the state as bytes.

        Raises:
          UnimplementedError: this kind of reader cannot save its state.
        """
        if not self.keeps_state:
            raise errors.unimplemented("Reader SerializeState")
        with self._lock:
            numbers = (self._work_started, self._work_finished, self._num_produced)
            out = b"".join(
                put_varint(field << 3) + put_varint(number)
                for field, number in enumerate(numbers, 1)
                if number
            )
            if self._work:
                out += put_varint(4 << 3 | 2) + put_varint(len(self._work)) + self._work
            return out

    def restore_state(self, state: bytes) -> None:
        """Restore a saved state.

        Raises:
          UnimplementedError: this kind of reader cannot restore a state.
          InvalidArgumentError: the bytes are not a state, or a state with an unfinished name.
        """
        if not self.keeps_state:
            raise errors.unimplemented("Reader RestoreState")
        me = f"{self.kind} '{self.name}'"
        try:
            numbers, work = _parsed_state(state)
        except errors.DataLossError:
            raise errors.invalid_argument(
                f"Could not parse state for {me}: {state.decode(errors='replace')}"
            ) from None
        if min(numbers) < 0:
            raise errors.invalid_argument(f"Unexpected negative value when restoring in {me}")
        if numbers[0] > numbers[1]:
            raise errors.invalid_argument(
                f"Inconsistent work started vs. finished when restoring in {me}: {numbers[0]} vs. "
                f"{numbers[1]}"
            )
        with self._lock:
            self._clear()
            self._work_started, self._work_finished, self._num_produced = numbers
            self._work = work

    # -- serving

    def _serve(self) -> None:
        """Serve requests until there is none, or one waits for a name."""
        while True:
            with self._lock:
                if self._busy or not self._requests:
                    return
                self._busy = True
                request = self._requests.popleft()
            if not self._advance(request):
                return

    def _advance(self, request: _Request) -> bool:
        """Return whether the request has ended; if not, the thread that adds a name goes on."""
        while True:
            try:
                outcome: Array = self._take_records(request)
            except Exception as error:
                outcome = error
            if outcome is None:
                request.answer, request.has_left = None, False
                try:
                    request.queue.dequeue(
                        1, lambda answer: self._name_came(request, answer), request.manager
                    )
                except Exception as error:
                    outcome = error
                else:
                    with self._lock:
                        if request.answer is None:
                            request.has_left = True
                            return False
                    outcome = self._begin(request)
            if outcome is not None:
                with self._lock:
                    self._busy = False
                request.done(outcome)
                return True

    def _name_came(self, request: _Request, answer: Array) -> None:
        with self._lock:
            request.answer = answer
            if not request.has_left:
                return
        error = self._begin(request)
        if error is not None:
            with self._lock:
                self._busy = False
            request.done(error)
        elif not self._advance(request):
            return
        self._serve()

    def _begin(self, request: _Request) -> Exception | None:
        """Begin the name that the queue returned; return the error, or None."""
        answer = request.answer
        with self._lock, effects.watched_by(request.guard):
            self._work = b""
            if isinstance(answer, Exception):
                return answer
            try:
                value = np.asarray(answer[0][0], dtype=object)
                if value.size != 1:
                    raise errors.invalid_argument("Expected to dequeue a one-element string tensor")
                self._work = bytes(value.reshape(-1)[0])
                self._records = self._open(self._work)
            except Exception as error:
                return error
            self._work_started += 1
            return None

    def _take_records(self, request: _Request) -> list[tuple[bytes, bytes]] | None:
        """Return records of the current name, or None if another name is needed."""
        with self._lock, effects.watched_by(request.guard):
            if self._records is None:
                return None
            wanted = 1 if request.limit is None else request.limit
            try:
                found = list(islice(self._records, wanted))
            except errors.OpError as error:
                # The name is not finished, so the next request gets the same error.
                self._records = self._after_error(error)
                raise
            self._num_produced += len(found)
            # If a name is a single record, the reader finishes it at once.
            if len(found) < wanted or (found and self.keeps_state):
                self._finish()
                return found or None
            return found

    def _after_error(self, error: errors.OpError) -> type_of_records:
        """Return the remaining records after an error; an iterator that raised is exhausted."""
        return _raising(error)

    def _finish(self) -> None:
        self._let_go()
        self._records = None
        self._work_finished = self._work_started


def _raising(error: errors.OpError) -> type_of_records:
    while True:
        yield _raise(error)


def _raise(error: errors.OpError) -> tuple[bytes, bytes]:
    raise errors.from_code(error.error_code, error.message)


def _parsed_state(state: bytes) -> tuple[list[int], bytes]:
    """Return the three counters and the current name, parsed from a protocol buffer.

    Raises:
      DataLossError: the bytes are not a valid state.
    """
    numbers, work, position = [0, 0, 0], b"", 0
    while position < len(state):
        key, position = get_varint(state, position)
        field, wire = key >> 3, key & 7
        if wire == 0:
            value, position = get_varint(state, position)
            if 1 <= field <= 3:
                numbers[field - 1] = value - (1 << 64) if value >> 63 else value
        elif wire == 2:
            size, position = get_varint(state, position)
            if position + size > len(state):
                raise errors.data_loss("truncated")
            if field == 4:
                work = state[position : position + size]
            position += size
        else:
            raise errors.data_loss(f"wire type {wire}")
    return numbers, work


def _path(work: bytes) -> str:
    return work.decode("utf-8", "surrogateescape")


class IdentityReader(Reader):
    """The reader of the names themselves as records."""

    kind = "IdentityReader"
    keeps_state = True

    def _open(self, work: bytes) -> type_of_records:
        return iter([(work, work)])


class WholeFileReader(Reader):
    """The reader of each file as one record."""

    kind = "WholeFileReader"
    keeps_state = True

    def _open(self, work: bytes) -> type_of_records:
        # The file is read when the record is taken: if it is missing, it stays the current name.
        return ((work, file_system.read_file(_path(name))) for name in (work,))

    def _after_error(self, error: errors.OpError) -> type_of_records:
        return self._open(self._work)


class TextLineReader(Reader):
    """The reader of lines, without line ends."""

    kind = "TextLineReader"

    def __init__(self, name: str, skip_header_lines: int) -> None:
        if skip_header_lines < 0:
            raise errors.invalid_argument(f"skip_header_lines must be >= 0 not {skip_header_lines}")
        self._file: BinaryIO | None = None
        super().__init__(name)
        self._skip = skip_header_lines

    def _open(self, work: bytes) -> type_of_records:
        self._file = file = file_system.open_file(_path(work))

        def lines() -> type_of_records:
            with file_system.translating_errors(_path(work)):
                for number, line in enumerate(file, 1):
                    if number > self._skip:
                        text = line.removesuffix(b"\n").removesuffix(b"\r")
                        yield b"%s:%d" % (work, number), text

        return lines()

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class FixedLengthRecordReader(Reader):
    """The reader of records of a fixed size, one every ``hop_bytes``."""

    kind = "FixedLengthRecordReader"

    def __init__(
        self,
        name: str,
        header_bytes: int,
        record_bytes: int,
        footer_bytes: int,
        hop_bytes: int,
        encoding: str,
    ) -> None:
        for what, size in (
            ("header_bytes", header_bytes),
            ("record_bytes", record_bytes),
            ("footer_bytes", footer_bytes),
            ("hop_bytes", hop_bytes),
        ):
            if size < 0:
                raise errors.invalid_argument(f"{what} must be >= 0 not {size}")
        super().__init__(name)
        self._header = header_bytes
        self._size = record_bytes
        self._footer = footer_bytes
        self._hop = hop_bytes or record_bytes
        self._encoding = encoding

    def _open(self, work: bytes) -> type_of_records:
        contents = file_system.read_file(_path(work))
        if self._encoding in WINDOW_BITS:
            contents = inflated(contents, self._encoding)
        if self._header > len(contents):
            raise errors.out_of_range("reached end of file")
        end = len(contents) - self._footer

        def records() -> type_of_records:
            for number in count():
                start = self._header + number * self._hop
                if start + self._size > end:
                    return
                yield b"%s:%d" % (work, number), contents[start : start + self._size]

        return records()


class TFRecordReader(Reader):
    """The reader of TFRecord files: length, checksum, bytes, checksum."""

    kind = "TFRecordReader"

    def __init__(self, name: str, compression_type: str) -> None:
        super().__init__(name)
        self._compression = compression_type

    def _open(self, work: bytes) -> type_of_records:
        contents = file_system.read_file(_path(work))

        def records() -> type_of_records:
            data = contents
            if data and self._compression in WINDOW_BITS:
                data = inflated(data, self._compression)
            for offset, record in tf_records(data):
                yield b"%s:%d" % (work, offset), record

        return records()
