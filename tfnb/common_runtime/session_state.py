"""Tensors that stay in the session between steps, known to the client by handle."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from tfnb.core import errors


class SessionState:
    """The session's tensor store; thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tensors: dict[str, Any] = {}  # guarded by self._lock
        self._ids = itertools.count(1)

    def new_id(self) -> int:
        """A number no other handle of this session has."""
        return next(self._ids)

    def add(self, handle: str, tensor: Any) -> None:
        """Keeps a tensor.

        Raises:
          InvalidArgumentError: the handle is in use.
        """
        with self._lock:
            if handle in self._tensors:
                raise errors.invalid_argument(
                    f"Failed to add a tensor with handle '{handle}' to the session store."
                )
            self._tensors[handle] = tensor

    def get(self, handle: str) -> Any:
        """The tensor behind a handle.

        Raises:
          InvalidArgumentError: this session has none.
        """
        with self._lock:
            if handle not in self._tensors:
                raise errors.invalid_argument(
                    f"The tensor with handle '{handle}' is not in the session store."
                )
            return self._tensors[handle]

    def delete(self, handle: str) -> None:
        """Forgets a tensor.

        Raises:
          InvalidArgumentError: this session has none.
        """
        with self._lock:
            if handle not in self._tensors:
                raise errors.invalid_argument(
                    f"Failed to delete a tensor with handle '{handle}' in the session store."
                )
            del self._tensors[handle]
