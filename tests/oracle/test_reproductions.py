"""Programs of a Markdown file are replayed, and compared with the stored answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts/oracle/reproductions.py"
_FILE = """# Reproductions

```
### equal (same)
show(lambda: tf.Session().run(tf.constant(3)))
print(tf.Graph())
  [tfnb]    np.int32(3)
       <tfnb.Graph object at 0x7f0123456789>
  [TF]    np.int32(3)
       <tensorflow.python.framework.ops.Graph object at 0x7f9876543210>
### other words
show(lambda: tf.constant("a", tf.int32))
  [tfnb]    !! TypeError Expected int32, but got 'a' of type 'str'.
  [TF]    !! TypeError Got a.
### another answer
show(lambda: tf.Session().run(tf.constant(3)))
  [tfnb]    np.int32(3)
  [TF]    !! ValueError It is three.
```

```
### one that is cut
show(lambda: tf.constant('{cut}
  [tfnb]    3
  [TF]    3
### runs on
while True: pass
  [tfnb] HANG
  [TF] 3
```
"""


def _replayed(tmp_path: Path, *options: str) -> tuple[int, list[str]]:
    """Replay the programs of the file; return the exit status and the printed lines."""
    file = tmp_path / "programs.md"
    file.write_text(_FILE.replace("{cut}", "x" * (500 - len("show(lambda: tf.constant('"))))
    command = [sys.executable, str(_SCRIPT), str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.mark.slow
def test_what_differs_is_printed_and_counted(tmp_path: Path) -> None:
    """Equal answers are only counted; programs that the file cuts short are left out."""
    status, lines = _replayed(tmp_path, "--only", "e")
    assert status == 1
    assert lines[-1] == (
        "3 programs: 1 equal, 1 differ in words of errors, "
        "1 in answers; 1 are cut short in the file"
    )
    assert [line for line in lines if line.startswith("###")] == [
        "### other words (words differ)",
        "### another answer (answers differ)",
    ]


@pytest.mark.slow
def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    """The other programs of the file still run."""
    _, lines = _replayed(tmp_path, "--only", "runs on", "--seconds", "1")
    assert "       HANG: did not end in 1 s" in lines
