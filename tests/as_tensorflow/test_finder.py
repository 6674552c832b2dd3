"""What `import tensorflow` gives while tfnb serves it."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb
import tfnb as tf
from tfnb.as_tensorflow.finder import (
    install_as_tensorflow,
    is_installed,
    served,
    uninstall_as_tensorflow,
)

if TYPE_CHECKING:
    from pathlib import Path

served_here = pytest.mark.usefixtures("as_tensorflow")


def _import(name: str) -> Any:
    return importlib.import_module(name)


@served_here
@pytest.mark.parametrize("name", ["tensorflow", "tensorflow.compat.v1"])
def test_it_says_version_1_and_that_it_is_tfnb(name: str) -> None:
    """A program can tell; tfnb's own version stays."""
    tf = _import(name)

    assert tf.__version__ == tf.VERSION == tf.version.VERSION == "1.15.5"
    assert tf.__tfnb__ == tfnb.__version__ != "1.15.5"


@served_here
def test_version_2_has_its_own_where() -> None:
    """Otherwise it has the names of version 1."""
    newer = _import("tensorflow.compat.v2")

    assert newer.where is tfnb.where_v2
    assert newer.reshape is tfnb.reshape


@served_here
def test_objects_are_those_of_tfnb() -> None:
    """Graphs, tensors and functions are the same objects in both."""
    tf = _import("tensorflow")

    assert tf.Graph is tfnb.Graph
    assert tf.nn.relu is tfnb.nn.relu
    assert tf.compat.v1.Session is tfnb.Session
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.constant(2.0) * 3.0) == 6.0


@served_here
@pytest.mark.parametrize(
    ("path", "public"),
    [
        ("ops.math_ops.add", "add"),
        ("ops.array_ops.placeholder", "placeholder"),
        ("ops.nn_ops.conv2d", "nn.conv2d"),
        ("ops.rnn_cell_impl.BasicLSTMCell", "nn.rnn_cell.BasicLSTMCell"),
        ("ops.variable_scope.get_variable", "get_variable"),
        ("ops.control_flow_ops.while_loop", "while_loop"),
        ("framework.ops.convert_to_tensor", "convert_to_tensor"),
        ("framework.ops.Graph", "Graph"),
        ("framework.dtypes.float32", "float32"),
        ("framework.tensor_util.MakeNdarray", "make_ndarray"),
        ("framework.function.Defun", "python.framework.function.Defun"),
        ("training.saver.Saver", "train.Saver"),
        ("training.adam.AdamOptimizer", "train.AdamOptimizer"),
        ("training.moving_averages.ExponentialMovingAverage", "train.ExponentialMovingAverage"),
        ("training.training_util.get_global_step", "train.get_global_step"),
        ("client.session.Session", "Session"),
        ("lib.io.file_io.create_dir", "gfile.MkDir"),
        ("platform.gfile.Exists", "gfile.Exists"),
        ("platform.tf_logging.info", "logging.info"),
        ("data.ops.dataset_ops.DatasetV1", "data.Dataset"),
        ("layers.core.Dense", "layers.Dense"),
        ("layers.base.Layer", "layers.Layer"),
        ("summary.summary.scalar", "summary.scalar"),
        ("util.nest.flatten", "nest.flatten"),
        ("util.compat.as_bytes", "compat.as_bytes"),
        ("pywrap_tensorflow.NewCheckpointReader", "train.NewCheckpointReader"),
        ("saved_model.tag_constants.SERVING", "saved_model.tag_constants.SERVING"),
        ("ops.losses.losses.softmax_cross_entropy", "losses.softmax_cross_entropy"),
        ("estimator.estimator.Estimator", "estimator.Estimator"),
        ("estimator.export.export_lib.PredictOutput", "estimator.export.PredictOutput"),
        ("estimator.inputs.numpy_io.numpy_input_fn", "estimator.inputs.numpy_input_fn"),
    ],
)
def test_internal_names_are_public_ones(path: str, public: str) -> None:
    """`from tensorflow.python.x import y`, then `y.z`."""
    module, _, name = path.rpartition(".")
    found = getattr(_import(f"tensorflow.python.{module}"), name)
    expected: Any = tfnb
    for part in public.split("."):
        expected = getattr(expected, part)

    assert found is expected


