"""One module's models, built, checked and timed block by block on commands of the runner.

Run by the interpreter under test::

    PYTHON benchmarks/models/server.py --serve --module tensorflow.compat.v1 --threads 2

It reads one JSON command per line and writes one answer per line: ``meta``, ``open``, ``export``,
``block``, ``breakdown``, ``close``.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import platform
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.models.packages import Writer, elements_of, feeds_of, plan_of
from benchmarks.models.programs import programs

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRACED = 5


class Server:
    """The models of one module; one is open at a time."""

    def __init__(self, tf: Any, threads: int) -> None:
        self.tf, self._threads = tf, threads
        self._session: Any = None
        self._graph: Any = None
        self._steps: dict[str, tuple[list[Any], dict[Any, Any]]] = {}
        self._counts: dict[str, int] = {}
        self._checked: dict[Any, Any] = {}
        self._settings: dict[str, Any] = {}

    def meta(self) -> dict[str, Any]:
        """Return versions."""
        pools: list[dict[str, Any]] = []
        with contextlib.suppress(ImportError):
            pools = importlib.import_module("threadpoolctl").threadpool_info()
        keys = ("internal_api", "version", "architecture", "num_threads")
        return {
            "version": self.tf.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pools": [{key: pool.get(key) for key in keys} for pool in pools],
        }

    def open(self, name: str, folder: str, answers: str) -> dict[str, Any]:
        """Build a program, or import a package, and store its answers in a file.

        Args:
          name: of a program; "" imports the package instead.
          folder: of the package.
          answers: a file for the arrays of an inference step, of three training steps, and of an
            inference step after them.
        """
        self.close()
        begun = time.perf_counter()
        self._graph = self.tf.Graph()
        with self._graph.as_default():
            setup = self._build(name) if name else self._import(Path(folder))
        built = time.perf_counter() - begun
        self._session = self.tf.Session(graph=self._graph, config=self._config())
        for wanted, feeds in setup:
            self._session.run(wanted, feeds)
        with open(answers, "wb") as file:
            for array in self._answers():
                np.save(file, array, allow_pickle=True)
        self._counts = {step: self._calibrate(step) for step in self._steps}
        return {"build": built, "steps": list(self._steps)}

    def _config(self) -> Any:
        config = self.tf.ConfigProto(**self._settings)
        if self._threads:
            config.intra_op_parallelism_threads = self._threads
            config.inter_op_parallelism_threads = self._threads
        return config

    def _build(self, name: str) -> list[tuple[list[Any], dict[Any, Any]]]:
        model = programs()[name].build(self.tf)
        self._steps["run"] = (model.answers, model.feeds)
        self._checked = model.checked
        if model.train_op is not None:
            self._steps["train"] = ([model.loss, model.train_op], model.feeds)
        return [([self.tf.global_variables_initializer()], {})]

    def _import(self, folder: Path) -> list[tuple[list[Any], dict[Any, Any]]]:
        graph, plan = self._graph, plan_of(folder)
        self._settings = plan["config"]
        definition = self.tf.GraphDef()
        definition.ParseFromString((folder / "graph.pb").read_bytes())
        self.tf.import_graph_def(definition, name="")
        for name in ("run", "train"):
            if plan[name]:
                step = plan[name]
                self._steps[name] = (elements_of(step, graph), feeds_of(folder, step, graph))
        return [(elements_of(one, graph), feeds_of(folder, one, graph)) for one in plan["setup"]]

    def _answers(self) -> list[Any]:
        found = [*self._run("run", self._checked)]
        if "train" in self._steps:
            found += [self._run("train", self._checked)[0] for _ in range(3)]
            found += self._run("run", self._checked)
        return [np.asarray(array) for array in found if array is not None]

    def _run(self, step: str, other_feeds: Mapping[Any, Any] = MappingProxyType({})) -> Any:
        wanted, feeds = self._steps[step]
        return self._session.run(wanted, {**feeds, **other_feeds})

    def export(self, folder: str) -> dict[str, Any]:
        """Write the open program as a package."""
        writer = Writer(Path(folder))
        plan: dict[str, Any] = {"config": {}, "train": None}
        for name, (wanted, feeds) in self._steps.items():
            tensors = [one for one in wanted if isinstance(one, self.tf.Tensor)]
            ops = [one.name for one in wanted if not isinstance(one, self.tf.Tensor)]
            by_name = {tensor.name: value for tensor, value in feeds.items()}
            plan[name] = writer.step(by_name, [one.name for one in tensors], ops)
        definition = self._graph.as_graph_def()
        # The op that runs all initializers is the last one of its type.
        setup = [node.name for node in definition.node if node.op == "NoOp"][-1]
        plan["setup"] = [writer.step({}, [], [setup])]
        writer.finish(definition, plan)
        return {}

    def _calibrate(self, step: str) -> int:
        """Warm a step up; return how many calls take about as long as a block."""
        warm = time.perf_counter() + _SECONDS_OF_WARM_UP
        for _ in range(_MOST_WARM_UP):
            self._run(step)
            if time.perf_counter() > warm:
                break
        begun = time.perf_counter()
        self._run(step)
        return max(1, int(0.03 / max(time.perf_counter() - begun, 1e-6)))

    def block(self, step: str) -> dict[str, Any]:
        """Return the mean wall time and processor time of a step."""
        wanted, feeds = self._steps[step]
        run, count = self._session.run, self._counts[step]
        gc.collect()
        run(wanted, feeds)
        cpu, begun = time.process_time(), time.perf_counter()
        for _ in range(count):
            run(wanted, feeds)
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
        return {"value": wall / count, "cpu": cpu / count}

    def breakdown(self, step: str) -> dict[str, Any]:
        """Return calls and seconds by type of op, medians of some traced steps."""
        wanted, feeds = self._steps[step]
        options = self.tf.RunOptions(trace_level=self.tf.RunOptions.FULL_TRACE)
        seconds: dict[str, list[float]] = defaultdict(list)
        calls: dict[str, int] = {}
        for _ in range(_TRACED):
            metadata = self.tf.RunMetadata()
            self._session.run(wanted, feeds, options=options, run_metadata=metadata)
            for op, (count, total) in op_times(metadata.step_stats).items():
                seconds[op].append(total)
                calls[op] = count
        return {
            "ops": {op: [calls[op], statistics.median(all_)] for op, all_ in seconds.items()},
            "step": statistics.median(self.block(step)["value"] for _ in range(5)),
        }

    def close(self) -> dict[str, Any]:
        """Close the session of the open model."""
        if self._session is not None:
            self._session.close()
        self._session = self._graph = None
        self._steps, self._checked, self._settings = {}, {}, {}
        return {}


# Limits of the warm-up of a step: its seconds and its runs, the same for both modules.
_SECONDS_OF_WARM_UP, _MOST_WARM_UP = 0.5, 100


def op_times(step_stats: Any) -> dict[str, tuple[int, float]]:
    """Return calls and seconds by type of op, read from the labels ``name = Op(inputs)``."""
    found: dict[str, tuple[int, float]] = {}
    for device in step_stats.dev_stats:
        for record in device.node_stats:
            _, equals, call = record.timeline_label.partition(" = ")
            op = call.partition("(")[0]
            if not equals or record.node_name == "_SOURCE":
                continue
            count, total = found.get(op, (0, 0.0))
            nanos = record.op_end_rel_nanos - record.op_start_rel_nanos
            micros = record.op_end_rel_micros - record.op_start_rel_micros
            found[op] = (count + 1, total + (nanos / 1e9 if nanos else micros / 1e6))
    return found


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--module", required=True)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    tf = importlib.import_module(options.module)
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    server = Server(tf, options.threads)
    verbs = {
        name: getattr(server, name)
        for name in ("meta", "open", "export", "block", "breakdown", "close")
    }
    for line in sys.stdin:
        fields = json.loads(line)
        verb = fields.pop("do")
        try:
            answer = verbs[verb](**fields)
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            answer = {"error": f"{type(error).__name__}: {text}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
