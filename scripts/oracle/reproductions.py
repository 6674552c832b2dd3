"""Replay the programs of a Markdown file with tfnb, and report answers that differ.

``python scripts/oracle/reproductions.py FILE`` reads programs of the form that
``tests/client/replay.py`` describes. With ``--tensorflow PYTHON`` that Python, which has
TensorFlow, answers them again, and with ``--write`` its answers are written into the file. Each
program runs in a separate process. Answers that fail with the same class and another text are
counted separately.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.client.replay import (  # noqa: E402
    INDENT,
    OWN,
    TENSORFLOW,
    Program,
    difference,
    is_whole,
    programs,
    run_here,
)


def written(lines: list[str], prefix: str) -> str:
    """Return an answer in the form of the file."""
    return prefix + f"\n{INDENT}".join(lines) + "\n"


def run(program: Program, tf: Any, seconds: float) -> str:
    """Run a program in a separate process; return its output, or that it did not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        # Standard output carries the answers.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            answer = run_here(program, tf)
        except BaseException:
            answer = traceback.format_exc()
        with os.fdopen(writer, "w") as file:
            file.write(answer)
        os._exit(0)
    os.close(writer)
    parts, until = [], time.monotonic() + seconds
    while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            break
        parts.append(part)
    else:
        os.kill(child, signal.SIGKILL)
        parts.append(f"\nHANG: did not end in {seconds:g} s".encode())
    os.close(reader)
    status = os.waitpid(child, 0)[1]
    answer = b"".join(parts).decode()
    return answer or f"DIED: ended with signal {os.WTERMSIG(status)}"


def library(name: str) -> Any:
    """Import the library that answers."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if name == "tfnb":
        import tfnb as tf
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
        tf.logging.set_verbosity(tf.logging.FATAL)
    return tf


def answers(python: str, name: str, chosen: list[Program], seconds: float) -> list[list[str]]:
    """Run the programs with a library in a process of the given Python; return their output."""
    asked = json.dumps([list(program) for program in chosen])
    command = [python, __file__, "--answer", name, "--seconds", str(seconds)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python} could not ask {name}:\n{done.stderr}")
    return [text.split("\n") for text in json.loads(done.stdout)]


def main() -> None:
    """Compare, and print the differences and their number; return 1 if there are any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--tensorflow", metavar="PYTHON", help="ask the TensorFlow of this Python")
    parser.add_argument("--write", action="store_true", help="write TensorFlow's answers")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs with TEXT in the name")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long a program may take")
    parser.add_argument("--answers", action="store_true", help="leave out where only words differ")
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        asked = [Program(*one) for one in json.load(sys.stdin)]
        tf = library(options.answer)
        json.dump([run(one, tf, options.seconds) for one in asked], sys.stdout)
        return
    if options.file is None:
        parser.error("which file?")
    read = programs(options.file.read_text(encoding="utf-8"))
    chosen = [one for one in read if options.only in one.name]
    whole = [one for one in chosen if is_whole(one)]
    found = answers(sys.executable, "tfnb", whole, options.seconds)
    expected = [one.answer for one in whole]
    if options.tensorflow:
        expected = answers(options.tensorflow, "tensorflow", whole, options.seconds)
    if options.write:
        title = options.file.read_text(encoding="utf-8").partition("### ")[0]
        parts = [f"### {one.name}\n{one.code}" for one in whole]
        parts = [part + written(lines, TENSORFLOW) for part, lines in zip(parts, expected)]
        options.file.write_text(title + "".join(parts) + "```\n", encoding="utf-8")
    counts = {"": 0, "words": 0, "answers": 0}
    for program, ours, theirs in zip(whole, found, expected):
        kind = difference(ours, theirs)
        counts[kind] += 1
        if not kind or (options.answers and kind == "words"):
            continue
        sys.stdout.write(f"### {program.name} ({kind} differ)\n{program.code}")
        sys.stdout.write(written(ours, OWN) + written(theirs, TENSORFLOW))
    cut = (
        f"; {len(chosen) - len(whole)} are cut short in the file"
        if len(whole) < len(chosen)
        else ""
    )
    sys.stdout.write(
        f"{len(whole)} programs: {counts['']} equal, {counts['words']} differ in words of errors, "
        f"{counts['answers']} in answers{cut}\n"
    )
    raise SystemExit(int(counts["words"] + counts["answers"] > 0))


if __name__ == "__main__":
    main()
