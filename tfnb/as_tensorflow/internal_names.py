"""What a name of TensorFlow's internal modules is in tfnb.

``tensorflow.python.ops.math_ops.add`` is the public ``tf.add``, and
``tensorflow.python.ops.gen_math_ops.mat_mul`` the op ``MatMul``. Most names are public under the
same name in the namespace that the module belongs to; ``_OTHER`` has those that are not.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client import public
from tfnb.client.public.missing import message as public_message
from tfnb.client.public.table import OPS
from tfnb.core import op_registry

# Importing its family gives tensors their operators.
_ANY_OP = "Add"
# The folders of tensorflow.python: they hold modules, no names of their own.
_FOLDERS = """
    autograph autograph.converters autograph.core autograph.impl autograph.lang
    autograph.operators autograph.pyct autograph.pyct.common_transformers
    autograph.pyct.static_analysis autograph.utils checkpoint checkpoint.sharding client
    compat compiler compiler.mlir compiler.tensorrt compiler.xla compiler.xla.experimental
    data data.experimental data.experimental.ops data.experimental.service data.ops data.util
    debug debug.cli debug.lib debug.wrappers distribute distribute.cluster_resolver
    distribute.cluster_resolver.tpu distribute.coordinator distribute.experimental
    distribute.experimental.rpc distribute.failure_handling distribute.parallel_device
    distribute.v1 dlpack eager eager.polymorphic_function estimator estimator.canned
    estimator.export estimator.inputs feature_column framework framework.experimental grappler
    keras keras._impl keras._impl.keras keras.applications keras.distribute keras.engine
    keras.initializers keras.layers keras.layers.legacy_rnn keras.legacy_tf_layers
    keras.mixed_precision keras.optimizer_v2 keras.preprocessing keras.protobuf keras.saving
    keras.saving.saved_model keras.saving.utils_v1 keras.utils layers lib lib.io module ops
    ops.distributions ops.linalg ops.linalg.sparse ops.losses ops.numpy_ops ops.parallel_for
    ops.ragged ops.signal ops.structured platform profiler profiler.internal saved_model
    saved_model.model_utils saved_model.registration summary summary.writer tpu trackable
    training training.experimental training.saving tools types user_ops util util.protobuf
