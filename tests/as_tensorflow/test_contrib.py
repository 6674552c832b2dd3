"""`tf.contrib`, of tf-slim and of tfnb's own names."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        yield tf


def test_a_network_of_slim_trains(tf: Any) -> None:
    """Layers, argument scopes, losses and the training operation."""
    slim = importlib.import_module("tensorflow.contrib.slim")
    x = tf.constant(np.linspace(-1, 1, 16, dtype=np.float32).reshape(8, 2))
    with slim.arg_scope([slim.fully_connected], activation_fn=tf.nn.tanh):
        y = slim.fully_connected(slim.fully_connected(x, 5), 1)
    loss = tf.losses.mean_squared_error(tf.reduce_sum(x, 1, keepdims=True) / 4, y)
    train = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run(train) for _ in range(30)]

    assert losses[-1] < losses[0] / 4


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("layers", "xavier_initializer"),
        ("layers", "l2_regularizer"),
        ("layers", "layer_norm"),
        ("layers.python.layers", "batch_norm"),
        ("framework", "arg_scope"),
        ("framework", "get_variables_to_restore"),
        ("framework", "nest"),
        ("framework.python.ops", "add_arg_scope"),
        ("training", "HParams"),
        ("metrics", "streaming_accuracy"),
        ("losses", "softmax_cross_entropy"),
        ("slim.nets", "resnet_v1"),
        ("rnn", "LSTMCell"),
        ("data", "map_and_batch"),
        ("distributions", "Normal"),
        ("staging", "StagingArea"),
        ("memory_stats", "BytesLimit"),
        ("learn", "ModeKeys"),
        ("learn.python.learn.preprocessing", "VocabularyProcessor"),
        ("learn.python.learn", "learn_runner"),
        ("learn.python.learn.estimators.run_config", "RunConfig"),
        ("learn.python.learn.estimators.model_fn", "ModelFnOps"),
        ("learn.python.learn.datasets.mnist", "read_data_sets"),
        ("learn.python.learn.utils.saved_model_export_utils", "make_export_strategy"),
        ("learn.python.learn.metric_spec", "MetricSpec"),
        ("learn.python.learn.monitors", "ValidationMonitor"),
        ("learn.monitors", "ValidationMonitor"),
        ("layers.python.layers.feature_column", "real_valued_column"),
        ("slim", "nets"),
        ("eager", "in_eager_mode"),
        ("tpu", "TPUEstimator"),
        ("tpu.python.tpu.tpu_estimator", "TPUEstimator"),
        ("estimator", "binary_classification_head"),
        ("quantize", "create_training_graph"),
        ("tfprof.model_analyzer", "FLOAT_OPS_OPTIONS"),
    ],
)
def test_names_are_where_programs_look(module: str, name: str) -> None:
    """As `from tensorflow.contrib.module import name`."""
    found = importlib.import_module(f"tensorflow.contrib.{module}")
    assert hasattr(found, name)


@pytest.mark.parametrize("module", ["framework", "framework.python.ops", "slim"])
def test_a_scope_of_arguments_is_a_function(module: str) -> None:
    """It is none of the file in which tf-slim has it."""
    assert callable(importlib.import_module(f"tensorflow.contrib.{module}").arg_scope)


def test_the_older_profiler_counts_parameters(tf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the view and returns it; a context that is not enabled lets its block run."""
    tfprof = importlib.import_module("tensorflow.contrib.tfprof")
    tf.get_variable("weights", [3, 4])
    with tfprof.ProfileContext("unused", enabled=False):
        found = tfprof.model_analyzer.print_model_analysis(tf.get_default_graph())

    assert found.total_parameters == 12
    assert "weights" in capsys.readouterr().out
    with pytest.raises(NotImplementedError, match=r"Profiler\.add_step"):
        tfprof.ProfileContext("unused")


def test_quantized_training_is_refused_when_it_is_used(tf: Any) -> None:
    """Programs import it for an option."""
    quantize = importlib.import_module("tensorflow.contrib.quantize")
    with pytest.raises(NotImplementedError, match="convert the weights afterwards"):
        quantize.create_training_graph(quant_delay=0)


