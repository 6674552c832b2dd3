"""``distribution_strategy_context``: every program runs in the default strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable


class _DefaultStrategy:
    """One replica, which updates variables where they are."""

    num_replicas_in_sync = 1
    extended: Any

    def __init__(self) -> None:
        self.extended = self

    def update(self, var: Any, fn: Callable[..., Any], args: Any = (), **options: Any) -> Any:
        return fn(var, *args)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        return value

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        return tensor

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        return tf.colocate_with(colocate_with_variable)

    def group(self, value: Any, name: str | None = None) -> Any:
        return value

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        return merge_fn(self, *args, **(kwargs or {}))

    replica_id_in_sync_group = 0

    @property
    def strategy(self) -> _DefaultStrategy:
        return self


_DEFAULT = _DefaultStrategy()


def get_strategy() -> Any:
    """Return the default strategy."""
    return _DEFAULT


get_distribution_strategy = get_replica_context = get_tower_context = get_strategy


def has_strategy() -> bool:
    """Return False."""
    return False


has_distribution_strategy = in_cross_replica_context = in_cross_tower_context = has_strategy


def in_replica_context() -> bool:
    """Return True."""
    return True
