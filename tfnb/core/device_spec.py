"""Device names: the forms that users write and that the runtime reads, and how two names combine.

A name has up to five parts, ``/job:worker/replica:0/task:3/device:GPU:1``. There are two readers,
as in TensorFlow. ``DeviceSpec.from_string`` is what a device scope uses: it accepts short forms
(``cpu:0``, ``/Gpu:1``) and raises for unknown parts. ``parse_full_name`` is what the runtime uses
for the names in a GraphDef: it is strict and returns None. Both give a ``DeviceSpec``, in which a
part that is None, or was ``*``, may be anything.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol, Self, TypeAlias

from tfnb.core import errors
from tfnb.core.process.later import pattern_later

Parts: TypeAlias = tuple[str | None, int | None, int | None, str | None, int | None]

# Device types that may stand without "device:" before them, in any case of letters.
_SHORT_TYPES = frozenset(["CPU", "GPU", "TPU", "CUSTOM", "EPU"])


class DeviceSpec:
    """A device name, complete or with some parts missing.

    >>> DeviceSpec(job="ps", device_type="CPU", device_index=0).to_string()
    '/job:ps/device:CPU:0'
    >>> DeviceSpec.from_string("/job:worker/gpu:1").make_merged_spec(
    ...     DeviceSpec.from_string("/task:2/cpu:0")
    ... ).to_string()
    '/job:worker/task:2/device:CPU:0'

    Attributes:
        job: The job's name, or None.
        replica: The replica's number, or None.
        task: The task's number, or None.
        device_type: ``CPU``, ``GPU``..., or None.
        device_index: The number among the task's devices of this type, or None.
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        """Make a spec; numbers may be given as text, ``cpu`` and ``gpu`` in small letters."""
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type
        self.device_index = device_index

    @classmethod
    def _from_parts(cls, parts: Parts) -> Self:
        spec = cls.__new__(cls)
        spec._set_parts(parts)
        return spec

    @classmethod
    def from_string(cls, spec: str | None) -> Self:
        """Return the spec a user's string means.

        Raises:
            ValueError: A part is unknown, malformed, or the type is given twice.
        """
        return cls._from_parts(_parse(spec or ""))

    def parse_from_string(self, spec: str) -> Self:
        """Take over all parts from a string, as ``from_string`` reads it, and return self."""
        self._set_parts(_parse(spec))
        return self

    def _set_parts(self, parts: Parts) -> None:
        self._job, self._replica, self._task, self._device_type, self._device_index = parts

    @property
    def parts(self) -> Parts:
        """Job, replica, task, device type and index; internal to tfnb."""
        return (self._job, self._replica, self._task, self._device_type, self._device_index)

    @property
    def job(self) -> str | None:
        """The job's name, or None."""
        return self._job

    @job.setter
    def job(self, job: str | None) -> None:
        self._job = None if job is None else str(job)

    @property
    def replica(self) -> int | None:
        """The replica's number, or None."""
        return self._replica

    @replica.setter
    def replica(self, replica: int | None) -> None:
        self._replica = None if replica is None else int(replica)

    @property
    def task(self) -> int | None:
        """The task's number, or None."""
        return self._task

    @task.setter
    def task(self, task: int | None) -> None:
        self._task = None if task is None else int(task)

    @property
    def device_type(self) -> str | None:
        """The device's type, or None."""
        return self._device_type

    @device_type.setter
    def device_type(self, device_type: str | None) -> None:
        self._device_type = None if device_type is None else _upper_if_known(str(device_type))

    @property
    def device_index(self) -> int | None:
        """The device's number among those of its type, or None."""
        return self._device_index

    @device_index.setter
    def device_index(self, device_index: int | None) -> None:
        self._device_index = None if device_index is None else int(device_index)

    def to_string(self) -> str:
        """Return the name with the known parts; a known type of unknown number ends in ``:*``."""
        return _text(self.parts)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return a spec with the parts of ``dev`` and, where it has none, those of this one."""
        return DeviceSpec._from_parts(_merged(self.parts, dev.parts))

    def merge_from(self, dev: DeviceSpec) -> None:
        """Take over the parts that ``dev`` has."""
        self._set_parts(_merged(self.parts, dev.parts))

    def replace(self, **parts: Any) -> DeviceSpec:
        """Return a copy with some parts replaced."""
        new = DeviceSpec._from_parts(self.parts)
        for name, value in parts.items():
            if name not in ("job", "replica", "task", "device_type", "device_index"):
                raise TypeError(f"A DeviceSpec has no part named '{name}'.")
            setattr(new, name, value)
        return new

    def __eq__(self, other: object) -> bool:
        """Return whether both specs have the same parts."""
        return isinstance(other, DeviceSpec) and self.parts == other.parts

    def __hash__(self) -> int:
        """Return a hash of the parts; a spec used as a key must not change."""
        return hash(self.parts)

    def __repr__(self) -> str:
        """Return the parts by name."""
        return (
            f"<DeviceSpec(job={self._job}, replica={self._replica}, task={self._task}, "
            f"device_type={self._device_type}, device_index={self._device_index})>"
        )


def _upper_if_known(device_type: str) -> str:
    return device_type.upper() if device_type in ("cpu", "gpu") else device_type


@functools.lru_cache(maxsize=4096)
def _text(parts: Parts) -> str:
    job, replica, task, device_type, device_index = parts
    text = ""
    if job is not None:
        text += f"/job:{job}"
    if replica is not None:
        text += f"/replica:{replica}"
    if task is not None:
        text += f"/task:{task}"
    if device_type is not None:
        text += f"/device:{device_type}:{'*' if device_index is None else device_index}"
    return text


def _merged(outer: Parts, inner: Parts) -> Parts:
    return tuple([a if b is None else b for a, b in zip(outer, inner)])  # type: ignore[return-value]


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Parts:
    """Return the parts of a user's string."""
    job: str | None = None
    replica = task = device_index = None
    device_type: str | None = None
    for part in text.split("/"):
        name, *values = part.split(":")
        match name, values:
            case "", _:
                continue
            case "job", [job]:
                continue
            case "replica", [value]:
                replica = int(value)
                continue
            case "task", [value]:
                task = int(value)
                continue
            case "device", [found_type, index]:
                pass
            case short, ([] | [_]) if short.upper() in _SHORT_TYPES:
                found_type, index = short.upper(), values[0] if values else "*"
            case _:
                raise ValueError(
                    f"Unknown attribute '{name}' is encountered while parsing the device spec: "
                    f"'{text}'."
                )
        if device_type is not None:
            raise ValueError(
                f"Multiple device types are not allowed while parsing the device spec: {text}."
            )
        device_type = _upper_if_known(found_type)
        device_index = None if index == "*" else int(index)
    return job, replica, task, device_type, device_index


