"""Checks the effects of nodes of a graph from a file: files, Python functions, the network.

The kernel of a node that has effects is wrapped, once, when it is made: before each execution the
paths in its inputs and attributes are checked. A node may use a path that

* the user allowed (``tfnb.safety.allow``), or
* the user fed to the session, as ``Saver.restore`` does, in this step or before (to a queue, to a
  variable for an asset's name), or that is a part of the checkpoint of that name. Feeding does not
  give permission to replace a file that is not a checkpoint.

Nodes that the user built are not wrapped and cost nothing extra. See ``core/effects.py``.
"""

from __future__ import annotations

import os
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from tfnb.core import effects, errors
from tfnb.core.attr_value import TensorAttr
from tfnb.core.process.records import record
from tfnb.core.process.shelter import ensure_imported

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from tfnb.core.effects import Effect, EffectsPolicy
    from tfnb.core.op_kernel import OpKernel, OpKernelContext
    from tfnb.core.op_registry import OpDefinition

# Number of step ids kept per path, since the same path may be fed to concurrent steps.
_MANY_STEPS: Final = 16
# Feeds with more elements are data, not paths; also the number of fed texts that are kept.
_MANY: Final = 4096
# Longer texts are not paths; in bytes.
_LONGEST_PATH: Final = 4096


@record(slots=True)
class _FedText:
    """A text that was fed, as a possible path.

    Attributes:
      folder: the working folder at the feed; a relative path is resolved from it.
      steps: the ids of the last steps it was fed to, which may write there.
      leads_to: the only file it may stand for, resolved; None for any.
    """

    folder: str
    steps: tuple[int, ...] = ()
    leads_to: str | None = None


class FedTexts:
    """The texts that the user last fed to a session; each may be a path."""

    def __init__(self) -> None:
        self._texts: dict[str, _FedText] = {}  # oldest first

    def note(self, values: Iterable[Any], step_id: int) -> None:
        """Record the texts in a step's feeds."""
        only = effects.paths_fed_to_read()
        folder: str | None = None
        for value in values:
            for text in _texts(value) if np.size(value) <= _MANY else ():
                if not 0 < len(text) <= _LONGEST_PATH or (only is not None and text not in only):
                    continue
                text = text.removeprefix("file://")
                if folder is None:
                    folder = _working_folder()
                before = self._texts.pop(text, None)
                if only is not None:
                    # An earlier record from the user's own feed stays valid.
                    leads_to = only.get(text)
                    found = before or _FedText(folder, (), leads_to)
                else:
                    steps = before.steps[-_MANY_STEPS:] if before is not None else ()
                    found = _FedText(folder, (*steps, step_id))
                self._texts[text] = found
        while len(self._texts) > _MANY:
            self._texts.pop(next(iter(self._texts)), None)

    def __iter__(self) -> Iterator[tuple[str, _FedText]]:
        return iter(self._texts.copy().items())


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


class WatchedSession(Protocol):
    """The session's interface to the checks: its policy and its fed texts."""

    @property
    def effects_policy(self) -> EffectsPolicy:
        """The effects that the user allowed."""

    @property
    def fed_texts(self) -> FedTexts:
        """The texts that the user fed."""


def watch_if_loaded(
    kernel: OpKernel, attrs: Mapping[str, Any], session: WatchedSession
) -> OpKernel:
    """Return the kernel, wrapped with checks if its node came from a file and has effects."""
    definition = kernel.definition
    if not definition.effects or effects.LOADED_ATTR not in attrs:
        return kernel
    compute = kernel.compute
    sources = _sources(definition, attrs)

    def begin(ctx: OpKernelContext, inputs: Sequence[Any]) -> _Watch:
        watch = _Watch(session, ctx)
        watch.check_sources(definition.effects, sources, inputs, attrs)
        return watch

    if kernel.kind == "async":

        def compute_async(ctx: OpKernelContext, done: Callable[[Any], None], *inputs: Any) -> Any:
            watch = begin(ctx, inputs)
            with effects.watched_by(watch):
                return compute(ctx, done, *inputs)

        kernel.compute = compute_async
        return kernel
    takes_context = kernel.kind not in ("pure", "node")

    def compute_watched(ctx: OpKernelContext, *inputs: Any) -> Any:
        watch = begin(ctx, inputs)
        with effects.watched_by(watch):
            found = compute(ctx, *inputs) if takes_context else compute(*inputs)
        return _guarded(found, watch) if isinstance(found, GeneratorType) else found

    kernel.compute = compute_watched
    if not takes_context:
        kernel.kind = "context"
    return kernel


def _guarded(work: Generator[Any, Any, Any], watch: _Watch) -> Generator[Any, Any, Any]:
    """Wrap a kernel that calls functions so that each piece of its work is checked."""
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            with effects.watched_by(watch):
                wanted = work.send(answer) if failure is None else work.throw(failure)
        except StopIteration as end:
            return end.value
        answer = failure = None
        try:
            answer = yield wanted
        except BaseException as error:
            failure = error