@pytest.mark.parametrize("cell", ["LayerNormBasicLSTMCell", "UGRNNCell", "OutputProjectionWrapper"])
def test_a_cell_runs_over_time_and_has_gradients(tf: Any, cell: str) -> None:
    """Values are finite, and every variable has a gradient."""
    rnn = importlib.import_module("tensorflow.contrib.rnn")
    made = (
        rnn.OutputProjectionWrapper(rnn.GRUCell(4), 3)
        if cell == "OutputProjectionWrapper"
        else getattr(rnn, cell)(3)
    )
    x = tf.constant(np.sin(np.arange(40, dtype=np.float32)).reshape(2, 5, 4))
    outputs, _ = tf.nn.dynamic_rnn(made, x, dtype=tf.float32)
    gradients = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, *found = session.run([outputs, *gradients])

    assert values.shape == (2, 5, 3)
    assert all(np.isfinite(one).all() for one in [values, *found])


@pytest.mark.parametrize("part", ["slim", "layers", "framework", "training"])
def test_without_tf_slim_the_error_says_what_to_install(part: str) -> None:
    """HParams, nest and others do not need it."""
    code = (
        "import sys\nsys.modules['tf_slim'] = None\n"
        "import tfnb; tfnb.install_as_tensorflow()\n"
        "from tensorflow.contrib.training import HParams\n"
        f"from tensorflow.contrib.{part} import arg_scope\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "type pip install 'tfnb[contrib]'" in found.stderr.splitlines()[-1], found.stderr


@pytest.mark.slow
def test_slim_evaluates_a_checkpoint(tf: Any, tmp_path: Path) -> None:
    """A number of times, with feeds, and the final value at the end."""
    slim = importlib.import_module("tensorflow.contrib.slim")
    weight = tf.get_variable("weight", initializer=2.0)
    fed = tf.placeholder(tf.float32, [])
    value, update = slim.metrics.streaming_mean(weight * fed)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver([weight]).save(session, str(tmp_path / "model"))
    counted = []

    class Count(tf.train.SessionRunHook):  # type: ignore[misc]
        def after_run(self, run_context: Any, run_values: Any) -> None:
            counted.append(1)

    found = slim.evaluation.evaluate_once(
        "", path, str(tmp_path), 3, eval_op=update, eval_op_feed_dict={fed: 4.0}, final_op=value,
        hooks=[Count()], variables_to_restore=[weight],
    )  # fmt: skip
    assert found == 8
    assert len(counted) == 3


@pytest.mark.slow
def test_slim_reads_a_checkpoint_into_parts_of_a_variable(tf: Any, tmp_path: Path) -> None:
    """Each part gets its rows."""
    slim = importlib.import_module("tensorflow.contrib.slim")
    rows = np.arange(8.0).reshape(4, 2)
    with tf.Session() as session:
        whole = tf.get_variable("w", initializer=tf.constant(rows))
        session.run(whole.initializer)
        path = tf.train.Saver([whole]).save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        halves = tf.fixed_size_partitioner(2)
        parts = tf.get_variable("w", [4, 2], tf.float64, partitioner=halves)
        assign, feeds = slim.assign_from_checkpoint(path, list(parts))
        session.run(assign, feeds)
        np.testing.assert_array_equal(session.run(parts.as_tensor()), rows)


@pytest.mark.slow
def test_slim_imports_scikit_learn_when_a_measure_of_clusters_needs_it() -> None:
    """And Keras not at all."""
    code = (
        "import sys, tfnb; tfnb.install_as_tensorflow()\n"
        "import tensorflow.contrib.slim\n"
        "from tf_slim.losses import metric_learning\n"
        "assert not {'sklearn', 'scipy', 'keras', 'pandas'} & {*sys.modules}, sys.modules.keys()\n"
        "assert metric_learning.HAS_SKLEARN\n"
        "print(metric_learning.metrics.v_measure_score([0, 1], [1, 0]))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "1.0\n"


def test_layer_norm_lstm_without_normalization_is_an_lstm(tf: Any) -> None:
    """Its answers are those of BasicLSTMCell with the same weights."""
    rnn = importlib.import_module("tensorflow.contrib.rnn")
    x = tf.constant(np.cos(np.arange(24, dtype=np.float32)).reshape(2, 3, 4))
    start = tf.constant_initializer(0.1)
    with tf.variable_scope("a", initializer=start):
        plain, _ = tf.nn.dynamic_rnn(rnn.BasicLSTMCell(3), x, dtype=tf.float32)
    with tf.variable_scope("b", initializer=start):
        cell = rnn.LayerNormBasicLSTMCell(3, layer_norm=False)
        found, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([v.assign(tf.zeros_like(v)) for v in tf.global_variables() if "bias" in v.name])
        np.testing.assert_allclose(*session.run([found, plain]), rtol=1e-6)


def test_layers_in_both_directions_are_stacked(tf: Any) -> None:
    """Each layer gets both directions of the one below."""
    rnn = importlib.import_module("tensorflow.contrib.rnn")
    x = tf.zeros([2, 5, 4])
    cells = [[rnn.GRUCell(size) for size in (3, 6)] for _ in range(2)]
    outputs, forward, backward = rnn.stack_bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32)

    assert outputs.shape.as_list() == [2, 5, 12]
    assert [one.shape.as_list() for one in (*forward, *backward)] == [[2, 3], [2, 6]] * 2
    with pytest.raises(ValueError, match="same depth"):
        rnn.stack_bidirectional_dynamic_rnn(cells[0], [], x, dtype=tf.float32)


def test_the_memory_of_the_process_is_measured(tf: Any) -> None:
    """At each fetch; the most is no less than what is in use."""
    stats = importlib.import_module("tensorflow.contrib.memory_stats")
    with tf.Session() as session:
        used = session.run(stats.BytesInUse())
        most = session.run(stats.MaxBytesInUse())
    assert most >= used > 1_000_000


def test_scopes_that_ask_for_compilation_change_nothing(tf: Any) -> None:
    """And `contrib.eager` says that there is no eager mode."""
    jit = importlib.import_module("tensorflow.contrib.compiler.jit")
    eager = importlib.import_module("tensorflow.contrib.eager")
    with jit.experimental_jit_scope(), tf.Session() as session:
        assert session.run(tf.constant(1)) == 1
    assert not eager.in_eager_mode()
    with pytest.raises(NotImplementedError, match="no eager mode"):
        eager.defun(lambda: None)


def test_sums_over_devices(tf: Any) -> None:
    """Each device has the sum."""
    nccl = importlib.import_module("tensorflow.contrib.nccl")
    with tf.Session() as session:
        assert session.run(nccl.all_sum([tf.constant(1.0), tf.constant(2.0)])) == [3.0, 3.0]


class TestHParams:
    """Hyperparameters keep their types."""

    def test_values_are_parsed(self) -> None:
        """Numbers, truth values, lists and their items."""
        made = _hparams(rate=0.1, steps=10, name="a", fast=True, sizes=[1, 2])
        found = made.parse("rate=1,steps=5,name=b c,fast=false,sizes=[3,4,5]").parse("sizes[1]=9")

        assert found is made
        assert made.values() == {
            "rate": 1.0, "steps": 5, "name": "b c", "fast": False, "sizes": [3, 9, 5],
        }  # fmt: skip
        assert made.to_json(sort_keys=True).startswith('{"fast": false')
        assert "rate" in made
        assert made.get("absent", 3) == 3

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("other=1", "Unknown hyperparameter"),
            ("steps=1.5", "Could not parse"),
            ("steps", "Malformed"),
            ("sizes=[1", "Malformed"),
            ("steps=[1,2]", "Must not pass a list"),
            ("sizes=3", "Must pass a list"),
            ("steps=1,steps=2", "Multiple assignments to variable 'steps'"),
            ("sizes=[1],sizes[0]=2", "Multiple assignments to variable 'sizes'"),
            ("sizes[0]=1,sizes[0]=2", r"Multiple assignments to variable 'sizes\[0\]'"),
            ("sizes[0]=[1,2]", "Assignment of a list to a list index"),
            ("sizes[7]=1", "no number 7"),
            ("fast=maybe", "truth value"),
        ],
    )
    def test_bad_values_are_refused(self, text: str, says: str) -> None:
        """The message names what is wrong; the values stay."""
        made = _hparams(steps=10, fast=True, sizes=[1, 2])
        with pytest.raises(ValueError, match=says):
            made.parse(text)
        assert made.values() == {"steps": 10, "fast": True, "sizes": [1, 2]}

    def test_their_text_can_be_parsed(self) -> None:
        """Also names with points; `repr` sorts them."""
        made = _hparams(b=[2.0, 3.0], a=1, c="relu6")
        made.add_hparam("d.e", 0.5)
        other = _hparams(a=4, b=[5.0], c="tanh")
        other.add_hparam("d.e", 0.0)

        assert str(made) == "b=[2.0, 3.0],a=1,c=relu6,d.e=0.5"
        assert other.parse(str(made)).values() == made.values()
        assert repr(_hparams(b=2, a=1)) == "HParams([('a', 1), ('b', 2)])"

    def test_values_are_read_by_their_types(self) -> None:
        """A function of its own, which may leave out unknown names."""
        training = importlib.import_module("tensorflow.contrib.training")
        types = {"x": int, "list": float}

        assert training.parse_values("x=1,list[0]=2,list[5]=3", types) == {
            "x": 1, "list": {0: 2.0, 5: 3.0},
        }  # fmt: skip
        assert training.parse_values("y=a,list=[1, 2]", types, ignore_unknown=True) == {
            "list": [1.0, 2.0]
        }
        with pytest.raises(ValueError, match="Unknown hyperparameter type for y"):
            training.parse_values("y=a", types)

    def test_they_are_set_by_name(self) -> None:
        """A float takes an integer; an integer takes no float."""
        made = _hparams(rate=0.1, steps=10)
        made.override_from_dict({"rate": 2})
        with pytest.raises(ValueError, match="'steps' of type 'int'"):
            made.set_hparam("steps", 0.5)
        with pytest.raises(ValueError, match="reserved"):
            made.add_hparam("rate", 1)
        assert made.values() == {"rate": 2.0, "steps": 10}


