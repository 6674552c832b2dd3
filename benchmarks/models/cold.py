"""One package in a fresh process, from its start to the first answer.

    PYTHON -P cold.py MODULE PACKAGE START_NS

``START_NS`` is the monotonic clock when the process was started. The process prints one JSON line
of seconds and bytes: ``import`` of the module, ``graph`` (reading the file and import_graph_def),
``first`` (opening the session, its setup, the first run), ``answer`` (from the start of the process
to the first answer), ``cpu`` (processor time up to there) and ``peak`` (of resident memory, after
further steps). It imports nothing else before the answer, in order not to be measured itself.
"""

import importlib
import json
import sys
import time
from typing import Any


def main() -> None:
    """Measure the package that the command line names."""
    module, folder, start_ns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    begun = time.perf_counter()
    tf = importlib.import_module(module)
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    import numpy as np

    imported = time.perf_counter()
    with open(f"{folder}/plan.json") as file:
        plan = json.load(file)
    definition = tf.GraphDef()
    with open(f"{folder}/graph.pb", "rb") as file:
        definition.ParseFromString(file.read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    loaded = time.perf_counter()
    session = tf.Session(graph=graph, config=tf.ConfigProto(**plan["config"]))

    def run(step: dict[str, Any]) -> None:
        feeds = {
            graph.get_tensor_by_name(name): np.load(f"{folder}/{file}", allow_pickle=True)
            for name, file in step["feeds"].items()
        }
        wanted = [graph.as_graph_element(name) for name in (*step["fetches"], *step["targets"])]
        session.run(wanted, feeds)

    for step in (*plan["setup"], plan["run"]):
        run(step)
    answered, cpu = time.perf_counter(), time.process_time()
    answer = (time.monotonic_ns() - start_ns) / 1e9
    for _ in range(3):
        run(plan["run"])
        if plan["train"]:
            run(plan["train"])
    with open("/proc/self/status") as file:
        peak = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    found = {
        "import": imported - begun,
        "graph": loaded - imported,
        "first": answered - loaded,
        "answer": answer,
        "cpu": cpu,
        "peak": peak,
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