@served_here
@pytest.mark.parametrize(
    ("path", "check"),
    [
        ("framework.ops.is_dense_tensor_like", lambda f: f(tfnb.constant(1)) and not f(1)),
        ("framework.ops.uid", lambda f: f() != f()),
        ("ops.gen_math_ops.mat_mul", lambda f: f([[1.0]], [[2.0]]).op.type == "MatMul"),
        ("ops.gen_array_ops._slice", lambda f: f([1, 2], [0], [1]).op.type == "Slice"),
        ("ops.gen_nn_ops.conv2d_backprop_input", callable),
        ("util.tf_inspect.getargspec", lambda f: f(lambda a, b=1: a).args == ["a", "b"]),
        ("util.deprecation.deprecated", lambda f: f("2020-01-01", "use y")(len) is len),
        ("util.tf_export.tf_export", lambda f: f("a.b")(len) is len),
        ("util.nest.flatten_up_to", lambda f: f([1, 2], [[3], 4]) == [[3], 4]),
        ("util.nest.is_sequence", lambda f: f([1]) and not f(1)),
        ("eager.context.executing_eagerly", lambda f: f() is False),
        ("layers.utils.convert_data_format", lambda f: f("channels_first", 4) == "NCHW"),
        ("layers.utils.normalize_tuple", lambda f: f(2, 3, "strides") == (2, 2, 2)),
        ("layers.utils.smart_cond", lambda f: f(True, lambda: 1, lambda: 2) == 1),
        ("client.device_lib.list_local_devices", lambda f: f()[0].name == "/device:CPU:0"),
        ("training.moving_averages.assign_moving_average", callable),
        ("ops.variable_scope.variable", lambda f: f(1.0, trainable=False).dtype.is_ref_dtype),
        ("framework.dtypes.float32_ref", lambda f: f.is_ref_dtype),
        ("ops.control_flow_ops.with_dependencies", lambda f: f([], tfnb.constant(1)).shape == []),
        ("ops.metrics_impl.metric_variable", callable),
        ("estimator.canned.metric_keys.MetricKeys", lambda f: f.LOSS_MEAN == "average_loss"),
        ("estimator.canned.head._regression_head", lambda f: f("w", 2).logits_dimension == 2),
        (
            "estimator.canned.head._multi_class_head_with_softmax_cross_entropy_loss",
            lambda f: f(3).loss_reduction == "weighted_sum",
        ),
        (
            "estimator.canned.head._binary_logistic_head_with_sigmoid_cross_entropy_loss",
            lambda f: f().logits_dimension == 1,
        ),
        ("ops.metrics_impl._confusion_matrix_at_thresholds", callable),
        ("ops.resource_variable_ops.ResourceVariable", callable),
        ("ops.array_ops.shape_internal", lambda f: f([[1, 2]]).shape == [2]),
        ("ops.array_ops.newaxis", lambda value: value is None),
        ("ops.array_ops.squeeze_v2", lambda f: f([[1]], [0]).shape == [1]),
        ("ops.array_ops.batch_gather_nd", lambda f: f([[1, 2]], [[[1]]], 1).shape == [1, 1]),
        (
            "framework.ops.convert_n_to_tensor",
            lambda f: [x.op.name for x in f([1, 2.0], name="a")] == ["a_0", "a_1"],
        ),
        (
            "framework.ops.convert_n_to_tensor_or_indexed_slices",
            lambda f: f([None, 1])[0] is None,
        ),
        (
            "ops.data_flow_ops.RecordInput",
            lambda f: f("*", 2, buffer_size=3).get_yield_op().op.type == "RecordInput",
        ),
        ("ops.data_flow_ops.FIFOQueue", callable),
        ("ops.lookup_ops.index_table_from_tensor", lambda f: f(["a", "b"]).key_dtype == "string"),
        ("lib.io.file_io.FileIO", callable),
        ("tf2.enabled", lambda f: f() is False),
        ("training.slot_creator.create_zeros_slot", callable),
        ("distribute.distribution_strategy_context.has_strategy", lambda f: f() is False),
        ("ops.rnn_cell_impl._zero_state_tensors", lambda f: f(3, 2, "float32").shape == [2, 3]),
        ("client.session.register_session_run_conversion_functions", callable),
    ],
)
def test_names_that_are_not_public_work(path: str, check: Any) -> None:
    """Programs use them as they use public ones."""
    module, _, name = path.rpartition(".")
    with tfnb.Graph().as_default():
        assert check(getattr(_import(f"tensorflow.python.{module}"), name))