# ----------------------------------------------------------------------------- for device scopes


class HasDevice(Protocol):
    """An operation or NodeDef, seen by a device function."""

    device: str


class MergeDevice:
    """A device function that completes an op's device with the parts of a spec.

    Parts that the op already has are kept: an inner device scope was applied before an outer one.

    >>> class Op:
    ...     device = "/device:GPU:3"
    >>> merge_device("/job:a/cpu:0")(Op()).to_string()
    '/job:a/device:GPU:3'
    """

    __slots__ = ("spec",)

    def __init__(self, spec: str | DeviceSpec | None) -> None:
        """Make the function; ValueError for a string that means no device."""
        self.spec = spec if isinstance(spec, DeviceSpec) else DeviceSpec.from_string(spec)

    def __call__(self, node: HasDevice) -> DeviceSpec:
        """Return the completed device."""
        return self.spec.make_merged_spec(DeviceSpec.from_string(node.device))

    @property
    def is_null_merge(self) -> bool:
        """Whether the spec has no parts, so that applying it changes nothing."""
        return not self.spec.to_string()

    def shortcut_string_merge(self, node: HasDevice) -> str:
        """Return the completed device as text."""
        return self(node).to_string()

    def __repr__(self) -> str:
        """Return the spec's text."""
        return f"MergeDevice({self.spec.to_string()!r})"


@functools.lru_cache(maxsize=1024)
def _merge_device(text: str) -> MergeDevice:
    return MergeDevice(text)


def merge_device(spec: str | DeviceSpec | MergeDevice | None) -> MergeDevice:
    """Return the device function for a spec; the same object for the same text."""
    if isinstance(spec, MergeDevice):
        return spec
    return _merge_device(canonical_name(spec))


def canonical_name(device: str | DeviceSpec | None) -> str:
    """Return the canonical name of a device given by a user.

    >>> canonical_name("/job:a/gpu:1"), canonical_name(None)
    ('/job:a/device:GPU:1', '')

    Raises:
        ValueError: The string means no device.
    """
    if device is None:
        return ""
    return device.to_string() if isinstance(device, DeviceSpec) else _text(_parse(device))


def check_valid(spec: str) -> None:
    """Raise ValueError for a string that means no device."""
    _parse(spec)


def is_device_spec(obj: object) -> bool:
    """Return whether an object is a DeviceSpec."""
    return isinstance(obj, DeviceSpec)


# ------------------------------------------------------------------------------- for the runtime

_NUMBER = r"(\*|[0-9]{1,18})"
_WORD = r"(\*|[A-Za-z][A-Za-z0-9_]*)"
_FULL_PART = pattern_later(
    rf"/job:{_WORD}|/replica:{_NUMBER}|/task:{_NUMBER}|/device:{_WORD}(?::{_NUMBER})?"
    rf"|/(cpu|CPU|gpu|GPU):{_NUMBER}"
)


