"""Runs fresh random graphs in TensorFlow and in tfnb and counts agreements.

    python -m tests.random_graphs PYTHON [--count N] [--seed S] [--optimize] [--show]

PYTHON is the interpreter of an environment with TensorFlow. Prints each disagreement, TensorFlow
left of the bar, and the sums.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter

import tfnb
from tests.random_graphs.answers import answer_of, differences
from tests.random_graphs.generator import case_of_seed
from tests.random_graphs.oracle import Oracle


def main(arguments: list[str]) -> int:
    """Compare; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_graphs")
    parser.add_argument("python", help="an interpreter with TensorFlow")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--optimize", action="store_true", help="with grappler and all passes")
    parser.add_argument("--show", action="store_true", help="print the cases and the answers")
    options = parser.parse_args(arguments)
    sums: Counter[str] = Counter()
    with Oracle(options.python) as oracle:
        for seed in range(options.seed, options.seed + options.count):
            case = case_of_seed(seed)
            wanted = oracle.answer(case, options.optimize)
            if isinstance(wanted, str):
                sums[wanted] += 1
                print(f"{seed}: TensorFlow {wanted} {case.notes}", flush=True)
                continue
            got = json.loads(json.dumps(answer_of(tfnb, case, options.optimize)))
            if options.show:
                for node in case.nodes:
                    print(node.name, node.op, node.inputs, node.device, node.attrs)
                print(*case.steps, json.dumps(wanted), json.dumps(got), sep="\n")
            lines = differences(case, wanted, got, not options.optimize, not options.optimize)
            if lines and oracle.varies(case, options.optimize, wanted):
                sums["varies"] += 1
                print(f"{seed}: TensorFlow varies, seldom {case.notes}", flush=True)
                continue
            sums["disagree" if lines else "agree"] += 1
            sums["failed alike"] += not lines and any("error" in step for step in wanted)
            sums["dead alike"] += not lines and any(step.get("dead") for step in wanted)
            if lines:
                odd = " odd" if case.is_odd else ""
                print(f"{seed}:{odd} {len(case.nodes)} nodes {case.notes}")
                print(*(f"    {line[:400]}" for line in lines[:6]), sep="\n", flush=True)
    print(dict(sums))
    return int(bool(sums["disagree"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
