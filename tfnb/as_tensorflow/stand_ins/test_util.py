"""``tensorflow.python.framework.test_util``: the modes of tests, which here are always one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]


def _optional(decorate: Callable[..., Function]) -> Function:
    """Return a decorator that may be written with arguments, or with parentheses alone."""

    @functools.wraps(decorate)
    def decorator(func: Function | None = None, **options: Any) -> Any:
        if func is None:
            return functools.partial(decorate, **options)
        return decorate(func, **options)

    return decorator


@_optional
def run_in_graph_and_eager_modes(func: Function, **options: Any) -> Function:
    """Run a test in a session of the test case; there is no eager mode."""
    use_gpu, config = options.get("use_gpu", True), options.get("config")

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        with self.test_session(use_gpu=use_gpu, config=config):
            func(self, *args, **kwargs)

    return run


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Run each test of a class in a session of the test case."""
    for name, value in [*vars(cls).items()]:
        if callable(value) and name.startswith("test") and name != "test_session":
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


@_optional
def run_deprecated_v1(func: Function) -> Function:
    """Leave a test as it is: graphs are what tfnb runs."""
    return func


deprecated_graph_mode_only = run_deprecated_v1


def run_all_in_deprecated_graph_mode_only(cls: type) -> type:
    """Leave a class of tests as it is: graphs are what tfnb runs."""
    return cls


def run_v1_only(reason: str, func: Function | None = None) -> Any:
    """Leave a test of TensorFlow 1 as it is."""
    return func if func is not None else run_deprecated_v1


def run_v2_only(func: Function) -> Function:
    """Skip a test of TensorFlow 2."""

    @functools.wraps(func)
    def skip(self: Any, *args: Any, **kwargs: Any) -> None:
        self.skipTest("Test is only compatible with v2")

    return skip


def enable_control_flow_v2(func: Function) -> Function:
    """Build the conds and loops of a test as functional ops."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        before = tf.control_flow_v2_enabled()
        tf.enable_control_flow_v2()
        try:
            return func(*args, **kwargs)
        finally:
            if not before:
                tf.disable_control_flow_v2()

    return run