@served_here
def test_merges_of_conds_and_loops_are_told_apart() -> None:
    """By the inputs of the node."""
    util = _import("tensorflow.python.ops.control_flow_util")
    with tfnb.Graph().as_default() as graph:
        tfnb.cond(tfnb.constant(True), lambda: tfnb.constant(1), lambda: tfnb.constant(2))
        tfnb.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        merges = [op for op in graph.get_operations() if op.type == "Merge"]
    found = {op.name: (util.IsCondMerge(op), util.IsLoopMerge(op)) for op in merges}
    assert found == {"cond/Merge": (True, False), "while/Merge": (False, True)}
    assert not util.IsCondMerge(merges[0].inputs[0].op)


@served_here
def test_a_namespace_has_its_second_name() -> None:
    """`tf.app.flags` is `tf.flags`, in both versions."""
    for name in ("tensorflow", "tensorflow.compat.v1"):
        tf = _import(name)
        assert tf.app.flags.DEFINE_string is tf.flags.DEFINE_string
        assert tf.newaxis is None


@served_here
def test_scopes_of_variables_open_no_scope_of_names() -> None:
    """Variables have the scope's name; ops do not."""
    scopes = _import("tensorflow.python.ops.variable_scope")
    with tfnb.Graph().as_default(), tfnb.name_scope("outer"):
        with scopes._pure_variable_scope("a") as scope:
            variable = tfnb.get_variable("v", [])
            made = tfnb.no_op("made")
        with scopes._pure_variable_scope(scope, reuse=True):
            assert tfnb.get_variable("v", []) is variable

    assert (variable.op.name, made.name) == ("a/v", "outer/made")


@served_here
def test_a_program_says_how_its_collections_are_written() -> None:
    """As messages of its own, and back."""
    ops = _import("tensorflow.python.framework.ops")
    ops.register_proto_function(
        "test of collections",
        proto_type=tfnb.train.Int64List,
        to_proto=lambda item, export_scope=None: tfnb.train.Int64List(value=[item.number]),
        from_proto=lambda message, import_scope=None: message.value[0],
    )
    with tfnb.Graph().as_default():
        tfnb.add_to_collection("test of collections", _Numbered())
        tfnb.no_op()
        meta_graph = tfnb.train.export_meta_graph()
    with tfnb.Graph().as_default():
        tfnb.train.import_meta_graph(meta_graph)
        assert tfnb.get_collection("test of collections") == [7]
    with pytest.raises(TypeError, match="needs proto_type"):
        ops.register_proto_function("other")


class _Numbered:
    name = "numbered"
    number = 7


@served_here
def test_whole_files_are_written_and_read(tmp_path: Path) -> None:
    """A file that is there stays, unless it may be replaced."""
    file_io = _import("tensorflow.python.lib.io.file_io")
    path = str(tmp_path / "a.txt")
    file_io.write_string_to_file(path, "one")
    with pytest.raises(tfnb.errors.AlreadyExistsError):
        file_io.atomic_write_string_to_file(path, "two", overwrite=False)
    assert file_io.read_file_to_string(path) == "one"
    file_io.atomic_write_string_to_file(path, b"two")
    assert file_io.read_file_to_string(path, binary_mode=True) == b"two"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@served_here
