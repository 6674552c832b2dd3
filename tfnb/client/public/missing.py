"""The error messages for public names that do not exist."""

from __future__ import annotations

_GRAPHS_ONLY = "tfnb runs graphs; there is no eager mode"

# Names that were removed or added later -> the replacement.
_REPLACED = {
    "tf.contrib": (
        "TensorFlow dropped it; most of what models use lives on: contrib.rnn in tf.nn.rnn_cell, "
        "contrib.layers in tf.layers (xavier_initializer is tf.glorot_uniform_initializer, "
        "l2_regularizer a function of tf.nn.l2_loss), contrib.lookup in tf.lookup, contrib.data "
        "in tf.data, contrib.framework in tf.train, contrib.metrics in tf.metrics"
    ),
    "tf.function": f"{_GRAPHS_ONLY}: build the ops once and run them with tf.Session",
    "tf.GradientTape": f"{_GRAPHS_ONLY}: use tf.gradients(ys, xs)",
    "tf.keras": (
        "run the program by `tfnb run`, which serves Keras 2 (pip install 'tfnb[keras]'), or use "
        "tf.layers and tf.nn"
    ),
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
    "tf.data.NumpyIterator": f"{_GRAPHS_ONLY}: use tf.data.make_one_shot_iterator",
    "tf.data.experimental.make_saveable_from_iterator": "the place of an iterator is not saved",
    "tf.optimizers": "use tf.train, for example tf.train.AdamOptimizer",
}
_NO_CPP = "no C++ is compiled against tfnb: write the op in Python, with tf.py_func or register_op"
_NO_OPERATORS = "multiply the spectrum with tf.signal.fft, or use tf.linalg.LinearOperatorToeplitz"
_NO_SDCA = "use an optimizer of tf.train with tf.losses"
_AS_TEXT = "decode it with tf.py_func"
_NO_FFT_OF_MANY = "use tf.fft, tf.fft2d or tf.fft3d of transposed axes"
_OPERATORS = "Circulant Circulant2D Circulant3D"
_GROUPS = {
    _NO_CPP: (
        "sysconfig.get_include sysconfig.get_lib sysconfig.get_compile_flags "
        "sysconfig.get_link_flags load_op_library load_library load_file_system_library "
        "user_ops.my_fact user_ops"
    ),
    _NO_OPERATORS: (" ".join(f"linalg.LinearOperator{kind}" for kind in _OPERATORS.split())),
    _NO_SDCA: "train.sdca_fprint train.sdca_optimizer train.sdca_shrink_l1",
    _AS_TEXT: (
        "image.decode_jxl image.decode_webp io.decode_jxl io.decode_webp io.decode_proto "
        "io.encode_proto"
    ),
    _NO_FFT_OF_MANY: (
        "fftnd ifftnd irfftnd rfftnd signal.fftnd signal.ifftnd signal.irfftnd signal.rfftnd"
    ),
    "use tf.cond and tf.while_loop: Python's if and while are not rewritten": (
        "autograph autograph.experimental"
    ),
    "use tf.test.TestCase.skipTest": "test.disable_with_predicate test.with_eager_op_as_function",
    "use tf.add_check_numerics_ops or tf.check_numerics": (
        "debugging.enable_check_numerics debugging.disable_check_numerics"
    ),
    "import the graph with tf.import_graph_def, or run it in a session": "wrap_function",
    "use tf.nn.conv2d or tf.nn.conv3d": "conv",
    "use tf.nn.conv2d_backprop_filter": "conv2d_backprop_filter_v2",
    "use tf.nn.conv2d_backprop_input": "conv2d_backprop_input_v2",
    "no memory is pinned by hand": "check_pinned",
    "use tf.nn.max_pool and tf.nn.avg_pool": "nn.fractional_avg_pool nn.fractional_max_pool",
    "use tf.image.crop_and_resize": "image.extract_glimpse image.extract_glimpse_v2",
    "use tf.image.crop_to_bounding_box with random offsets, or tf.random_crop": (
        "image.sample_distorted_bounding_box"
    ),
    "use tf.image.non_max_suppression over the boxes": "image.generate_bounding_box_proposals",
    "write it with tf.quantization.fake_quant_with_min_max_vars": (
        "train.do_quantize_training_on_graphdef"
    ),
    "use tf.TFRecordReader, or a tf.data pipeline": "LMDBReader",
    "elements are computed when they are asked for: there is nothing to tune": (
        "data.experimental.get_model_proto data.experimental.enable_debug_mode"
    ),
    "use dataset.save": ("data.experimental.distributed_save"),
    "datasets are computed in the process that asks": (
        "data.experimental.service data.experimental.ServiceOptions"
    ),
    "it belongs to absl's implementation": "flags.tf_decorator app.flags.tf_decorator",
    "use the arguments of tf.train.Saver": (
        "train.experimental.MaxShardSizePolicy train.experimental.PythonState "
        "train.experimental.ShardByTaskPolicy train.experimental.ShardableTensor "
        "train.experimental.ShardingCallback"
    ),
}
for _advice, _names in _GROUPS.items():
    _REPLACED.update({f"tf.{name}": _advice for name in _names.split()})
