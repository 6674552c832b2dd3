"""Compare event files and TFRecord files with TensorFlow's, in both directions.

TensorFlow writes files that the tests in ``tests/client/files`` read
(``tests/golden/event_files.json``, bytes in base64), and TensorFlow reads files of tfnb.

    python scripts/oracle/event_files.py          # in an environment with TensorFlow
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import tfnb  # noqa: E402

RECORDS = [b"", b"one", bytes(range(256)) * 40]
KINDS = ("", "ZLIB", "GZIP")


def write_events(api: Any, directory: str) -> Path:
    """Write one event of each kind with either library."""
    with api.Graph().as_default() as graph:
        total = api.placeholder(api.float32, [2], name="x")
        merged = api.summary.merge(
            [api.summary.scalar("loss", total[0]), api.summary.histogram("weights", total)]
        )
        text = api.summary.text("note", api.constant("hello"))
        writer = api.summary.FileWriter(directory, graph, filename_suffix=".end")
        with api.Session() as sess:
            for step in range(3):
                data, note = sess.run([merged, text], {total: [step, step + 0.5]})
                writer.add_summary(data, step)
                writer.add_summary(note, step)
        writer.add_session_log(api.SessionLog(status=api.SessionLog.START), 3)
        writer.add_run_metadata(api.RunMetadata(), "run", 4)
        writer.close()
    (path,) = Path(directory).iterdir()
    return path


def outline(events: Any) -> list[Any]:
    """Return the parts that must be equal in both files: everything but times and hosts."""
    found: list[Any] = []
    for event in events:
        kind = event.WhichOneof("what")
        entry: list[Any] = [event.step, kind]
        if kind == "summary":
            for value in event.summary.value:
                entry += [
                    value.tag,
                    value.WhichOneof("value"),
                    value.simple_value,
                    str(value.metadata),
                    [*list(value.histo.bucket), value.histo.num, value.histo.sum],
                ]
        elif kind == "file_version":
            entry += [event.file_version, event.source_metadata.writer]
        elif kind == "session_log":
            entry += [event.session_log.status]
        elif kind == "tagged_run_metadata":
            entry += [event.tagged_run_metadata.tag]
        found.append(entry)
    return found


def main() -> None:
    """Write, read, compare and store the files."""
    tf.disable_v2_behavior()
    stored: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        theirs_path, ours_path = write_events(tf, theirs), write_events(tfnb, ours)
        expected = outline(tf.train.summary_iterator(str(theirs_path)))
        assert outline(tf.train.summary_iterator(str(ours_path))) == expected, "events differ"
        assert outline(tfnb.train.summary_iterator(str(theirs_path))) == expected, "misread"
        nodes = [
            tf.GraphDef.FromString(event.graph_def).node
            for path in (theirs_path, ours_path)
            for event in tf.train.summary_iterator(str(path))
            if event.WhichOneof("what") == "graph_def"
        ]
        assert [n.name for n in nodes[0]] == [n.name for n in nodes[1]], "graphs differ"
        assert ours_path.name.split(".")[:3] == theirs_path.name.split(".")[:3]
        stored["events"] = base64.b64encode(theirs_path.read_bytes()).decode()
        stored["outline"] = expected
        for kind in KINDS:
            path = str(Path(ours) / f"records{kind}")
            with tfnb.io.TFRecordWriter(path, kind) as writer:
                for record in RECORDS:
                    writer.write(record)
            found = list(tf.io.tf_record_iterator(path, tf.io.TFRecordOptions(kind)))
            assert found == RECORDS, kind
            path = str(Path(theirs) / f"records{kind}")
            with tf.io.TFRecordWriter(path, kind) as writer:
                for record in RECORDS:
                    writer.write(record)
            stored[f"records{kind}"] = base64.b64encode(Path(path).read_bytes()).decode()
    text = json.dumps(stored, indent=1, sort_keys=True)
    (ROOT / "tests" / "golden" / "event_files.json").write_text(text + "\n")
    print("both directions agree")


if __name__ == "__main__":
    main()
