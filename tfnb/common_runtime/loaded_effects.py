"""Watches what nodes of a graph from a file do to the world.

A kernel of such a node that has effects is wrapped, once, when it is made: before each execution
the paths in its inputs and attributes are looked at. A path may be used that

* the user allowed (``tfnb.safety.allow``), or
* the user fed to the session, as ``Saver.restore`` does, in this step or before (to a queue, to a
  variable for an asset's name), or that is a part of the checkpoint of that name. To replace a file
  that is no checkpoint, this is not enough.

Nodes that the user built are not marked, and pay nothing. See ``core/effects.py``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from tfnb.core import effects, errors
from tfnb.core.attr_value import TensorAttr
from tfnb.core.leveldb_table import ends_like_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tfnb.core.effects import Effect, EffectsPolicy
    from tfnb.core.op_kernel import OpKernel, OpKernelContext
    from tfnb.core.op_registry import OpDefinition

# What they write is named after the path, and never the file of that name itself.
_WRITE_BESIDE: Final = frozenset({"SaveV2", "MergeV2Checkpoints"})
# Feeds with more elements are data, not paths; of paths, so many are remembered.
_MANY: Final = 4096
# Longer texts are no paths; in bytes.
_LONGEST_PATH: Final = 4096


class FedTexts:
    """The last texts that the user fed to a session, any of which may have been a path."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}  # the oldest first

    def note(self, values: Iterable[Any]) -> None:
        """Takes in the values of a step's feeds."""
        for value in values:
            for text in _texts(value) if np.size(value) <= _MANY else ():
                if 0 < len(text) <= _LONGEST_PATH:
                    self._texts.pop(text, None)
                    self._texts[text] = None
        while len(self._texts) > _MANY:
            self._texts.pop(next(iter(self._texts)), None)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._texts))


class WatchedSession(Protocol):
    """What a session says of its user's wishes."""

    @property
    def effects_policy(self) -> EffectsPolicy:
        """What was allowed."""

    @property
    def fed_texts(self) -> FedTexts:
        """What was fed."""


def watch_if_loaded(
    kernel: OpKernel, attrs: Mapping[str, Any], session: WatchedSession
) -> OpKernel:
    """The kernel, watched if its node came from a file and has effects."""
    definition = kernel.definition
    if not definition.effects or effects.LOADED_ATTR not in attrs:
        return kernel
    compute = kernel.compute
    sources = _sources(definition, attrs)
    has_own_paths = any(not effect.source for effect in definition.effects)

    def begin(ctx: OpKernelContext, inputs: Sequence[Any]) -> _Watch:
        watch = _Watch(session, ctx)
        watch.check_sources(definition.effects, sources, inputs, attrs)
        return watch

    if kernel.kind == "async":

        def compute_async(ctx: OpKernelContext, done: Callable[[Any], None], *inputs: Any) -> Any:
            watch = begin(ctx, inputs)
            with effects.watched_by(watch if has_own_paths else None):
                return compute(ctx, done, *inputs)

        kernel.compute = compute_async
        return kernel
    takes_context = kernel.kind not in ("pure", "node")

    def compute_watched(ctx: OpKernelContext, *inputs: Any) -> Any:
        watch = begin(ctx, inputs)
        with effects.watched_by(watch if has_own_paths else None):
            return compute(ctx, *inputs) if takes_context else compute(*inputs)

    kernel.compute = compute_watched
    if not takes_context:
        kernel.kind = "context"
    return kernel


def _sources(definition: OpDefinition, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Which of the inputs, by number, an effect's source is; attributes are not in it."""
    ranges = definition.op_def.input_ranges(attrs)
    return {
        effect.source: ranges[effect.source]
        for effect in definition.effects
        if effect.source in ranges
    }


class _Watch:
    """One execution of one node."""

    def __init__(self, session: WatchedSession, ctx: OpKernelContext) -> None:
        self._policy, self._fed_texts = session.effects_policy, session.fed_texts
        self._node, self._op = ctx.node_name, ctx.op_type

    def check_sources(
        self,
        declared: Sequence[Effect],
        sources: Mapping[str, Any],
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
    ) -> None:
        """Refuses the paths in inputs and attributes that the node may not use.

        Raises:
          PermissionDeniedError: there is one.
        """
        for effect in declared:
            if effect.source in sources:
                where = sources[effect.source]
                values = inputs[where.start : where.stop]
            else:
                values = [attrs.get(effect.source)]
            for value in values:
                for path in _texts(value):
                    if path and path.startswith(effect.scheme):
                        self.check(effect.kind, path)

    def check(self, kind: str, path: str | None) -> None:
        """Refuses what the node may not do.

        Raises:
          PermissionDeniedError: neither was it allowed, nor did the user feed the file's name.
        """
        if self._policy.allows(kind, path):
            return
        if path is None or not any(effects.is_named_by(path, fed) for fed in self._fed_texts):
            raise self._refusal(kind, path)
        if kind == "write" and self._op not in _WRITE_BESIDE and _is_foreign_file(path):
            raise self._refusal(kind, path, replaces=True)

    def _refusal(
        self, kind: str, path: str | None, replaces: bool = False
    ) -> errors.PermissionDeniedError:
        folder = "" if path is None else os.path.dirname(effects.resolved_path(path))
        wish, where = {
            "read": (f"read '{path}'", f", under={folder!r}"),
            "write": (f"write '{path}'", f", under={folder!r}"),
            "python": ("call a Python function of this process", ""),
            "network": ("use the network", ""),
        }[kind]
        why = (
            "it was fed, but there is a file of that name, which is no checkpoint"
            if replaces
            else "the path stands in the graph: you did not feed it"
            if path is not None
            else "graphs from files bring no right to it"
        )
        return errors.permission_denied(
            f"Node '{self._node}' (op {self._op}), which came from a file, wants to {wish}. "
            f"It was not done: {why}. If you trust this graph, allow it and run again: "
            f'tfnb.safety.allow("{kind}"{where})'
        )


def _texts(value: Any) -> Iterator[str]:
    """The strings in a value; nothing where it is no string tensor."""
    if isinstance(value, TensorAttr):
        value = value.value()
    if isinstance(value, bytes):
        yield value.decode("utf-8", "surrogateescape")
    elif isinstance(value, np.ndarray) and value.dtype == object:
        for one in value.reshape(-1):
            if isinstance(one, bytes):
                yield one.decode("utf-8", "surrogateescape")


def _is_foreign_file(path: str) -> bool:
    """Whether there is a file that no Saver wrote."""
    path = effects.resolved_path(path)
    if not os.path.exists(path):
        return False
    try:
        with open(path, "rb") as file:
            file.seek(-8, os.SEEK_END)
            return not ends_like_table(file.read())
    except OSError:
        return True
