"""What scripts need that run one program with tfnb and with TensorFlow, in processes of each."""

from __future__ import annotations

import argparse
import ast
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[3]


def library(name: str) -> Any:
    """Return the library of this process: ``tfnb`` or ``tensorflow``, without eager mode."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if name == "tfnb":
        sys.path.insert(0, str(ROOT))
        import tfnb

        return tfnb
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    return tf


def unused_ports(count: int) -> list[int]:
    """Return ports that nothing used a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def serve(tf: Any, spec: dict[str, list[str]], job: str, index: int = 0) -> None:
    """Be one task until the process is ended."""
    server = tf.train.Server(tf.train.ClusterSpec(spec), job_name=job, task_index=index)
    print("up", flush=True)
    server.join()


def main_of(
    doc: str, compare: Callable[[str], int | None], client: Callable[..., None], num_arguments: int
) -> int:
    """Compare, or be a server or a client of the comparison; return the exit status.

    ``--serve LIBRARY SPEC JOB INDEX`` is a server; ``--client LIBRARY ...`` a client.

    Args:
      doc: the description of the script.
      compare: is called with a Python that has TensorFlow; returns how much differs.
      client: is called with the library and the arguments of the client.
      num_arguments: how many these are.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("tensorflow", nargs="?", help="a Python that has TensorFlow")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--client", nargs=1 + num_arguments, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        kind, spec, job, index = args.serve
        serve(library(kind), ast.literal_eval(spec), job, int(index))
    elif args.client:
        client(library(args.client[0]), *args.client[1:])
    else:
        return compare(args.tensorflow) or 0
    return 0
