"""Graphs on a GPU compared with CuPy code, and with PyTorch and JAX if they are installed.

    python -m benchmarks.gpu                          # all workloads
    python -m benchmarks.gpu --only chain,softmax --rounds 21 --json FILE

Each workload is a function of arrays on the GPU; a call ends when the GPU has computed it. The
sides take turns, call by call, and the first of a round changes. Times are medians in microseconds,
ratios those of medians: below 1.00 tfnb is faster. Before the measurement the sides' results are
compared. JAX compiles its function (``jax.jit``), PyTorch runs eagerly and, with ``--compile``,
compiled.

Without a GPU the program says so and ends with status 1.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import tfnb as tf
from tfnb.core import array_module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Side: TypeAlias = "Callable[[], Any]"


@dataclass(slots=True)
class Workload:
    """One function of arrays, once for tfnb and once for modules like NumPy.

    Attributes:
      shapes: of the arrays.
      graph: makes the result of tensors.
      by_hand: makes it of arrays; the first argument is the array module.
    """

    shapes: list[tuple[int, ...]]
    graph: Callable[..., Any]
    by_hand: Callable[..., Any]

    @property
    def inputs(self) -> list[np.ndarray[Any, Any]]:
        """Return the arrays: data, followed by small weights."""
        random = np.random.default_rng(0)
        arrays = [random.standard_normal(shape, "f4") for shape in self.shapes]
        return [arrays[0], *(one * np.float32(0.01) for one in arrays[1:])]


def workloads(scale: float = 1.0) -> dict[str, Workload]:
    """Return all workloads, by name.

    Args:
      scale: of the numbers of elements; below 1 for a comparison of values only.
    """

    def shaped(*shape: int) -> tuple[int, ...]:
        return tuple(max(2, int(size * scale)) if size > 64 else size for size in shape)

    def chain(xp: Any, x: Any) -> Any:
        for _ in range(10):
            x = xp.tanh(x * 1.1 + 0.1)
        return x

    def gelu(xp: Any, x: Any) -> Any:
        return 0.5 * x * (1.0 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def softmax(xp: Any, x: Any) -> Any:
        shifted = xp.exp(x - xp.amax(x, axis=1, keepdims=True))
        return shifted / xp.sum(shifted, axis=1, keepdims=True)

    def tf_softmax(x: Any) -> Any:
        shifted = tf.exp(x - tf.reduce_max(x, 1, keepdims=True))
        return shifted / tf.reduce_sum(shifted, 1, keepdims=True)

    def step(xp: Any, x: Any, w: Any, b: Any, u: Any) -> Any:
        hidden = xp.maximum(xp.matmul(x, w) + b, xp.zeros_like(b))
        error = xp.matmul(hidden, u) - 1.0
        back = xp.matmul(error, u.T) * (hidden > 0)
        return w - 0.01 * xp.matmul(x.T, back)

    def tf_step(x: Any, w: Any, b: Any, u: Any) -> Any:
        hidden = tf.nn.relu(tf.matmul(x, w) + b)
        error = tf.matmul(hidden, u) - 1.0
        back = tf.matmul(error, u, transpose_b=True) * tf.cast(hidden > 0.0, tf.float32)
        return w - 0.01 * tf.matmul(x, back, transpose_a=True)

    def loop(xp: Any, x: Any) -> Any:
        for _ in range(100):
            x = xp.maximum(x * 0.99 + 0.01, x - 1.0)
        return x

    def tf_loop(x: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < 100,
            lambda i, y: (i + 1, tf.maximum(y * 0.99 + 0.01, y - 1.0)),
            [0, x],
        )[1]

    found = {}
    for name, size in (("1k", 1000), ("1M", 1_000_000), ("16M", 16_000_000)):
        found[f"chain {name}"] = Workload([shaped(size)], lambda x: chain(tf, x), chain)
    found["gelu 1M"] = Workload([shaped(1_000_000)], lambda x: gelu(tf, x), gelu)
    found["softmax 4096x1000"] = Workload([shaped(4096, 1000)], tf_softmax, softmax)
    for name, sizes in (("small", (64, 784, 128, 10)), ("large", (1024, 4096, 4096, 1000))):
        rows, ins, hidden, outs = sizes
        shapes = [shaped(*one) for one in ((rows, ins), (ins, hidden), (hidden,), (hidden, outs))]
        found[f"training step {name}"] = Workload(shapes, tf_step, step)
    found["loop 100x 1k"] = Workload([shaped(1000)], tf_loop, loop)
    return found


# -- sides: each gives a function that computes once and waits for the GPU ------------------------


def tfnb_side(workload: Workload) -> tuple[Side, Callable[[], Any]]:
    """Run tfnb with the arrays in variables on the GPU; return the function and its result."""
    graph = tf.Graph()
    with graph.as_default(), tf.device("/gpu:0"):
        variables = [
            tf.get_variable(f"v{i}", initializer=one, use_resource=True)
            for i, one in enumerate(workload.inputs)
        ]
        result = workload.graph(*[one.read_value() for one in variables])
        start = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(start)
    return session.make_callable(result.op), lambda: session.run(result)


def cupy_side(workload: Workload) -> tuple[Side, Callable[[], Any]]:
    """Run CuPy in a separate stream."""
    cupy = array_module.cupy_module()
    with cupy.cuda.Device(0):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            arrays = [cupy.asarray(one) for one in workload.inputs]

    def run() -> Any:
        with cupy.cuda.Device(0), stream:
            found = workload.by_hand(cupy, *arrays)
            done = cupy.cuda.Event(block=True, disable_timing=True)
            done.record(stream)
        done.synchronize()
        return found

    def value() -> Any:
        with cupy.cuda.Device(0), stream:
            return run().get()

    return run, value


def torch_side(workload: Workload, *, compiled: bool) -> tuple[Side, Callable[[], Any]]:
    """Run PyTorch, eagerly or compiled."""
    torch = importlib.import_module("torch")
    arrays = [torch.from_numpy(one).cuda() for one in workload.inputs]

    class AsNumPy:
        """PyTorch under NumPy's names."""

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

    def compute(*args: Any) -> Any:
        return workload.by_hand(AsNumPy(), *args)

    function = torch.compile(compute) if compiled else compute

    def run() -> Any:
        with torch.no_grad():
            found = function(*arrays)
        torch.cuda.synchronize()
        return found

    return run, lambda: run().cpu().numpy()


