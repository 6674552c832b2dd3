"""End a client and go on with its session in another one, on a server of each library.

``python scripts/oracle/clusters/attached.py TENSORFLOW`` names a Python that has TensorFlow. The
first client keeps its session and ends without closing it, as a kernel that is restarted; the
second one attaches it, and finds the graph and the variable. Both clients are tfnb's: TensorFlow's
has no such call. The exit status is 1 if one of the servers does not answer as expected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from two_libraries import main_of, unused_ports

_WANTED = "[2.0, 3.0] 7.0"


def run(tf: Any, target: str, file: str) -> None:
    """Be a client: the first one if no session was kept."""
    if not Path(file).exists():
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        sess = tf.Session(target)
        sess.run(v.initializer)
        sess.keep(file)
        sess.run(tf.assign_add(v, [1.0, 1.0], name="add"))
        sys.stdout.flush()
        os._exit(0)
    with tf.Session.attach(file) as sess:
        read = sess.graph.get_tensor_by_name("v:0")
        values = sess.run(read).tolist()
        more = tf.reduce_sum(read) + 2.0  # the graph grows
        print(values, sess.run(more), flush=True)


def compare(tensorflow: str) -> int:
    """Print a line for each server; return how many differ."""
    num_different = 0
    for name, python in {"tensorflow": tensorflow, "tfnb": sys.executable}.items():
        address = f"localhost:{unused_ports(1)[0]}"
        spec = repr({"worker": [address]})
        server = subprocess.Popen(
            [python, __file__, "--serve", name, spec, "worker", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            server.stdout.readline()
            client = [sys.executable, __file__, "--client", "tfnb", f"grpc://{address}"]
            file = os.path.join(tempfile.mkdtemp(), "kept.session")
            for _ in range(2):
                done = subprocess.run([*client, file], capture_output=True, text=True, timeout=300)
            found = done.stdout.strip() or done.stderr[-500:]
            num_different += found != _WANTED
            print(f"server of {name}: {found}", flush=True)
        finally:
            server.kill()
            server.wait()
    return num_different


if __name__ == "__main__":
    sys.exit(main_of(__doc__, compare, run, 2))