def _hparams(**values: Any) -> Any:
    return importlib.import_module("tensorflow.contrib.training").HParams(**values)


def test_an_optimizer_of_several_shards_is_the_one_it_wraps(tf: Any) -> None:
    """A step and a slot are those of the optimizer; sums over replicas are the tensor."""
    tpu = importlib.import_module("tensorflow.contrib.tpu")
    variable = tf.Variable(1.0)
    optimizer = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.5, 0.9))
    train = optimizer.minimize(tpu.cross_replica_sum(variable * 2.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([variable, optimizer.get_slot(variable, "momentum")]) == [0, 2]


def test_what_needs_a_tpu_says_so_when_it_is_used(tf: Any) -> None:
    """It can be imported."""
    tpu = importlib.import_module("tensorflow.contrib.tpu")
    rewrite = tpu.rewrite
    with pytest.raises(NotImplementedError, match="it needs TPUs; tfnb runs on CPUs and GPUs"):
        rewrite(lambda: 1)
    with pytest.raises(NotImplementedError, match=r"tf.saved_model.load"):
        tf.contrib.estimator.SavedModelEstimator("folder")


@pytest.mark.slow
def test_extenders_forward_features_and_clip_gradients(tf: Any, tmp_path: Path) -> None:
    """A key of the input is among the predictions; no step is longer than its clipped gradient."""
    contrib = importlib.import_module("tensorflow.contrib.estimator")
    optimizer = contrib.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 0.1)
    column = tf.feature_column.numeric_column("x")
    model = tf.estimator.LinearEstimator(
        contrib.regression_head(), [column], str(tmp_path), optimizer=optimizer
    )

    def read() -> Any:
        features = {"x": [[3.0], [4.0]], "id": [7, 8]}
        return tf.data.Dataset.from_tensor_slices((features, [100.0, 100.0])).batch(2)

    model.train(read)
    names = ("linear/linear_model/x/weights", "linear/linear_model/bias_weights")
    step = np.concatenate([model.get_variable_value(name).ravel() for name in names])
    predictions = list(contrib.forward_features(model, "id").predict(read))

    assert np.linalg.norm(step) == pytest.approx(0.1, rel=1e-4)
    assert [one["id"] for one in predictions] == [7, 8]
    with pytest.raises(ValueError, match="Key 'y' not in features"):
        next(contrib.forward_features(model, ["y"]).predict(read))


class TestLeftovers:
    """Parts that tf-slim does not have, and what is refused."""

    def test_sequences_are_embedded(self, tf: Any) -> None:
        """With one table, looked up once for each id, which is shared by its scope."""
        layers, ids = tf.contrib.layers, tf.constant([[1, 2, 1], [0, 2, 2]])
        one = layers.embed_sequence(ids, 3, 4, scope="words")
        other = layers.embed_sequence(ids, 3, 4, unique=True, scope="words", reuse=True)
        table = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)[0]
        bag = layers.bow_encoder(ids, 3, 4, scope="words", reuse=True)
        assert table.op.name == "words/embeddings"
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            rows, again, means, values = session.run([one, other, bag, table])
        np.testing.assert_array_equal(rows, values[[[1, 2, 1], [0, 2, 2]]])
        np.testing.assert_array_equal(rows, again)
        want = [values[[1, 2, 1]].mean(0), values[[2, 2]].mean(0)]
        np.testing.assert_allclose(means, want, rtol=1e-5)
        with pytest.raises(ValueError, match="vocab size"):
            layers.embed_sequence(ids)

    def test_empty_rows_of_ids_have_zeros(self, tf: Any) -> None:
        """The mean is the default combiner."""
        ids = tf.SparseTensor([[0, 0], [0, 1]], [1, 2], [2, 2])
        found = tf.contrib.layers.safe_embedding_lookup_sparse(tf.eye(3), ids)
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(found), [[0, 0.5, 0.5], [0, 0, 0]])

    def test_sparsemax_of_infinity_and_nan(self, tf: Any) -> None:
        """Minus infinity has no share; rows with NaN or infinity have none that is known."""
        part = importlib.import_module("tensorflow.contrib.sparsemax")
        inf, nan = np.inf, np.nan
        logits = [[0, -inf, 0], [0, -inf, -inf], [0, inf, -inf], [-inf] * 3, [0, nan, 0]]
        shares = part.sparsemax(tf.constant(logits))
        loss = part.sparsemax_loss(tf.constant(logits[:2]), shares[:2], [[1.0, 0, 0]] * 2)
        with tf.Session() as session:
            found, lost = session.run([shares, loss])

        expected = [[0.5, 0, 0.5], [1, 0, 0], [nan] * 3, [nan] * 3, [nan] * 3]
        np.testing.assert_array_equal(found, np.array(expected, np.float32))
        np.testing.assert_allclose(lost, [0.25, 0.0])

    def test_sparsemax_is_the_nearest_point_of_the_simplex(self, tf: Any) -> None:
        """With zeros; the gradient of its loss is the difference from the labels."""
        part = importlib.import_module("tensorflow.contrib.sparsemax")
        logits = tf.constant(np.float32([[1.0, 0.8, -1.0], [3.0, 0.0, 0.0], [0.1, 0.1, 0.1]]))
        labels = np.float32([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]])
        shares = part.sparsemax(logits)
        loss = part.sparsemax_loss(logits, tf.stop_gradient(shares), tf.constant(labels))
        with tf.Session() as session:
            got, slope = session.run([shares, tf.gradients(loss, logits)[0]])
        want = [[0.6, 0.4, 0], [1, 0, 0], [1 / 3] * 3]
        np.testing.assert_allclose(got, want, atol=1e-6)
        np.testing.assert_allclose(slope, want - labels, atol=1e-6)

    def test_a_program_runs_in_the_default_strategy(self, tf: Any) -> None:
        """It has one replica; strategies for several say what to use."""
        from tfnb.as_tensorflow.served_names import what_stops

        context = tf.distribute.get_replica_context()
        assert context.merge_call(lambda strategy, one: one + 1, args=(2,)) == 3
        assert not tf.compat.v1.distribute.has_strategy()
        with pytest.raises(AttributeError, match=r"tf\.device"):
            tf.distribute.MirroredStrategy  # noqa: B018
        assert what_stops("tensorflow.distribute.get_strategy") is None
        assert what_stops("tensorflow.distribute.MirroredStrategy") is not None

    def test_counts_at_thresholds_are_those_of_outcomes(self, tf: Any) -> None:
        """As tf-slim's F1 score uses them; another outcome is refused."""
        module = importlib.import_module("tensorflow.python.ops.metrics_impl")
        count = module._confusion_matrix_at_thresholds
        labels, predictions = tf.constant([1, 0, 1, 1]), tf.constant([0.9, 0.8, 0.3, 0.6])
        _, updates = count(labels, predictions, [0.5, 0.7], includes=("tp", "fp", "fn"))
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            got = session.run(updates)
        assert {name: one.tolist() for name, one in got.items()} == {
            "tp": [2, 1], "fp": [1, 1], "fn": [1, 2],
        }  # fmt: skip
        with pytest.raises(ValueError, match="Invalid key: all"):
            count(labels, predictions, [0.5], includes=("all",))

    def test_structures_have_older_names_too(self, tf: Any) -> None:
        """`nest` of `framework`, with what TensorFlow called a sequence."""
        nest = tf.contrib.framework.nest
        assert nest.is_sequence((1, 2))
        assert nest.flatten({"b": 1, "a": (2, 3)}) == [2, 3, 1]

    def test_shapes_are_checked(self, tf: Any) -> None:
        """Before a run where they are known, or else in it."""
        framework = tf.contrib.framework
        given = tf.placeholder(tf.float32, [None, 2])
        with pytest.raises(ValueError, match="expected"):
            framework.with_shape([3, 3], given)
        checked = framework.with_shape([3, 2], given)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {given: np.zeros([2, 2])})
        assert framework.get_placeholders(given.graph) == [given]
        with pytest.raises(ValueError, match="integer"):
            framework.assert_scalar_int(1.5)

    @pytest.mark.parametrize(
        ("module", "name", "says"),
        [
            ("layers", "scattered_embedding_column", "embedding_column"),
            ("training", "batch_sequences_with_states", "initial_state"),
            ("learn", "SVM", "LinearClassifier"),
        ],
    )
    def test_what_is_not_there_says_what_to_use(self, module: str, name: str, says: str) -> None:
        """When it is called; doctor says the same."""
        from tfnb.as_tensorflow.served_names import what_stops

        found = getattr(importlib.import_module(f"tensorflow.contrib.{module}"), name)
        with pytest.raises(NotImplementedError, match=says):
            found(1)
        advice = what_stops(f"tensorflow.contrib.{module}.{name}")
        assert advice is not None
        assert importlib.import_module("re").search(says, advice)

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("seq2seq", "BeamSearchDecoder"),
            ("crf", "crf_decode"),
            ("opt", "AdamWOptimizer"),
            ("image", "rotate"),
            ("cudnn_rnn", "CudnnLSTM"),
            ("layers", "embed_sequence"),
            ("layers.python.layers", "initializers"),
            ("metrics", "confusion_matrix"),
            ("signal", "stft"),
            ("learn", "ModeKeys"),
            ("learn", "Experiment"),
            ("layers", "sparse_column_with_keys"),
            ("factorization", "KMeansClustering"),
            ("predictor", "from_saved_model"),
            ("linalg", "LinearOperatorDiag"),
            ("stateless", "stateless_random_normal"),
            ("util", "ops_used_by_graph_def"),
            ("lookup", "string_to_index_table_from_tensor"),
        ],
    )
    def test_doctor_knows_what_is_there(self, module: str, name: str) -> None:
        """And programs find it there."""
        from tfnb.as_tensorflow.served_names import what_stops

        assert what_stops(f"tensorflow.contrib.{module}.{name}") is None
        assert hasattr(importlib.import_module(f"tensorflow.contrib.{module}"), name)
