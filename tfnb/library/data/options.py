"""Options of a pipeline.  None of them changes its elements."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {
    "data": ["Options", "ThreadingOptions"],
    "data.experimental": [
        "AutoShardPolicy", "AutotuneAlgorithm", "AutotuneOptions", "DistributeOptions",
        "ExternalStatePolicy", "OptimizationOptions", "ThreadingOptions",
    ],
}  # fmt: skip


class _Settings:
    """A fixed set of attributes; others are rejected. Unset attributes are None."""

    _names: tuple[str, ...] = ()
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self._set: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in type(self)._names:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self._set.get(name, self._defaults.get(name))

    def __setattr__(self, name: str, value: TensorLike) -> None:
        if name == "_set":
            object.__setattr__(self, name, value)
        elif name in type(self)._names:
            self._set[name] = value
        else:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._set == self._set

    def __hash__(self) -> int:
        return id(self)


class AutoShardPolicy(enum.IntEnum):
    """Policy that divides files among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(enum.Enum):
    """Algorithm of autotuning: accepted, as nothing is computed ahead here."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.Enum):
    """Policy for external state when a pipeline is serialized: accepted, without effect."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneOptions(_Settings):
    """Options of autotuning: accepted, as nothing is computed ahead here."""

    _names = (
        "autotune_algorithm", "cpu_budget", "enabled", "initial_parallelism", "min_parallelism",
        "ram_budget",
    )  # fmt: skip


class DistributeOptions(_Settings):
    """Distribution of elements among workers: accepted, without effect."""

    _names = ("auto_shard_policy", "num_devices")
    _defaults: ClassVar = {"auto_shard_policy": AutoShardPolicy.AUTO}


class OptimizationOptions(_Settings):
    """Rewrites allowed for a pipeline: accepted, as none changes its elements."""

    _names = (
        "apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch",
        "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization",
        "map_vectorization", "noop_elimination", "parallel_batch", "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion", "warm_start",
    )  # fmt: skip


class ThreadingOptions(_Settings):
    """Threads of a pipeline: accepted, as it runs in the caller's thread."""

    _names = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Settings):
    """Options of a pipeline."""

    _names = (
        "autotune", "deterministic", "distribute", "experimental_deterministic",
        "experimental_distribute", "experimental_external_state_policy",
        "experimental_optimization", "experimental_slack", "experimental_symbolic_checkpoint",
        "experimental_threading", "experimental_warm_start", "framework_type", "threading",
        "dataset_name",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._set.update(
            autotune=AutotuneOptions(),
            experimental_distribute=DistributeOptions(),
            experimental_optimization=OptimizationOptions(),
            threading=ThreadingOptions(),
        )

    def __getattr__(self, name: str) -> Any:
        renamed = {
            "experimental_threading": "threading",
            "experimental_deterministic": "deterministic",
            "distribute": "experimental_distribute",
        }
        return super().__getattr__(renamed.get(name, name))

    def __setattr__(self, name: str, value: TensorLike) -> None:
        renamed = {
            "experimental_threading": "threading",
            "experimental_deterministic": "deterministic",
            "distribute": "experimental_distribute",
        }
        super().__setattr__(renamed.get(name, name), value)

    def merge(self, options: Options) -> Options:
        """Merge with other options, which take precedence where both are set."""
        merged = Options()
        for source in (self, options):
            for name, value in source._set.items():
                if isinstance(value, _Settings):
                    getattr(merged, name)._set.update(value._set)
                elif value is not None:
                    merged._set[name] = value
        return merged

    def serialized(self) -> bytes:
        """Serialize the settings to an OptionsProto, as nodes store them.

        Only determinism and slack are written; the nested messages are present but empty.
        """
        written = b""
        if self.deterministic is not None:
            written += bytes((0x08, bool(self.deterministic)))
        written += b"\x12\x00\x1a\x00"
        if self.experimental_slack is not None:
            written += bytes((0x20, bool(self.experimental_slack)))
        return written + b"\x2a\x00\x3a\x00\x62\x00"