@functools.lru_cache(maxsize=4096)
def _parse_full(name: str) -> Parts | None:
    if name == "/":
        return (None,) * 5
    job = device_type = None
    replica = task = device_index = None
    position = 0
    while position < len(name):
        match = _FULL_PART.match(name, position)
        if match is None:
            return None
        position = match.end()
        new_job, new_replica, new_task, new_type, new_index, short, short_index = match.groups()
        if new_job is not None:
            job = None if new_job == "*" else new_job
        elif new_replica is not None:
            replica = _number(new_replica)
        elif new_task is not None:
            task = _number(new_task)
        elif short is not None:
            device_type, device_index = short.upper(), _number(short_index)
        else:
            device_type = None if new_type == "*" else new_type
            device_index = None if new_index is None else _number(new_index)
    return job, replica, task, device_type, device_index


def _number(text: str) -> int | None:
    return None if text == "*" else int(text)


def parse_full_name(name: str) -> DeviceSpec | None:
    """Return the spec of a name in a graph, None if it is malformed.

    A later part overrides an earlier one of the same kind. Types are taken literally: only the
    short forms ``/cpu:0`` and ``/gpu:0`` may have small letters.

    >>> parse_full_name("/job:a/cpu:0").to_string(), parse_full_name("/cpu")
    ('/job:a/device:CPU:0', None)
    """
    parts = _parse_full(name)
    return None if parts is None else DeviceSpec._from_parts(parts)


def full_name(job: str, replica: int, task: int, device_type: str, device_index: int) -> str:
    """Return the complete name of a device.

    >>> full_name("localhost", 0, 0, "CPU", 1)
    '/job:localhost/replica:0/task:0/device:CPU:1'
    """
    return _text((job, replica, task, device_type, device_index))


def is_complete(name: str) -> bool:
    """Return whether a name has all five parts.

    >>> is_complete("/job:a/replica:0/task:0/device:CPU:0"), is_complete("/cpu:0")
    (True, False)
    """
    parts = _parse_full(name)
    return parts is not None and None not in parts


def is_same_or_compatible(spec: str, full: str) -> bool:
    """Return whether a device called ``full`` fits the request ``spec``.

    >>> here = "/job:localhost/replica:0/task:0/device:CPU:0"
    >>> is_same_or_compatible("/cpu:*", here), is_same_or_compatible("/gpu:0", here)
    (True, False)
    """
    if spec == full:
        return True
    wanted, found = _parse_full(spec), _parse_full(full)
    if wanted is None or found is None:
        return False
    return all(a is None or a == b for a, b in zip(wanted, found))


def are_compatible(left: str, right: str) -> bool:
    """Return whether some device fits both names.

    >>> are_compatible("/job:a", "/cpu:0"), are_compatible("/gpu:0", "/cpu:0")
    (True, False)
    """
    one, other = _parse_full(left), _parse_full(right)
    if one is None or other is None:
        return False
    return all(a is None or b is None or a == b for a, b in zip(one, other))


def is_same_address_space(left: str, right: str) -> bool:
    """Return whether both devices belong to the same job, replica and task, all of them known."""
    one, other = _parse_full(left), _parse_full(right)
    if one is None or other is None or None in one[:3]:
        return False
    return one[:3] == other[:3]


_PART_WORDS = ("jobs", "replicas", "tasks", "types", "ids")


def merge_names(target: str, other: str, allow_soft_placement: bool = False) -> str:
    """Return the name of the devices that fit both, for nodes that must stay together.

    With ``allow_soft_placement``, a part (type or number) in which the names differ is left out;
    job, replica and task must always agree.

    >>> merge_names("/job:a", "/cpu:0"), merge_names("/cpu:0", "/gpu:0", allow_soft_placement=True)
    ('/job:a/device:CPU:0', '')

    Raises:
        InvalidArgumentError: The names contradict each other, or one of them is malformed.
    """
    merged: list[Any] = []
    for name in (target, other):
        if _parse_full(name) is None:
            raise errors.invalid_argument(f"Malformed device specification '{name}'")
    one, two = _parse_full(target) or (), _parse_full(other) or ()
    for position, (a, b) in enumerate(zip(one, two)):
        if a is not None and b is not None and a != b:
            if allow_soft_placement and position >= 3:
                merged += [None] * (5 - position)
                break
            raise errors.invalid_argument(
                f"Cannot merge devices with incompatible {_PART_WORDS[position]}: "
                f"'{target}' and '{other}'"
            )
        merged.append(b if a is None else a)
    return runtime_text(tuple(merged))


def runtime_text(parts: Parts) -> str:
    """Return parts in the runtime's text form: a number without type keeps its place."""
    if parts[3] is None and parts[4] is not None:
        return f"{_text((*parts[:3], None, None))}/device:*:{parts[4]}"
    return _text(parts)
