"""``tensorflow.python.eager``: there is no eager mode, as in a graph of TensorFlow 1."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

GRAPH_MODE = 0
EAGER_MODE = 1


def executing_eagerly() -> bool:
    """Return False."""
    return False


in_eager_mode = enabled = executing_eagerly
executing_eagerly_v1 = executing_eagerly


def in_graph_mode() -> bool:
    """Return True."""
    return True


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Build graphs inside the block, as everywhere."""
    yield


def num_gpus() -> int:
    """Return the number of GPUs that sessions can use."""
    from tfnb.as_tensorflow.stand_ins.devices import list_local_devices

    return sum(device.device_type == "GPU" for device in list_local_devices())


class _Context:
    """What programs ask of the eager context."""

    def executing_eagerly(self) -> bool:
        return False

    def num_gpus(self) -> int:
        return num_gpus()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"tfnb has no eager context: '{name}' is not there")


_CONTEXT = _Context()


def context() -> _Context:
    """Return what answers for the eager context."""
    return _CONTEXT
