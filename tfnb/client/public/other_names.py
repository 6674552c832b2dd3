"""Public names of modules that carry no ``EXPORTS`` of their own: module -> namespace -> names.

``"public:local"`` gives a local name a public name; a single name is both; ``"public:"`` is the
module itself.
"""

from __future__ import annotations

_DTYPES = (
    "DType as_dtype float16 half bfloat16 float32 float64 double int8 int16 int32 int64 "
    "uint8 uint16 uint32 uint64 complex64 complex128 bool string resource variant "
    "qint8 qint16 qint32 quint8 quint16 QUANTIZED_DTYPES"
)
_SMALL_DTYPES = (
    "float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2fnuz float4_e2m1fn "
    "int4 uint4 int2 uint2"
)
_ERRORS = (
    "OpError CancelledError UnknownError InvalidArgumentError DeadlineExceededError NotFoundError "
    "AlreadyExistsError PermissionDeniedError UnauthenticatedError ResourceExhaustedError "
    "FailedPreconditionError AbortedError OutOfRangeError UnimplementedError InternalError "
    "UnavailableError DataLossError InaccessibleTensorError OperatorNotAllowedInGraphError "
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS "
    "PERMISSION_DENIED UNAUTHENTICATED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE "
    "UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
    "error_code_from_exception_type exception_type_from_error_code"
)
_VERSIONS = (
    "VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
    "GRAPH_DEF_VERSION_MIN_PRODUCER"
)

OTHER_NAMES: dict[str, dict[str, str]] = {
    "": {"app": "flags:flags"},  # a namespace under a second name
    "tfnb.core.dtypes": {
        "tf": _DTYPES,
        "dtypes": _DTYPES,
        "dtypes.experimental": _SMALL_DTYPES,
        "experimental": _SMALL_DTYPES,
    },
    "tfnb.core.errors": {"tf": "OpError", "errors": _ERRORS},
    "tfnb.core.tensor_shape": {
        "tf": "TensorShape Dimension dimension_value dimension_at_index",
        "compat": "dimension_value dimension_at_index",
    },
    "tfnb.core.tensor_util": {"tf": "make_tensor_proto make_ndarray"},
    "tfnb.core.device_spec": {"tf": "DeviceSpec"},
    "tfnb.core.cluster_spec": {"train": "ClusterSpec"},
    "tfnb.client.session.session": {"tf": "Session InteractiveSession"},
    "tfnb.client.behavior": {
        "tf": "disable_v2_behavior disable_eager_execution "
        "disable_tensor_equality disable_v2_tensorshape "
        "enable_v2_behavior enable_eager_execution "
        "enable_tensor_equality enable_v2_tensorshape "
        "executing_eagerly executing_eagerly_outside_functions"
    },
    "tfnb.client.flags.app": {"app": "run"},
    "tfnb.client.compat": {
        "compat": "as_bytes as_text as_str as_str_any path_to_str bytes_or_text_types "
        "integral_types real_types complex_types forward_compatible"
    },
    "tfnb.client.testing.testing": {
        "testing": "reset_state TestCase",
        "test": "TestCase main mock get_temp_dir test_src_dir_path gpu_device_name "
        "is_gpu_available is_built_with_cuda is_built_with_gpu_support is_built_with_rocm "
        "is_built_with_xla is_cpu_target_available "
        "assert_equal_graph_def compute_gradient compute_gradient_error",
    },
    "tfnb.client.tf_logging": {
        "tf": "get_logger",
        "logging": "DEBUG INFO WARN ERROR FATAL debug info warn warning error fatal log vlog "
        "log_first_n log_every_n log_if get_verbosity set_verbosity flush "
        "TaskLevelStatusMessage",
    },
    "tfnb.client.version": {"tf": _VERSIONS, "version": _VERSIONS},
    "tfnb.framework.default_session": {"tf": "get_default_session"},
    "tfnb.proto.attr_value_pb2": {"tf": "AttrValue NameAttrList"},
    "tfnb.proto.graph_pb2": {"tf": "GraphDef NodeDef"},
    "tfnb.proto.config_pb2": {
        "tf": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions"
    },
    "tfnb.proto.meta_graph_pb2": {"tf": "MetaGraphDef TensorInfo", "train": "TensorInfo"},
    "tfnb.proto.event_pb2": {
        "tf": "Event LogMessage SessionLog",
        "summary": "Event SessionLog TaggedRunMetadata",
    },
    "tfnb.proto.summary_pb2": {
        "tf": "HistogramProto Summary SummaryMetadata",
        "summary": "Summary SummaryDescription",
    },
    "tfnb.proto.tfprof_log_pb2": {"profiler": "OpLogProto"},
    "tfnb.proto.tfprof_output_pb2": {"profiler": "AdviceProto GraphNodeProto MultiGraphNodeProto"},
    "tfnb.proto.cluster_pb2": {"train": "ClusterDef JobDef"},
    "tfnb.proto.tensorflow_server_pb2": {"train": "ServerDef"},
    "tfnb.proto.saver_pb2": {"train": "SaverDef"},
    "tfnb.proto.queue_runner_pb2": {"train": "QueueRunnerDef"},
    "tfnb.proto.example_pb2": {
        "train": "BytesList Int64List FloatList Feature Features FeatureList FeatureLists Example "
        "SequenceExample"
    },
}
