"""``python -m tests.cases FOLDER``: replays a folder's cases, prints how many ran and passed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.cases.replay import Replay, missing_ops


def main(arguments: list[str]) -> int:
    """Replays every case whose id contains one of the words behind the folder."""
    folder, words = Path(arguments[0]), arguments[1:]
    ran = passed = unknown = 0
    for path in sorted(folder.glob("**/case.json")):
        name = path.parent.name
        if words and not any(word in name for word in words):
            continue
        missing = missing_ops(path.parent)
        if missing:
            unknown += 1
            print(f"----  {name}: ops not known: {', '.join(missing)}")
            continue
        ran += 1
        start = time.perf_counter()
        try:
            Replay(path.parent).run()
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            print(f"FAIL  {name}: {reason}", flush=True)
        else:
            passed += 1
            print(f"pass  {name}  {time.perf_counter() - start:.2f} s", flush=True)
    print(f"{ran} ran, {passed} passed, {unknown} need ops that are not known")
    return int(passed < ran)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
