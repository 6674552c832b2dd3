"""Readers of checkpoints by name."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.files import leveldb_table


@pytest.mark.parametrize("version", [tf.train.SaverDef.V1, tf.train.SaverDef.V2])
def test_a_reader_reads_the_list_of_tensors_once(version, tmp_path, monkeypatch):
    """The time for all tensors does not grow with the square of their number."""
    with tf.Graph().as_default(), tf.Session() as session:
        for number in range(4):
            tf.get_variable(f"v{number}", initializer=np.full(3, number, np.float32))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver(write_version=version).save(session, str(tmp_path / "model"))
    read_table, reads = leveldb_table.read_table, []

    def counted(data):
        reads.append(len(data))
        return read_table(data)

    monkeypatch.setattr(leveldb_table, "read_table", counted)
    reader = tf.train.NewCheckpointReader(path)
    for number in range(4):
        np.testing.assert_array_equal(reader.get_tensor(f"v{number}"), np.full(3, number))
    assert len(reads) == 1
