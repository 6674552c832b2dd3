"""The choice of the kind of session for a target.

Factories register under a name; ``accepts_options`` returns whether a factory serves a target.
Exactly one must accept.  Corresponds to TensorFlow's ``session_factory.cc``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from tfnb.core import errors
from tfnb.core.process.log import log
from tfnb.core.process.records import field, record
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence


@record(slots=True)
class SessionOptions:
    """The target ("" = this process) and the configuration of a new session."""

    target: str = ""
    config: config_pb2.ConfigProto = field(default_factory=config_pb2.ConfigProto)


class SessionFactory(Protocol):
    """Makes sessions for the targets it accepts."""

    def accepts_options(self, options: SessionOptions) -> bool:
        """Return whether the factory serves this target."""
        ...

    def new_session(self, options: SessionOptions) -> Any:
        """Return a new session."""
        ...

    def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Clear containers and close the sessions of the target."""
        ...


_lock = threading.Lock()
_factories: dict[str, SessionFactory] = {}  # guarded by _lock


def register(runtime_type: str, factory: SessionFactory) -> None:
    """Register a factory under a name; a second one under the same name is logged and ignored."""
    with _lock:
        if runtime_type in _factories:
            log.error("Two session factories are being registered under %s", runtime_type)
            return
        _factories[runtime_type] = factory


def deregister(runtime_type: str) -> None:
    """Remove a factory; an unknown name is no error."""
    with _lock:
        _factories.pop(runtime_type, None)


def get_factory(options: SessionOptions) -> SessionFactory:
    """Return the one factory that accepts ``options``.

    Raises:
      NotFoundError: none does; lists what is registered.
      InternalError: several do; names them.
    """
    with _lock:
        candidates = [(n, f) for n, f in _factories.items() if f.accepts_options(options)]
        if len(candidates) == 1:
            return candidates[0][1]
        registered = ", ".join(sorted(_factories))
    described = f'{{target: "{options.target}" config: {str(options.config).strip()}}}'
    if not candidates:
        raise errors.not_found(
            f"No session factory registered for the given session options: {described} "
            f"Registered factories are {{{registered}}}."
        )
    names = ", ".join(name for name, _ in candidates)
    raise errors.internal(
        f"Multiple session factories registered for the given session options: {described} "
        f"Candidate factories are {{{names}}}. Registered factories are {{{registered}}}."
    )


def new_session(options: SessionOptions) -> Any:
    """Return a session for the target.

    Raises:
      NotFoundError, InternalError: no factory or several factories accept it.
    """
    return get_factory(options).new_session(options)


def reset(options: SessionOptions, containers: Sequence[str] = ()) -> None:
    """Clear containers of a target and close its sessions."""
    get_factory(options).reset(options, containers)
