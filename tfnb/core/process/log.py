"""The logger of tfnb for modules that every process imports.

``logging`` is imported with the first record: it is a fiftieth of the time to the first answer of a
small graph, which logs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

    log: logging.Logger
else:

    class _Logger:
        """Stands for ``logging.getLogger("tfnb")``; its methods are those of that logger."""

        __slots__ = ()

        def __getattr__(self, name: str) -> Any:
            import logging

            return getattr(logging.getLogger("tfnb"), name)

    log = _Logger()
