"""A step in a thread of its own, for tests in which another thread drives it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tfnb as tf

LIMIT_S = 60
"""For waiting on what comes at once unless something is broken."""


class Running:
    """A call of ``run`` in another thread, and how it ended."""

    def __init__(self, session: tf.Session, fetch: Any, feeds: Any = None) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(session, fetch, feeds))
        self._thread.start()

    def _run(self, session: tf.Session, fetch: Any, feeds: Any) -> None:
        try:
            self.result = session.run(fetch, feeds)
        except BaseException as error:
            self.error = error

    def join(self) -> None:
        """Waits for its end."""
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()
