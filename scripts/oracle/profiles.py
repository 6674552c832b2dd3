"""Store the answers of TensorFlow's profiler: tests/golden/profiles.json.xz.

    python scripts/oracle/profiles.py        needs TensorFlow

The graphs and requests are those of tests/client/profiler/models.py.
"""

from __future__ import annotations

import base64
import contextlib
import json
import lzma
import os
import sys
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from tensorflow.core.profiler import tfprof_log_pb2  # noqa: E402

from tests.client.profiler import models  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

tf.disable_v2_behavior()

OUT = ROOT / "tests/golden/profiles.json.xz"


@contextlib.contextmanager
def printed() -> Iterator[list[str]]:
    """Capture standard output and standard error, including those of C++."""
    found: list[str] = []
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        sys.stdout.flush()
        os.dup2(out.fileno(), 1)
        os.dup2(error.fileno(), 2)
        try:
            yield found
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for file, number, target in ((out, kept[0], 1), (error, kept[1], 2)):
                os.dup2(number, target)
                os.close(number)
                file.seek(0)
                found.append(file.read().decode())


def metadata_of(fetch: Any, feeds: dict[str, list[int]]) -> Any:
    """Return the metadata of a traced run, on one processor."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        session.run("init")
        values = {name: np.ones(shape, np.float32) for name, shape in feeds.items()}
        for _ in range(2):
            session.run(fetch, values, options=options, run_metadata=metadata)
    metadata.ClearField("partition_graphs")
    return metadata


def steps_of_profiler(metadata: Any) -> dict[str, str]:
    """Return a Profiler's results for two steps."""
    profiler = tf.profiler.Profiler()
    wish = models.wishes(tf)["everything"]
    wish["output"] = "none"
    profiler.add_step(3, metadata)
    profiler.add_step(7, metadata)
    profiler.add_step(7, models.told_by_gpu(tf))
    found = {}
    for step in (-1, 3, 7):
        wish["step"] = step
        found[f"scope {step}"] = models.text_of(profiler.profile_name_scope(wish))
        found[f"graph {step}"] = models.text_of(profiler.profile_graph(wish))
        found[f"op {step}"] = models.text_of(profiler.profile_operations(wish))
    known = tfprof_log_pb2.ProfileProto.FromString(profiler.serialize_to_string())
    return {**found, "known": models.known(known)}


def refusals() -> list[Any]:
    """Return the answers to wrong options."""
    found = []
    for wrong in models.BAD:
        with printed() as texts:
            answer = models.refusal(tf, wrong, "scope")
        found.append([answer, texts[0], models.said(texts[1])])
    with printed() as texts:
        answer = models.refusal(tf, {}, "nothing")
    return [*found, [answer, texts[0], models.said(texts[1])]]


def log(metadata: Any) -> str:
    """Return the output of write_op_log, without the places where nodes were made."""
    with tempfile.TemporaryDirectory() as folder:
        log = models.log_of(tf)
        tf.profiler.write_op_log(None, folder, log, metadata, add_trace=False)
        data = Path(folder, "tfprof_log").read_bytes()
    return models.text_of(tf.profiler.OpLogProto.FromString(data))


def main() -> None:
    """Run and store all requests."""
    cases: dict[str, Any] = {}
    runs: dict[str, str] = {}
    for name, (_, feeds) in models.MODELS.items():
        with tf.Graph().as_default():
            fetch = models.build(tf, name)
            told = {"": None}
            if feeds:
                metadata = metadata_of(fetch, feeds)
                data = zlib.compress(metadata.SerializeToString(deterministic=True), 9)
                runs[name] = base64.b85encode(data).decode()
            for asked in models.questions(tf, name):
                if asked.run and "run" not in told:
                    told["run"] = metadata
                    told["gpu"] = models.told_by_gpu(tf)
                with printed() as texts:
                    message = models.ask(tf, asked, told.get(asked.run))
                cases[asked.name] = models.answer(asked, message, *texts)
            if name == "open_batch":
                cases["steps"] = steps_of_profiler(metadata)
                cases["refusals"] = refusals()
                cases["log"] = log(metadata)
                with printed() as texts:
                    told = tf.profiler.advise(run_meta=models.told_by_gpu(tf))
                cases["advice"] = {name: [*told.checkers[name].reports] for name in told.checkers}
    text = json.dumps({"runs": runs, "cases": cases}, indent=0)
    OUT.write_bytes(lzma.compress(text.encode(), preset=9))
    print(f"{len(cases)} cases, {OUT.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