@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("framework.graph_pb2", "GraphDef"),
        ("framework.tensor_shape_pb2", "TensorShapeProto"),
        ("framework.types_pb2", "DT_FLOAT"),
        ("protobuf.config_pb2", "ConfigProto"),
        ("protobuf.saver_pb2", "SaverDef"),
        ("util.event_pb2", "Event"),
        ("example.example_pb2", "Example"),
    ],
)
def test_messages_are_where_tensorflow_has_them(module: str, message: str) -> None:
    """Files of messages differ from tfnb's."""
    assert getattr(_import(f"tensorflow.core.{module}"), message) is not None


@served_here
def test_a_message_that_is_not_there_is_refused_when_it_is_made() -> None:
    """The import succeeds."""
    from tensorflow.core.framework.dataset_pb2 import CompressedElement

    with pytest.raises(NotImplementedError, match="does not have this message"):
        CompressedElement()


@served_here
def test_a_missing_name_is_refused_when_it_is_used() -> None:
    """It can be imported, derived from, caught and asked for; a use names it."""
    from tensorflow.python.ops.math_ops import _not_there

    class Derived(_not_there):  # type: ignore[misc]
        pass

    assert not isinstance(1, _not_there)
    for use in (_not_there, Derived, lambda: _not_there.x, lambda: _not_there[0]):
        with pytest.raises(NotImplementedError, match=r"tensorflow\.python\.ops\.math_ops\._not"):
            use()


@served_here
def test_a_public_name_that_is_not_there_is_no_attribute() -> None:
    """Programs ask with `hasattr` for names of other versions."""
    tf = _import("tensorflow")

    assert not hasattr(tf, "not_there")
    assert not hasattr(tf.nn, "not_there")
    with pytest.raises(ImportError):
        _import("tensorflow.not_there")


@served_here
def test_parts_of_contrib_that_are_not_there_say_what_to_do() -> None:
    """Both as a module and as an attribute."""
    tf = _import("tensorflow")

    with pytest.raises(ModuleNotFoundError, match="converters for other devices need TensorFlow"):
        _import("tensorflow.contrib.tensorrt")
    with pytest.raises(AttributeError, match="converters for other devices need TensorFlow"):
        _ = tf.contrib.tensorrt


@served_here
def test_names_of_before_version_1_work_and_say_their_newer_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The note comes once."""
    from tfnb.as_tensorflow.older_names import note_newer_name

    note_newer_name.cache_clear()
    tf = _import("tensorflow")
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.mul(2, tf.sub(5, 2))) == 6
        assert session.run(tf.mul(2, 4)) == 8
        assert session.run(tf.pack([tf.neg(1), 2])).tolist() == [-1, 2]
        found = session.run(tf.batch_matmul([[[1.0, 2.0]]], [[[3.0, 4.0]]], adj_y=True))
        assert found.tolist() == [[[11.0]]]
        text = session.run(tf.scalar_summary("loss", 1.5))
        assert tf.Summary.FromString(text).value[0].tag == "loss"
        assert tf.train.SummaryWriter is tfnb.summary.FileWriter
    notes = [record.getMessage() for record in caplog.records]
    assert notes.count("tf.mul is from before TensorFlow 1.0: it is tf.multiply now.") == 1


def test_it_can_be_switched_on_and_off() -> None:
    """Twice on is once on."""
    with served():  # keeps what the other tests of this process see
        pass
    before = is_installed()
    install_as_tensorflow()
    install_as_tensorflow()
    assert isinstance(_import("tensorflow"), ModuleType)
    uninstall_as_tensorflow()
    uninstall_as_tensorflow()

    assert not before
    assert not is_installed()
    assert "tensorflow" not in sys.modules


def test_it_is_refused_where_tensorflow_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says to start a new process."""
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    with pytest.raises(ImportError, match="Start a new process"):
        install_as_tensorflow()
    assert not is_installed()