_SESSION_CONFIG = "sessions have their settings from tf.ConfigProto; there is no eager mode"
# Namespace -> the replacement of all its names.
_WHOLE_AREAS = {
    "tf.data.experimental.service": "datasets are computed in the process that asks",
    "tf.debugging.experimental": "use RunOptions(trace_level=FULL_TRACE) and RunMetadata",
    "tf.quantization.experimental": "use tf.quantization.fake_quant_with_min_max_vars",
    "tf.saved_model.experimental": f"{_GRAPHS_ONLY}: use tf.saved_model.Builder",
    "tf.test.experimental": "the session waits for its devices itself",
    "tf.train.experimental": "use tf.train.Saver and tf.train.Checkpoint",
    "tf.autograph": "use tf.cond and tf.while_loop: Python's if and while are not rewritten",
    "tf.config": _SESSION_CONFIG,
    "tf.distribute": "use tf.device, or a session on a server",
    "tf.estimator": (
        "canned models of recurrent networks are not there: write a model_fn for "
        "tf.estimator.Estimator"
    ),
    "tf.experimental": f"{_GRAPHS_ONLY}: it belongs to TensorFlow 2",
    "tf.lite": "tfnb does not convert models",
    "tf.mlir": "tfnb has no MLIR; session.optimization_reports says what was optimized",
    "tf.tpu": "tfnb knows CPU and GPU devices",
    "tf.types": f"{_GRAPHS_ONLY}: it belongs to TensorFlow 2",
    "tf.xla": "tfnb does not compile through XLA",
}


def message(namespace: str, name: str, known: list[str]) -> str:
    """Return the text of the AttributeError.

    Args:
        namespace: ``tf``, or the part between ``tf.`` and the name.
        name: The requested name.
        known: The names that exist.
    """
    module = "tfnb" if namespace == "tf" else f"tfnb.{namespace}"
    full = f"tf.{name}" if namespace == "tf" else f"tf.{namespace}.{name}"
    text = f"module {module!r} has no attribute {name!r}"
    advice = _REPLACED.get(full) or _area_of(full)
    if advice is not None:
        return f"{text}: {advice}."
    close = _close_names(name, known)
    if close:
        text += f". Did you mean {' or '.join(repr(c) for c in close)}?"
    return text


def _close_names(name: str, known: list[str]) -> list[str]:
    """Return similar names, which the user may have meant.

    Tools like `inspect` and pytest request private and special names thousands of times; they need
    a fast answer and no advice.
    """
    if name.startswith("_"):
        return []
    import difflib  # only a program that is about to fail needs it

    return difflib.get_close_matches(name, known, n=2, cutoff=0.75)


def _area_of(full: str) -> str | None:
    """Return the advice for the whole namespace that a name is in."""
    for area, advice in _WHOLE_AREAS.items():
        if full == area or full.startswith(f"{area}."):
            return advice
    return None


def is_answered(full: str) -> bool:
    """Return whether the message about a missing name has a replacement."""
    return full in _REPLACED or _area_of(full) is not None
