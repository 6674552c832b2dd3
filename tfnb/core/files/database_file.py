"""SQLite databases that a step reads, opened through ``core/files/file_access.py``."""

from __future__ import annotations

import os
import sqlite3
import urllib.parse
from typing import TYPE_CHECKING, Final

from tfnb.core import effects, host_memory
from tfnb.core.files import file_access

if TYPE_CHECKING:
    from collections.abc import Callable

# Actions that a query may do: read tables, and compute.
_READING: Final = frozenset(
    (
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        getattr(sqlite3, "SQLITE_RECURSIVE", 33),
    )
)
_PRAGMAS: Final = frozenset(
    (
        "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
        "foreign_key_list",
    )
)  # fmt: skip
# Allowed without a value only: with a value they change the database.
_QUESTIONS: Final = frozenset(
    (
        "application_id", "data_version", "encoding", "page_count", "page_size", "schema_version",
        "user_version",
    )
)  # fmt: skip
# SQLite requests an update of these where it declares a virtual table; query_only refuses a real
# update.
_SCHEMAS: Final = frozenset(("sqlite_master", "sqlite_temp_master"))
_REFUSED_FUNCTIONS: Final = frozenset(("load_extension", "fts3_tokenizer", "readfile", "writefile"))
# Instructions of SQLite's virtual machine between two checks whether the step must end.
_INSTRUCTIONS: Final = 20_000
# Bytes 18 and 19 of a database with a write-ahead log beside it, and of one without.
_WITH_LOG, _WITHOUT_LOG = b"\2\2", b"\1\1"


def open_database(path: str) -> sqlite3.Connection:
    """Return a connection to a SQLite database that can only be read.

    SQLite itself refuses every statement that does not only read. For a guarded step it opens no
    file at all: ``file_access`` reads the database, and SQLite gets the bytes; the contents of a
    write-ahead log are not read. An empty path and ":memory:" are a database without tables in
    memory.

    Raises:
      OSError: the file cannot be opened.
      sqlite3.Error: it is no database.
    """
    if path in ("", ":memory:"):
        connection = sqlite3.connect(":memory:", check_same_thread=False)
    elif effects.current_guard() is not None:
        with file_access.open_binary(path) as file:
            host_memory.check_size(os.fstat(file.fileno()).st_size)
            data = file.read()
        if data[18:20] == _WITH_LOG:
            data = data[:18] + _WITHOUT_LOG + data[20:]
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        if data:
            connection.deserialize(data)
    else:
        name = urllib.parse.quote(os.path.abspath(path).encode("utf-8", "surrogateescape"))
        connection = sqlite3.connect(f"file:{name}?mode=ro", uri=True, check_same_thread=False)
    try:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        longest = connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(longest, host_memory.limit()))
        connection.set_authorizer(_may_query)
    except BaseException:
        connection.close()
        raise
    return connection


def _may_query(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    name = (first or "").lower()
    if action in _READING:
        is_refused = (
            action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _REFUSED_FUNCTIONS
        )
        return sqlite3.SQLITE_DENY if is_refused else sqlite3.SQLITE_OK
    may = (
        name in _PRAGMAS or (name in _QUESTIONS and second is None)
        if action == sqlite3.SQLITE_PRAGMA
        else action == sqlite3.SQLITE_UPDATE and name in _SCHEMAS
    )
    return sqlite3.SQLITE_OK if may else sqlite3.SQLITE_DENY


def end_queries_when(connection: sqlite3.Connection, must_end: Callable[[], bool]) -> None:
    """End a query, which may run without end, once ``must_end`` returns True."""
    connection.set_progress_handler(lambda: int(must_end()), _INSTRUCTIONS)
