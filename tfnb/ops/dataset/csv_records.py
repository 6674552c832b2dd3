"""Records of CSV files: lines, whose fields may have line ends and delimiters within quotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    #: The text of a field, or the error of a field that cannot be read.
    type_of_field = bytes | errors.OpError

_LINE_END = re.compile(rb"[\r\n]")
_QUOTE = ord('"')


def records_of(data: bytes, delimiter: bytes, use_quotes: bool) -> Iterator[list[type_of_field]]:
    """Yield the fields of each record of a file.

    A record ends with LF, CR, both, or the file.  An error stands in the place of its field, and
    the next record begins after this one, so that a program may skip records with errors.

    Args:
      data: the contents of the file.
      delimiter: the character between fields.
      use_quotes: whether a field may begin and end with a quote; a quote within it stands twice.
    """
    start, size = 0, len(data)
    has_returns = b"\r" in data
    has_quotes = use_quotes and b'"' in data
    while start < size:
        if has_returns:
            found = _LINE_END.search(data, start)
            end = size if found is None else found.start()
        else:
            end = data.find(b"\n", start)
            end = size if end < 0 else end
        line = data[start:end]
        fields: list[type_of_field]
        if has_quotes and b'"' in line:
            fields, start = _quoted_record(data, start, delimiter)
        else:
            fields, start = [*line.split(delimiter)], _after_line_end(data, end)
        yield fields


def _after_line_end(data: bytes, position: int) -> int:
    """Return the position after the line end at a position; CR and LF are one."""
    return position + (2 if data.startswith(b"\r\n", position) else 1)


def _quoted_record(data: bytes, position: int, delimiter: bytes) -> tuple[list[type_of_field], int]:
    """Return the fields of a record that has quotes, and where the next record begins."""
    plain_end = re.compile(b"[" + re.escape(delimiter) + rb"\r\n]")
    fields: list[type_of_field] = []
    while True:
        if position < len(data) and data[position] == _QUOTE:
            field, position = _quoted_field(data, position + 1, delimiter)
        else:
            found = plain_end.search(data, position)
            end = len(data) if found is None else found.start()
            field = data[position:end]
            if _QUOTE in field:
                field = errors.invalid_argument("Unquoted fields cannot have quotes inside")
            position = end
        fields.append(field)
        if not data.startswith(delimiter, position):
            return fields, _after_line_end(data, position)
        position += 1


def _quoted_field(data: bytes, start: int, delimiter: bytes) -> tuple[type_of_field, int]:
    """Return a field after its first quote, and the position after its last quote."""
    error: errors.OpError | None = None
    position = start
    while True:
        end = data.find(b'"', position)
        if end < 0:
            text = "Reached end of file without closing quoted field in record"
            return error or errors.invalid_argument(text), len(data)
        after = data[end + 1 : end + 2]
        if after in (b"", b"\r", b"\n", delimiter):
            return error or data[start:end].replace(b'""', b'"'), end + 1
        if after != b'"' and error is None:
            error = errors.invalid_argument(
                "Quote inside a string has to be escaped by another quote"
            )
        position = end + 2
