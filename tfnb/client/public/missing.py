"""What to say when a public name does not exist."""

from __future__ import annotations

from functools import cache

_GRAPHS_ONLY = "tfnb runs graphs; there is no eager mode"

# Names that went away or came later, and what to write instead.
_REPLACED = {
    "tf.contrib": (
        "TensorFlow dropped it; most of what models use lives on: contrib.rnn in tf.nn.rnn_cell, "
        "contrib.layers in tf.layers (xavier_initializer is tf.glorot_uniform_initializer, "
        "l2_regularizer a function of tf.nn.l2_loss), contrib.lookup in tf.lookup, contrib.data "
        "in tf.data, contrib.framework in tf.train, contrib.metrics in tf.metrics"
    ),
    "tf.function": f"{_GRAPHS_ONLY}: build the ops once and run them with tf.Session",
    "tf.GradientTape": f"{_GRAPHS_ONLY}: use tf.gradients(ys, xs)",
    "tf.keras": "use tf.layers and tf.nn",
    "tf.nn.rnn": "use tf.nn.static_rnn or tf.nn.dynamic_rnn",
    "tf.nn.bidirectional_rnn": "use tf.nn.static_bidirectional_rnn",
    "tf.nn.state_saving_rnn": "use tf.nn.static_state_saving_rnn",
    "tf.nn.seq2seq": "write the decoder with a cell of tf.nn.rnn_cell and tf.nn.raw_rnn",
    "tf.layers.fully_connected": "use tf.layers.dense",
    "tf.mul": "use tf.multiply",
    "tf.sub": "use tf.subtract",
    "tf.neg": "use tf.negative",
    "tf.inv": "use tf.reciprocal",
    "tf.pack": "use tf.stack",
    "tf.unpack": "use tf.unstack",
    "tf.select": "use tf.where",
    "tf.listdiff": "use tf.setdiff1d",
    "tf.complex_abs": "use tf.abs",
    "tf.batch_matmul": "use tf.matmul",
    "tf.batch_cholesky": "use tf.cholesky",
    "tf.batch_matrix_inverse": "use tf.matrix_inverse",
    "tf.scalar_summary": "use tf.summary.scalar",
    "tf.histogram_summary": "use tf.summary.histogram",
    "tf.image_summary": "use tf.summary.image",
    "tf.audio_summary": "use tf.summary.audio",
    "tf.merge_summary": "use tf.summary.merge",
    "tf.merge_all_summaries": "use tf.summary.merge_all",
    "tf.train.SummaryWriter": "use tf.summary.FileWriter",
    "tf.saved_model.save": "use tf.saved_model.simple_save or tf.saved_model.Builder",
    "tf.saved_model.load_v2": "use tf.saved_model.load(session, tags, folder)",
    "tf.saved_model.SaveOptions": "tf.saved_model.Builder takes its options one by one",
    "tf.saved_model.Asset": "pass a constant with the path in assets_collection",
    "tf.saved_model.experimental": f"{_GRAPHS_ONLY}: use tf.saved_model.Builder",
    "tf.train.CheckpointOptions": "use the arguments of tf.train.Saver",
    "tf.train.VocabInfo": "write rows of embeddings with tf.train.load_variable and variable.load",
    "tf.data.NumpyIterator": f"{_GRAPHS_ONLY}: use tf.data.make_one_shot_iterator",
    "tf.data.experimental.CsvDataset": "map tf.decode_csv over a tf.data.TextLineDataset",
    "tf.data.experimental.make_csv_dataset": "map tf.decode_csv over a tf.data.TextLineDataset",
    "tf.data.experimental.make_batched_features_dataset": (
        "map tf.parse_example over a batched tf.data.TFRecordDataset"
    ),
    "tf.data.experimental.parse_example_dataset": "use dataset.map with tf.parse_example",
    "tf.data.experimental.prefetch_to_device": "the session copies what a device needs",
    "tf.data.experimental.copy_to_device": "the session copies what a device needs",
    "tf.data.experimental.dense_to_sparse_batch": "use dataset.padded_batch",
    "tf.data.experimental.snapshot": "dataset.cache() keeps elements in memory",
    "tf.data.experimental.group_by_reducer": "use group_by_window, with window.reduce",
    "tf.data.experimental.rejection_resample": "use dataset.filter with tf.random_uniform",
    "tf.data.experimental.make_saveable_from_iterator": "the place of an iterator is not saved",
    "tf.data.experimental.TFRecordWriter": "use tf.python_io.TFRecordWriter",
    "tf.optimizers": "use tf.train, for example tf.train.AdamOptimizer",
}
_NO_SEQUENCES = (
    "what read such columns went with Keras: parse with tf.io.parse_sequence_example, look up with "
    "tf.nn.embedding_lookup"
)
_REPLACED.update(
    {
        f"tf.feature_column.sequence_{name}": _NO_SEQUENCES
        for name in (
            "numeric_column",
            *(
                f"categorical_column_with_{kind}"
                for kind in ("hash_bucket", "identity", "vocabulary_file", "vocabulary_list")
            ),
        )
    }
)
_NO_CPP = "no C++ is compiled against tfnb: write the op in Python, with tf.py_func or register_op"
_REPLACED.update(
    {
        f"tf.sysconfig.{name}": _NO_CPP
        for name in ("get_include", "get_lib", "get_compile_flags", "get_link_flags")
    }
)
_WHOLE_AREAS = {
    "tf.estimator": "write the loop with tf.Session",
    "tf.lite": "tfnb does not convert models",
    "tf.tpu": "tfnb knows CPU and GPU devices",
    "tf.distribute": "use tf.device, or a session on a server",
}

_broken: dict[str, Exception] = {}


def note_broken_family(module: str, error: Exception) -> None:
    """Remember that a module could not be imported, to say so when one of its names is missed."""
    _broken[module] = error


def message(namespace: str, name: str, known: list[str]) -> str:
    """The text of the AttributeError.

    Args:
        namespace: ``tf`` or what stands between ``tf.`` and the name.
        name: What was asked for.
        known: The names there are.
    """
    module = "tfnb" if namespace == "tf" else f"tfnb.{namespace}"
    full = f"tf.{name}" if namespace == "tf" else f"tf.{namespace}.{name}"
    text = f"module {module!r} has no attribute {name!r}"
    advice = _REPLACED.get(full) or _WHOLE_AREAS.get(full)
    if advice is not None:
        return f"{text}: {advice}."
    if full in _tensorflow_names():
        text += f": TensorFlow 1 has {full}, tfnb does not have it yet"
    import difflib  # only a program that is about to fail needs it

    close = difflib.get_close_matches(name, known, n=2, cutoff=0.75)
    if close:
        text += f". Did you mean {' or '.join(repr(c) for c in close)}?"
    if _broken:
        where = ", ".join(f"{module} ({error})" for module, error in _broken.items())
        text += f" (could not be imported: {where})"
    return text


@cache
def _tensorflow_names() -> frozenset[str]:
    """Every public name of TensorFlow 1's API, ``tf.nn.relu``."""
    from importlib import resources

    text = (resources.files(__package__) / "tensorflow_names.txt").read_text()
    found: set[str] = set()
    for line in text.splitlines():
        namespace, _, names = line.partition(": ")
        found.update(f"{namespace}.{name}" for name in names.split())
    return frozenset(found)
