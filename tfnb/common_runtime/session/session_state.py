"""Tensors that stay in the session between steps, known to the client by handle."""

from __future__ import annotations

import itertools
from typing import Any

from tfnb.core import errors


class SessionState:
    """The session's tensor store; thread safe without locks.

    The garbage collector may call it at any moment, also while a lock would be held.
    """

    def __init__(self) -> None:
        self._tensors: dict[str, Any] = {}
        self._ids = itertools.count(1)

    def new_id(self) -> int:
        """Return a number that no other handle of this session has."""
        return next(self._ids)

    def add(self, handle: str, tensor: Any) -> None:
        """Keep a tensor.

        Raises:
          InvalidArgumentError: the handle is in use.
        """
        if handle in self._tensors or self._tensors.setdefault(handle, tensor) is not tensor:
            raise errors.invalid_argument(
                f"Failed to add a tensor with handle '{handle}' to the session store."
            )

    def get(self, handle: str) -> Any:
        """Return the tensor behind a handle.

        Raises:
          InvalidArgumentError: this session has no tensor with this handle.
        """
        tensor = self._tensors.get(handle, self)
        if tensor is self:
            raise errors.invalid_argument(
                f"The tensor with handle '{handle}' is not in the session store."
            )
        return tensor

    def delete(self, handle: str) -> None:
        """Forget a tensor.

        Raises:
          InvalidArgumentError: this session has no tensor with this handle.
        """
        if self._tensors.pop(handle, self) is self:
            raise errors.invalid_argument(
                f"Failed to delete a tensor with handle '{handle}' in the session store."
            )

    def discard(self, handle: str) -> None:
        """Forget a tensor, if it is there."""
        self._tensors.pop(handle, None)