"""
PACKAGES = frozenset(
    ["tensorflow.python", *(f"tensorflow.python.{path}" for path in _FOLDERS.split())]
)

# The namespaces in which the names of a file are looked for, before "tf" and all others; the first
# pattern that is found in the module's path.
_NAMESPACES = (
    (r"\bops\.(nn|nn_ops|nn_impl|rnn|rnn_cell_impl|embedding_ops|ctc_ops|candidate_sampling_ops)$",
     ("nn", "nn.rnn_cell")),
    (r"\bops\.(rnn_cell)$", ("nn.rnn_cell", "nn")),
    (r"\bimage_ops", ("image",)),
    (r"\blosses\b", ("losses",)),
    (r"\bmetrics", ("metrics",)),
    (r"\blayers\b", ("layers",)),
    (r"\bsaved_model\b", ("saved_model",)),
    (r"\bsummary\b", ("summary",)),
    (r"\btraining\b", ("train",)),
    (r"\bdata\b", ("data", "data.experimental")),
    (r"\bdistributions\b", ("distributions",)),
    (r"\blinalg", ("linalg",)),
    (r"\bsparse_ops", ("sparse",)),
    (r"\bstring_ops", ("strings",)),
    (r"\blookup_ops", ("lookup",)),
    (r"\bspectral|\bsignal", ("signal",)),
    (r"\bragged\b", ("ragged",)),
    (r"\bgfile|\bfile_io", ("gfile",)),
    (r"\btf_logging|\blogging_ops", ("logging",)),
    (r"\bplatform\.app", ("app",)),
    (r"\bflags", ("flags",)),
    (r"\berrors", ("errors",)),
    (r"\bdtypes", ("dtypes",)),
    (r"\bnest", ("nest",)),
    (r"\bcompat\b", ("compat",)),
    (r"\bgraph_util", ("graph_util",)),
    (r"\btest", ("test",)),
    (r"\btf_record|\bpython_io", ("python_io",)),
    (r"\bfeature_column", ("feature_column",)),
    (r"\bestimator\b", ("estimator", "estimator.export", "estimator.inputs",
                         "estimator.experimental")),
)  # fmt: skip

# File -> name there -> public name, where the two differ or the name has several meanings.
_OTHER: dict[str, dict[str, str]] = {
    "array_ops": {
        "tensor_scatter_max": "tensor_scatter_nd_max",
        "tensor_scatter_min": "tensor_scatter_nd_min",
    },
    "basic_session_run_hooks": {"SummaryWriterCache": "summary.FileWriterCache"},
    "batch_ops": {"batch_function": "nondifferentiable_batch_function"},
    "benchmark": {"TensorFlowBenchmark": "test.Benchmark"},
    "bincount_ops": {"bincount_v1": "bincount"},
    "builder": {"_SavedModelBuilder": "saved_model.Builder"},
    "builder_impl": {"_SavedModelBuilder": "saved_model.Builder"},
    "cardinality": {
        "INFINITE": "data.experimental.INFINITE_CARDINALITY",
        "UNKNOWN": "data.experimental.UNKNOWN_CARDINALITY",
    },
    "checkpoint": {"CheckpointV1": "train.Checkpoint"},
    "config": {
        "get_optimizer_experimental_options": "config.optimizer.get_experimental_options",
        "get_optimizer_jit": "config.optimizer.get_jit",
        "set_optimizer_experimental_options": "config.optimizer.set_experimental_options",
        "set_optimizer_jit": "config.optimizer.set_jit",
    },
    "confusion_matrix": {"confusion_matrix_v1": "confusion_matrix"},
    "constant_op": {"constant_v1": "constant"},
    "context": {"executing_eagerly_v1": "executing_eagerly"},
    "dataset_ops": {
        "DatasetV1": "data.Dataset",
        "get_legacy_output_classes": "data.get_output_classes",
        "get_legacy_output_shapes": "data.get_output_shapes",
        "get_legacy_output_types": "data.get_output_types",
    },
    "device_spec": {"DeviceSpecV1": "DeviceSpec"},
    "dtypes": {"float16": "half", "float64": "double"},
    "file_io": {
        "copy": "gfile.Copy",
        "copy_v2": "io.gfile.copy",
        "create_dir": "gfile.MkDir",
        "create_dir_v2": "io.gfile.mkdir",
        "delete_file": "gfile.Remove",
        "delete_file_v2": "io.gfile.remove",
        "delete_recursively": "gfile.DeleteRecursively",
        "delete_recursively_v2": "io.gfile.rmtree",
        "file_exists": "gfile.Exists",
        "file_exists_v2": "io.gfile.exists",
        "get_matching_files": "gfile.Glob",
        "get_matching_files_v2": "io.gfile.glob",
        "is_directory": "gfile.IsDirectory",
        "is_directory_v2": "io.gfile.isdir",
        "join": "io.gfile.join",
        "list_directory": "gfile.ListDirectory",
        "list_directory_v2": "io.gfile.listdir",
        "recursive_create_dir": "gfile.MakeDirs",
        "recursive_create_dir_v2": "io.gfile.makedirs",
        "rename": "gfile.Rename",
        "rename_v2": "io.gfile.rename",
        "stat": "gfile.Stat",
        "stat_v2": "io.gfile.stat",
        "walk": "gfile.Walk",
        "walk_v2": "io.gfile.walk",
    },
    "image_ops": {
        "ResizeMethodV1": "image.ResizeMethod",
        "crop_and_resize_v1": "image.crop_and_resize",
        "non_max_suppression_with_overlaps": "image.non_max_suppression_overlaps",
        "resize_image_with_pad_v1": "image.resize_image_with_pad",
    },
    "image_ops_impl": {
        "ResizeMethodV1": "image.ResizeMethod",
        "crop_and_resize_v1": "image.crop_and_resize",
        "non_max_suppression_with_overlaps": "image.non_max_suppression_overlaps",
        "resize_image_with_pad_v1": "image.resize_image_with_pad",
    },
    "init_ops": {
        "Constant": "constant_initializer",
        "GlorotNormal": "glorot_normal_initializer",
        "GlorotUniform": "glorot_uniform_initializer",
        "Identity": "initializers.identity",
        "Ones": "ones_initializer",
        "Orthogonal": "orthogonal_initializer",
        "RandomNormal": "random_normal_initializer",
        "RandomUniform": "random_uniform_initializer",
        "TruncatedNormal": "truncated_normal_initializer",
        "UniformUnitScaling": "uniform_unit_scaling_initializer",
        "VarianceScaling": "variance_scaling_initializer",
        "Zeros": "zeros_initializer",
        "identity_initializer": "initializers.identity",
    },
    "linalg": {"matrix_exponential": "linalg.expm"},
    "linalg_impl": {"matrix_exponential": "linalg.expm"},
    "linalg_ops": {"log_matrix_determinant": "linalg.slogdet", "matrix_logarithm": "linalg.logm"},
    "logging_ops": {"print_v2": "print"},
    "lookup_ops": {
        "StaticHashTableV1": "lookup.StaticHashTable",
        "StaticVocabularyTableV1": "lookup.StaticVocabularyTable",
    },
    "math_ops": {
        "floor_mod": "math.mod",
        "linspace_nd": "linspace",
        "neg": "math.negative",
        "next_after": "math.nextafter",
        "reduce_all_v1": "reduce_all",
        "reduce_any_v1": "reduce_any",
        "reduce_logsumexp_v1": "reduce_logsumexp",
        "reduce_max_v1": "reduce_max",
        "reduce_mean_v1": "reduce_mean",
        "reduce_min_v1": "reduce_min",
        "reduce_prod_v1": "reduce_prod",
        "reduce_sum_v1": "reduce_sum",
    },
    "mixed_precision": {
        "disable_mixed_precision_graph_rewrite_v1": "mixed_precision.disable_mixed_precision_graph_rewrite",  # noqa: E501
        "enable_mixed_precision_graph_rewrite_v1": "mixed_precision.enable_mixed_precision_graph_rewrite",  # noqa: E501
    },
    "nn": {
        "conv3d_v1": "nn.conv3d",
        "dilation2d_v1": "nn.dilation2d",
        "max_pool_with_argmax_v1": "nn.max_pool_with_argmax",
        "softmax_cross_entropy_with_logits_v2_helper": "nn.softmax_cross_entropy_with_logits_v2",
    },
    "nn_ops": {
        "conv3d_v1": "nn.conv3d",
        "dilation2d_v1": "nn.dilation2d",
        "max_pool_with_argmax_v1": "nn.max_pool_with_argmax",
        "softmax_cross_entropy_with_logits_v2_helper": "nn.softmax_cross_entropy_with_logits_v2",
    },
    "np_arrays": {"ndarray": "Tensor"},
    "ops": {
        "NotDifferentiable": "NoGradient",
        "_colocate_with": "colocate_with",
        "name_scope_v1": "name_scope",
        "no_gradient": "NoGradient",
    },
    "parsing_ops": {"decode_raw_v1": "decode_raw"},
    "ragged_string_ops": {
        "string_bytes_split": "strings.bytes_split",
        "strings_split_v1": "strings.split",
    },
    "readers": {
        "FixedLengthRecordDatasetV1": "data.FixedLengthRecordDataset",
        "TFRecordDatasetV1": "data.TFRecordDataset",
        "TextLineDatasetV1": "data.TextLineDataset",
    },
    "script_ops": {"eager_py_func": "py_function"},
    "sparse_ops": {
        "_sparse_cross": "sparse.cross",
        "_sparse_cross_hashed": "sparse.cross_hashed",
        "sparse_bincount": "sparse.bincount",
        "sparse_cross": "sparse.cross",
        "sparse_cross_hashed": "sparse.cross_hashed",
        "sparse_expand_dims": "sparse.expand_dims",
        "sparse_eye": "sparse.eye",
        "unary_op": "math.bessel_i1e",
    },
    "stateless_random_ops": {
        "split": "random.split",
        "stateless_random_binomial": "random.stateless_binomial",
        "stateless_random_gamma": "random.stateless_gamma",
        "stateless_random_normal": "random.stateless_normal",
        "stateless_random_poisson": "random.stateless_poisson",
        "stateless_random_uniform": "random.stateless_uniform",
    },
    "string_ops": {
        "string_format": "strings.format",
        "string_length": "strings.length",
        "string_lower": "strings.lower",
        "string_to_hash_bucket_v1": "string_to_hash_bucket",
        "string_to_number_v1": "string_to_number",
        "string_upper": "strings.upper",
        "substr_deprecated": "substr",
    },
    "structure": {
        "_RaggedTensorStructure": "data.experimental.RaggedTensorStructure",
        "_SparseTensorStructure": "data.experimental.SparseTensorStructure",
        "_TensorArrayStructure": "data.experimental.TensorArrayStructure",
        "_TensorStructure": "data.experimental.TensorStructure",
    },
    "summary": {"_SummaryMetadata": "SummaryMetadata"},
    "summary_io": {
        "SummaryWriterCache": "summary.FileWriterCache",
        "_FileWriter": "summary.FileWriter",
    },
    "tensor_conversion": {"convert_to_tensor_v1_with_dispatch": "convert_to_tensor"},
    "tensor_util": {
        "MakeNdarray": "make_ndarray",
        "constant_value": "get_static_value",
        "is_tf_type": "is_tensor",
    },
    "test_util": {
        "TensorFlowTestCase": "test.TestCase",
        "assert_equal_graph_def_v1": "test.assert_equal_graph_def",
    },
    "training": {
        "enable_mixed_precision_graph_rewrite_v1": "mixed_precision.enable_mixed_precision_graph_rewrite"  # noqa: E501
    },
    "variable_scope": {"_variable_v1": "Variable"},
}
# The same in any file: names that TensorFlow 1 used.
_ANYWHERE = {
    "internal_convert_to_tensor": "convert_to_tensor",
    "internal_convert_to_tensor_or_indexed_slices": "convert_to_tensor_or_indexed_slices",
    "internal_convert_n_to_tensor": "convert_n_to_tensor",
    "_LinearOperator": "linalg.LinearOperator",
    "RefVariable": "Variable",
    "OptimizerV1": "train.Optimizer",
    "Layer": "layers.Layer",
    "VariableV1": "Variable",
    "variable": "Variable",
    "Convolution1D": "layers.Conv1D",
    "Convolution2D": "layers.Conv2D",
    "Convolution3D": "layers.Conv3D",
    "Convolution2DTranspose": "layers.Conv2DTranspose",
    "Convolution3DTranspose": "layers.Conv3DTranspose",
    "Deconvolution2D": "layers.Conv2DTranspose",
    "SeparableConvolution1D": "layers.SeparableConv1D",
    "SeparableConvolution2D": "layers.SeparableConv2D",
    "convolution1d": "layers.conv1d",
    "convolution2d": "layers.conv2d",
    "convolution3d": "layers.conv3d",
    "convolution2d_transpose": "layers.conv2d_transpose",
    "separable_convolution2d": "layers.separable_conv2d",
    "InputSpec": "layers.InputSpec",
}


def internal_name(module: str, name: str) -> Any:
    """Return what a name of a module of ``tensorflow.python`` is.

    Args:
      module: ``tensorflow.python.ops.math_ops``.
      name: a name in it.

    Returns:
      The object; for names that tfnb does not have, a class that refuses to be used.
    """
    file = module.rpartition(".")[2]
    if file.startswith("gen_"):
        op = _registered_op_of(name)
        if op is not None:
            return getattr(_positional_ops(), op)
    path = _OTHER.get(file, {}).get(name) or _ANYWHERE.get(name) or _public_path(module, name)
    if path is None:
        found = _in_file_of_same_name(file, name)
        if found is not None:
            return found
        path = _unique_path(name)
    if path is not None:
        namespace, _, last = path.rpartition(".")
        return public.resolve(namespace or "tf", last)
    op = _registered_op_of(name)
    if op is not None:
        return getattr(_positional_ops(), op)
    replaced = public_message("tf", name, [])
    advice = replaced.partition(": ")[2].rstrip(".") if ": " in replaced else ""
    return missing_name(module, name, advice)


def _public_path(module: str, name: str) -> str | None:
    """Return the public name that a name most probably has."""
    names = public.names()
    for pattern, namespaces in _NAMESPACES:
        if re.search(pattern, module):
            for namespace in namespaces:
                if name in names.get(namespace, ()):
                    return f"{namespace}.{name}"
            break
    if name in names["tf"] and names["tf"][name][0]:
        return name
    return None


def _unique_path(name: str) -> str | None:
    """Return the public name that ends with a name, if all that end with it are one object."""
    found = _by_last_part().get(name)
    return found[0] if found is not None and len(found) == 1 else None


@cache
def _files() -> dict[str, list[str]]:
    """Return modules of tfnb by the name of the file; many are named as in TensorFlow."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    top = Path(public.__file__).parents[2]
    for room in ("framework", "ops", "library", "client"):
        for path in sorted((top / room).rglob("*.py")):
            found[path.stem].append(".".join(path.relative_to(top.parent).with_suffix("").parts))
    return found


