"""``tf.test.Benchmark`` and ``tf.test.StubOutForTesting``: measuring ops, replacing attributes.

A benchmark is a class with measuring methods ``benchmark...``; ``tf.test.main`` runs those that
``--benchmarks`` names.
"""

from __future__ import annotations

import inspect
import re
import sys
import time
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.proto.config_pb2 import ConfigProto

EXPORTS = {
    "test": ["Benchmark", "StubOutForTesting", "benchmark_config", "create_local_cluster"],
}

_REGISTERED: list[type[Benchmark]] = []


def benchmark_config() -> ConfigProto:
    """Return the configuration of a session for measuring steps: without graph optimizers."""
    from tfnb.proto import config_pb2, rewriter_config_pb2

    config = config_pb2.ConfigProto()
    off = rewriter_config_pb2.RewriterConfig.OFF
    config.graph_options.rewrite_options.dependency_optimization = off
    return config


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> Any:
    """Refuse: tfnb starts no servers inside a test.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError(
        f"tfnb starts no cluster of {num_workers} workers and {num_ps} parameter servers: use one "
        "session with several devices, tf.ConfigProto(device_count={'CPU': n})"
    )


class Benchmark:
    """The base of classes with measuring methods ``benchmark...``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.is_abstract():
            _REGISTERED.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether the class has no benchmark method."""
        return not any(name.startswith("benchmark") for name in dir(cls))

    def _get_name(self, overwrite_name: str | None = None) -> str:
        """Return the name of the running benchmark: class and method."""
        name = overwrite_name
        if name is None:
            frames = inspect.stack()
            callers = [f.function for f in frames if f.function.startswith("benchmark")]
            name = callers[0] if callers else "unknown"
        return f"{type(self).__name__}.{name}"

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
        metrics: list[Mapping[str, Any]] | None = None,
    ) -> None:
        """Print the results of a measurement.

        Args:
            iters: The number of steps.
            cpu_time: Seconds of processor time per step.
            wall_time: Seconds per step.
            throughput: Megabytes per second.
            extras: More numbers or texts by name.
            name: The name of the benchmark; the method's if None.
            metrics: More measures: dictionaries with ``name`` and ``value``.
        """
        measured = {
            "iters": iters,
            "wall_time": wall_time,
            "cpu_time": cpu_time,
            "throughput": throughput,
            **dict(extras or {}),
            **{one["name"]: one["value"] for one in metrics or ()},
        }
        shown = ", ".join(f"{key}: {value}" for key, value in measured.items() if value is not None)
        sys.stdout.write(f"benchmark {self._get_name(name)}: {shown}\n")

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors in the default session.

        Raises:
            ValueError: There is no default session.
        """
        from tfnb.framework.default_session import get_default_session

        session = get_default_session()
        if session is None:
            raise ValueError("evaluate needs a default session")
        return session.run(tensors)

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run an operation many times, and report how long a step takes.

        Args:
            sess: The session.
            op_or_tensor: The operation or tensor to run.
            feed_dict: The feeds.
            burn_iters: The number of steps before the measurement.
            min_iters: The number of measured steps.
            store_trace: Whether a timeline of one more step is among the extras.
            store_memory_usage: Not used.
            name: The name of the benchmark; the method's if None.
            extras: More numbers or texts by name.
            mbs: Megabytes per step, for the throughput.

        Returns:
            The reported data: ``iters``, ``extras``, ``name``, ``wall_time`` (the median, in
            seconds), ``throughput``.
        """
        from tfnb.framework.tensor import Tensor

        target = op_or_tensor.op if isinstance(op_or_tensor, Tensor) else op_or_tensor
        for _ in range(burn_iters):
            sess.run(target, feed_dict=feed_dict)
        times = []
        for _ in range(min_iters):
            begin = time.perf_counter()
            sess.run(target, feed_dict=feed_dict)
            times.append(time.perf_counter() - begin)
        found = dict(extras or {})
        found["wall_time_mean"] = float(np.mean(times))
        found["wall_time_stdev"] = float(np.std(times))
        if store_trace:
            from tfnb.client.profiler.timeline import Timeline
            from tfnb.proto import config_pb2

            options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
            metadata = config_pb2.RunMetadata()
            sess.run(target, feed_dict=feed_dict, options=options, run_metadata=metadata)
            found["full_trace_chrome_format"] = Timeline(
                metadata.step_stats
            ).generate_chrome_trace_format()
        median = float(np.median(times))
        result = {
            "iters": min_iters,
            "extras": found,
            "name": name or self._get_name(),
            "wall_time": median,
            "throughput": mbs / median,
        }
        shown = {key: one for key, one in found.items() if key != "full_trace_chrome_format"}
        self.report_benchmark(
            iters=min_iters, wall_time=median, throughput=mbs / median, extras=shown, name=name
        )
        return result


def run_benchmarks(pattern: str) -> int:
    """Run the methods whose names match; return their number.

    Args:
        pattern: A regular expression for ``Class.method``; ``all`` for every method.
    """
    expression = re.compile("" if pattern == "all" else pattern)
    count = 0
    for cls in _REGISTERED:
        for name in dir(cls):
            if name.startswith("benchmark") and expression.search(f"{cls.__name__}.{name}"):
                getattr(cls(), name)()
                count += 1
    return count


class StubOutForTesting:
    """A replacement of attributes, which ends with a ``with`` block or by ``CleanUp``."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []
        self._smartly: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.CleanUp()

    def __del__(self) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Restore all attributes."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replace an attribute where it is defined: in the object, its class, or a base.

        Raises:
            AttributeError: The attribute does not exist.
        """
        owner = obj
        if not (inspect.ismodule(obj) or attr_name in vars(obj)):
            cls = obj if inspect.isclass(obj) else type(obj)
            owners = [base for base in inspect.getmro(cls) if attr_name in vars(base)]
            if not owners:
                raise AttributeError(f"Attribute {attr_name} not found.")
            owner = obj if not inspect.isclass(obj) else owners[0]
        if not hasattr(owner, attr_name):
            raise AttributeError(f"Attribute {attr_name} not found.")
        self._keep(self._smartly, owner, attr_name)
        setattr(owner, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Restore the attributes that ``SmartSet`` replaced."""
        self._put_back(self._smartly)

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace an attribute of a module, class or object."""
        self._keep(self._replaced, parent, child_name)
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Restore the attributes that ``Set`` replaced."""
        self._put_back(self._replaced)

    @staticmethod
    def _keep(kept: list[tuple[Any, str, Any]], owner: Any, name: str) -> None:
        # The stored object: class methods and static methods must not be bound.
        old = vars(owner).get(name, _NOT_THERE) if hasattr(owner, "__dict__") else _NOT_THERE
        if old is _NOT_THERE and not hasattr(owner, name):
            raise AttributeError(f"{owner!r} has no attribute {name!r}")
        kept.append((owner, name, old))

    @staticmethod
    def _put_back(kept: list[tuple[Any, str, Any]]) -> None:
        while kept:
            owner, name, old = kept.pop()
            if old is _NOT_THERE:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


_NOT_THERE = object()