def jax_side(workload: Workload) -> tuple[Side, Callable[[], Any]]:
    """Run JAX, compiled."""
    jax = importlib.import_module("jax")
    arrays = [jax.device_put(one, jax.devices("gpu")[0]) for one in workload.inputs]
    function = jax.jit(lambda *args: workload.by_hand(jax.numpy, *args))
    return lambda: function(*arrays).block_until_ready(), lambda: np.asarray(function(*arrays))


def sides_of(workload: Workload, *, compiled: bool) -> dict[str, tuple[Side, Any]]:
    """Return the sides that are installed and find the GPU."""
    found: dict[str, tuple[Side, Any]] = {
        "tfnb": tfnb_side(workload),
        "CuPy": cupy_side(workload),
    }
    makers: dict[str, Callable[[], Any]] = {
        "PyTorch": lambda: torch_side(workload, compiled=False),
        "JAX": lambda: jax_side(workload),
    }
    if compiled:
        makers["torch.compile"] = lambda: torch_side(workload, compiled=True)
    for name, make in makers.items():
        try:
            side = make()
            side[0]()
            found[name] = side
        except Exception as error:  # not installed, or not for GPUs
            print(f"  without {name}: {type(error).__name__}: {error}"[:100], file=sys.stderr)
    return found


def differences(values: Mapping[str, Any]) -> list[str]:
    """Return which sides have other results than the first."""
    (_, first), *others = values.items()
    return [name for name, value in others if not np.allclose(value, first, rtol=1e-3, atol=1e-4)]


def measure(sides: Mapping[str, Side], rounds: int) -> dict[str, float]:
    """Return the median time of a call, in microseconds, by side."""
    names, times = list(sides), {name: [] for name in sides}  # type: ignore[var-annotated]
    for run in sides.values():
        for _ in range(5):  # compiled, captured
            run()
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            begin = time.perf_counter()
            sides[name]()
            times[name].append((time.perf_counter() - begin) * 1e6)
    return {name: statistics.median(found) for name, found in times.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="tfnb on a GPU against others.")
    parser.add_argument("--only", default="", help="parts of names, with commas between")
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--compile", action="store_true", help="PyTorch compiled, too")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args(arguments)
    missing = array_module.missing_gpu()
    if missing:
        print(f"There is no GPU to measure: {missing}.", file=sys.stderr)
        return 1
    wanted = [one for one in options.only.split(",") if one]
    attributes = array_module.cupy_module().cuda.runtime.getDeviceProperties(0)
    report: dict[str, Any] = {
        "gpu": attributes["name"].decode(),
        "python": platform.python_version(),
        "cupy": array_module.cupy_module().__version__,
        "workloads": {},
    }
    print(report["gpu"])
    for name, workload in workloads().items():
        if wanted and not any(one in name for one in wanted):
            continue
        sides = sides_of(workload, compiled=options.compile)
        wrong = differences({side: value() for side, (_, value) in sides.items()})
        if wrong:
            print(f"{name}: {', '.join(wrong)} compute something else", file=sys.stderr)
            return 1
        times = measure({side: run for side, (run, _) in sides.items()}, options.rounds)
        report["workloads"][name] = times
        columns = "  ".join(
            f"{side} {taken:10.1f}" + ("" if side == "tfnb" else f" ({times['tfnb'] / taken:4.2f})")
            for side, taken in times.items()
        )
        print(f"{name:24} {columns}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