# File of TensorFlow -> files of tfnb that have parts of it under other names.
_PARTS = {
    "builder_impl": ("builder",),
    "checkpoint_management": ("checkpoint_state",),
    "checkpoint_utils": ("checkpoint_state",),
    "data_flow_ops": ("barriers", "queues", "accumulators", "staging_areas"),
    "loader_impl": ("loader",),
    "signature_def_utils_impl": ("signature_defs",),
}


def _in_file_of_same_name(file: str, name: str) -> Any:
    modules = [one for part in (file, *_PARTS.get(file, ())) for one in _files().get(part, ())]
    for module in modules:
        public.import_family(_ANY_OP)
        found = vars(importlib.import_module(module)).get(name)
        if getattr(found, "__module__", None) == module:
            return found
    return None


@cache
def _by_last_part() -> dict[str, list[str]]:
    """Return public names by their last part, one for each object."""
    found: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for namespace, names in public.names().items():
        for name, origin in names.items():
            if origin[0]:
                found[name].setdefault(origin, f"{namespace}.{name}")
    return {name: [*paths.values()] for name, paths in found.items()}


@cache
def _ops() -> dict[str, str]:
    return {op.lower(): op for ops in OPS.values() for op in ops.split()}


def _registered_op_of(name: str) -> str | None:
    """Return the op that a function is for: ``_mat_mul`` and ``mat_mul`` are for MatMul.

    Ops of tests are registered on request only.
    """
    op = _ops().get(name.replace("_", "").lower())
    return op if op is not None and op_registry.find(op) is not None else None


@cache
def _positional_ops() -> public.RawOps:
    """Return the ops as functions that take their arguments by position, too."""
    return _PositionalOps("raw_ops")


class _PositionalOps(public.RawOps):
    def __getattr__(self, name: str) -> Any:
        definition = op_registry.find(name)
        if definition is None:
            raise AttributeError(name)
        renamed = public.RENAMED_ARGUMENTS.get(name, {})

        def build(*given: Any, **arguments: Any) -> Any:
            named = {renamed.get(key, key): value for key, value in arguments.items()}
            return definition(*given, **named)

        build.__name__ = build.__qualname__ = name
        build.__doc__ = definition.__doc__
        setattr(self, name, build)
        return build