def _sources(definition: OpDefinition, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Map each effect's source to its input numbers; attributes are left out."""
    ranges = definition.op_def.input_ranges(attrs)
    return {
        effect.source: ranges[effect.source]
        for effect in definition.effects
        if effect.source in ranges
    }


class _Watch:
    """The checks for one execution of one node."""

    def __init__(self, session: WatchedSession, ctx: OpKernelContext) -> None:
        self._policy, self._fed_texts = session.effects_policy, session.fed_texts
        self._node, self._op, self._step_id = ctx.node_name, ctx.op_type, ctx.step_id

    def check_sources(
        self,
        declared: Sequence[Effect],
        sources: Mapping[str, Any],
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
    ) -> None:
        """Reject paths in inputs and attributes that the node may not use.

        Raises:
          PermissionDeniedError: the node may not use a path.
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
        """Reject a forbidden effect early; ``permit`` checks again the file that is really opened.

        Raises:
          PermissionDeniedError: the effect was not allowed, and the file's name was not fed.
        """
        if path is None or kind not in ("read", "write"):
            if not self._policy.allows(kind):
                raise self._refusal(kind, path)
            return
        if "\0" in path:
            raise errors.invalid_argument(f"A path has no NUL: {path!r}")
        path = path.removeprefix("file://")
        if self._policy.allows(kind, path):
            return
        if not any(self._gives_leave(kind, path, fed, known) for fed, known in self._fed_texts):
            raise self._refusal(kind, path)

    def permit(self, kind: str, path: str, real: str, part_of: str | None) -> bool:
        """See :class:`tfnb.core.effects.Guard`."""
        if self._policy.allows_resolved(kind, real):
            return True
        if part_of is not None and not effects.is_file_of(path, part_of):
            raise self._refusal(kind, path, real)
        # Permission to replace a checkpoint includes reading it: merging reads its parts.
        kinds = ("read", "write") if kind == "read" and part_of is not None else (kind,)
        if kinds != (kind,) and self._policy.allows_resolved("write", real):
            return True
        named = path if part_of is None else part_of
        for fed, known in self._fed_texts:
            if any(self._gives_leave(one, named, fed, known) for one in kinds) and _leads_there(
                path, real, fed, known
            ):
                if kind == "read":
                    return True
                return part_of is not None and (path != part_of or _is_table(real))
        raise self._refusal(kind, path, real)

    def listable(self, pattern: str, base: str, part_of: str | None) -> Callable[[str], bool]:
        """See :class:`tfnb.core.effects.Guard`."""
        policy = self._policy
        kinds = ("read",) if part_of is None else ("read", "write")
        if any(policy.allows_resolved(kind, base) for kind in kinds):
            return lambda folder: any(policy.allows_resolved(kind, folder) for kind in kinds)
        named = pattern if part_of is None else part_of
        if part_of is None or effects.is_file_of(pattern, part_of):
            for fed, known in self._fed_texts:
                if any(self._gives_leave(kind, named, fed, known) for kind in kinds):
                    start = known.leads_to or base
                    return lambda folder: effects.is_below(folder, start)
        raise self._refusal("read", pattern, base)

    def refuse_replacing(self, path: str) -> errors.PermissionDeniedError:
        """See :class:`tfnb.core.effects.Guard`."""
        return self._refusal("write", path, replaces=True)

    def _was_fed(self, path: str) -> bool:
        return any(effects.is_named_by(path, fed) for fed, _ in self._fed_texts)

    def _gives_leave(self, kind: str, path: str, fed: str, known: _FedText) -> bool:
        """Return whether a fed text gives permission to read or write a path."""
        return (
            effects.is_named_by(path, fed)
            and (kind == "read" or self._step_id in known.steps)
            and (os.path.isabs(fed) or known.folder == _working_folder())
        )

    def _refusal(
        self, kind: str, path: str | None, real: str | None = None, replaces: bool = False
    ) -> errors.PermissionDeniedError:
        if path is not None and real is None:
            real = effects.resolved_path(path)
        folder = "" if real is None else os.path.dirname(real)
        wish, where = {
            "read": (f"read '{path}'", f", under={folder!r}"),
            "write": (f"write '{path}'", f", under={folder!r}"),
            "python": ("call a Python function of this process", ""),
            "network": ("use the network", ""),
        }[kind]
        why = (
            "it was fed, but there is a file of that name, which is no checkpoint"
            if replaces
            else f"it leads to '{real}', which you neither fed nor allowed"
            if real is not None and path is not None and real != os.path.abspath(path)
            else "it was fed to be read, or to another step"
            if kind == "write" and path is not None and self._was_fed(path)
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
    """Yield the strings in a value; nothing if it is not a string tensor."""
    if isinstance(value, TensorAttr):
        value = value.value()
    if isinstance(value, bytes):
        yield value.decode("utf-8", "surrogateescape")
    elif isinstance(value, np.ndarray) and value.dtype == object:
        for one in value.reshape(-1):
            if isinstance(one, bytes):
                yield one.decode("utf-8", "surrogateescape")


def _leads_there(path: str, real: str, fed: str, known: _FedText) -> bool:
    """Return whether a path resolves to what the fed text names, without following a link."""
    if known.leads_to is not None:
        return real == known.leads_to
    if path == fed:
        return True
    if not path.startswith(fed):  # a pattern; matches must be in its folder
        folder, name = os.path.split(path)
        return real == os.path.join(os.path.realpath(folder or "."), name)
    folder, name = os.path.split(fed)
    return real == os.path.join(os.path.realpath(folder or "."), name) + path[len(fed) :]


def _is_table(path: str) -> bool:
    """Return whether the file does not exist, or is a checkpoint of the first format."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        try:
            file.seek(-8, os.SEEK_END)
            # Only texts that name files get here; the module makes tables of checksums.
            ensure_imported("tfnb.core.files.leveldb_table")
            from tfnb.core.files.leveldb_table import ends_like_table

            return ends_like_table(file.read(8))
        except OSError:
            return False