def test_tfnb_alone_does_not_import_it() -> None:
    """`import tfnb` and a session stay as they are."""
    code = (
        "import sys, tfnb as tf; tf.Session().run(tf.constant(1));"
        "print([m for m in sys.modules if 'as_tensorflow' in m or m == 'tensorflow'])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


@served_here
def test_nest_has_its_older_names() -> None:
    """As `tf.contrib.framework.nest` and as the internal module."""
    for name in ("tensorflow.contrib.framework", "tensorflow.python.util"):
        nest = _import(name).nest
        assert nest.is_sequence([1])
        assert nest.flatten([[1], 2]) == [1, 2]


@pytest.mark.usefixtures("as_tensorflow")
def test_version_2_has_reductions_without_older_arguments() -> None:
    """A library that hands all arguments on by their places gives no more than four."""
    v2 = importlib.import_module("tensorflow.compat.v2")
    for function in (v2.reduce_sum, v2.math.reduce_sum):
        names = list(inspect.signature(function).parameters)
        assert names == ["input_tensor", "axis", "keepdims", "name"]
    assert list(inspect.signature(v2.ones_like).parameters) == ["input", "dtype", "name"]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        found = session.run([v2.reduce_max(x, 1, True, None), v2.zeros_like(input=x)])
    assert found[0].tolist() == [[2.0], [4.0]]
    assert found[1].tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.usefixtures("as_tensorflow")
def test_ops_are_in_raw_ops() -> None:
    """By keyword; `dir` lists them, and the error of another name is that of a namespace."""
    raw_ops = importlib.import_module("tensorflow").raw_ops
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(raw_ops.AddV2(x=1, y=2)) == 3
    assert "AddV2" in dir(raw_ops)
    with pytest.raises(AttributeError, match="NoSuchOp"):
        raw_ops.NoSuchOp()


@pytest.mark.usefixtures("as_tensorflow")
def test_names_that_libraries_look_for() -> None:
    """Distributions by `dir`, the shape that a tensor holds, tests of both modes, no TPU."""
    distributions = importlib.import_module("tensorflow.contrib.distributions")
    assert {"Bernoulli", "Poisson", "Distribution", "kl_divergence"} <= {*dir(distributions)}
    tfe = importlib.import_module("tensorflow.contrib.eager.python").tfe
    assert callable(tfe.run_all_tests_in_graph_and_eager_modes)
    tpu_function = importlib.import_module("tensorflow.python.tpu.tpu_function")
    assert tpu_function.get_tpu_context() is None
    variables = importlib.import_module("tensorflow.python.ops.variables")
    estimator_util = importlib.import_module("tensorflow.python.estimator.util")
    assert estimator_util.fn_args(lambda a, b: a) == ("a", "b")
    with tf.Graph().as_default():
        halves = tf.get_variable("v", [4], partitioner=tf.fixed_size_partitioner(2))
        assert type(halves) is variables.PartitionedVariable
        assert variables.Variable is tf.Variable
    tensor_util = importlib.import_module("tensorflow.python.framework.tensor_util")
    with tf.Graph().as_default():
        shape = tensor_util.constant_value_as_shape(tf.stack([2, tf.placeholder(tf.int32, [])]))
    assert shape.as_list() == [2, None]


def test_sizes_may_be_floats_without_a_fraction_while_it_is_served() -> None:
    """As in TensorFlow 1, whose programs divide sizes by `/`; afterwards they are refused."""
    with served():
        v1 = importlib.import_module("tensorflow")
        with v1.Graph().as_default():
            assert v1.placeholder(v1.float32, [None, 6 / 2]).shape.as_list() == [None, 3]
            assert v1.get_variable("v", [np.float32(4.0), 2]).shape.as_list() == [4, 2]
            assert v1.zeros([10 / 5]).shape == v1.TensorShape([2])
            assert v1.Dimension(3) == 3.0
            with pytest.raises(ValueError, match=r"Ambiguous dimension: 2\.5"):
                v1.TensorShape([5 / 2])
            with pytest.raises(ValueError, match="Ambiguous dimension: nan"):
                v1.TensorShape([float("nan")])
            with pytest.raises(ValueError, match="must be >= 0"):
                v1.TensorShape([-4 / 2])
    if not is_installed():
        with pytest.raises(TypeError, match="must be integer or None"):
            tf.TensorShape([3.0])
