"""Programs of Keras 2: models of each kind train, are saved and are mixed with TensorFlow."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

X = np.sin(np.arange(192, dtype=np.float32)).reshape(64, 3)
SUMS = X.sum(axis=1, keepdims=True)


def _regression(keras: Any, **options: Any) -> Any:
    layers = keras.layers
    model = keras.models.Sequential(
        [layers.Dense(8, activation="tanh", input_shape=(3,)), layers.Dense(1)]
    )
    model.compile("adam", "mse", **options)
    return model


def test_a_sequential_model_learns(keras: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Fit with a progress bar, evaluate and predict."""
    model = _regression(keras, metrics=["mae"])
    before, _ = model.evaluate(X, SUMS, verbose=0)
    history = model.fit(X, SUMS, batch_size=16, epochs=40, verbose=0, validation_split=0.25)
    model.fit(X, SUMS, batch_size=32, verbose=1)
    after, error = model.evaluate(X, SUMS, verbose=0)

    assert after < before / 2
    assert len(history.history["val_loss"]) == 40
    assert "64/64 [==============================]" in capsys.readouterr().out
    np.testing.assert_allclose(np.abs(model.predict(X) - SUMS).mean(), error, rtol=1e-4)


def test_weights_are_variables_too(keras: Any) -> None:
    """Layers and models have them, as in tf.keras; a layer may have an attribute of that name."""
    layers = keras.layers
    model = keras.models.Sequential(
        [layers.Dense(4, input_shape=(3,)), layers.BatchNormalization(), layers.Dense(1)]
    )
    for each in (model, *model.layers):
        assert each.variables == each.weights
        assert each.trainable_variables == each.trainable_weights
        assert each.non_trainable_variables == each.non_trainable_weights
    assert [len(each.variables) for each in model.layers] == [2, 4, 2]
    assert len(model.non_trainable_variables) == 2
    layer = layers.Dense(2)
    assert layer.apply(layers.Input([3])).shape.as_list() == [None, 2]
    layer.variables = "own"
    assert layer.variables == "own"


def test_a_classifier_with_dropout_and_batch_normalization_learns(keras: Any) -> None:
    """Dropout is active in training only, and averages move in training only."""
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Dense(16, activation="relu", input_shape=(3,)),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(2, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.Adam(learning_rate=0.02)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(X, SUMS > 0, epochs=60, verbose=0)
    averages = model.layers[1].get_weights()[2]

    assert model.evaluate(X, SUMS > 0, verbose=0)[1] > 0.9
    np.testing.assert_array_equal(model.predict(X), model.predict(X))
    np.testing.assert_array_equal(model.layers[1].get_weights()[2], averages)
    assert np.abs(averages).max() > 0


def test_a_functional_model_shares_a_layer_and_has_two_outputs(keras: Any) -> None:
    """Losses are given by output, and weighted."""
    layers = keras.layers
    left, right = layers.Input((3,), name="left"), layers.Input((3,), name="right")
    shared = layers.Dense(4, activation="relu", name="shared")
    both = layers.concatenate([shared(left), shared(right)])
    outputs = [layers.Dense(1, name="sum")(both), layers.Dense(1, name="difference")(both)]
    model = keras.models.Model([left, right], outputs)
    model.compile("sgd", {"sum": "mse", "difference": "mae"}, loss_weights={"sum": 2.0})
    targets = {"sum": SUMS * 2, "difference": SUMS * 0}
    total, of_sum, of_difference = model.train_on_batch({"left": X, "right": X}, targets)

    assert len(model.get_layer("shared").weights) == 2
    np.testing.assert_allclose(total, 2 * of_sum + of_difference, rtol=1e-5)
    assert [one.shape for one in model.predict([X, X])] == [(64, 1), (64, 1)]


def test_a_subclassed_model_trains(keras: Any) -> None:
    """Layers are attributes, and `call` joins them."""

    class Two(keras.models.Model):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = keras.layers.Dense(4, activation="relu")
            self.out = keras.layers.Dense(1)

        def call(self, inputs: Any) -> Any:
            return self.out(self.hidden(inputs))

    model = Two()
    model.compile("sgd", "mse")
    losses = model.fit(X, SUMS, epochs=5, verbose=0).history["loss"]

    assert losses[-1] < losses[0]


def test_a_generator_feeds_a_model(keras: Any) -> None:
    """Steps and epochs are counted; the generator goes on without end."""

    def batches() -> Iterator[tuple[Any, Any]]:
        while True:
            for start in range(0, 64, 16):
                yield X[start : start + 16], SUMS[start : start + 16]

    model = _regression(keras)
    history = model.fit_generator(batches(), steps_per_epoch=4, epochs=3, verbose=0, workers=0)

    assert len(history.history["loss"]) == 3
    assert model.predict_generator(iter([X[:16]]), steps=1, workers=0).shape == (16, 1)


def test_callbacks_write_their_files_and_end_a_training(keras: Any, tmp_path: Path) -> None:
    """CSVLogger, ModelCheckpoint, TensorBoard, ReduceLROnPlateau and EarlyStopping."""
    callbacks = keras.callbacks
    model = _regression(keras)
    model.fit(
        X,
        SUMS,
        epochs=9,
        verbose=0,
        validation_data=(X, SUMS),
        callbacks=[
            callbacks.CSVLogger(str(tmp_path / "log.csv")),
            callbacks.ModelCheckpoint(str(tmp_path / "best.h5"), save_best_only=True),
            callbacks.TensorBoard(str(tmp_path / "events"), histogram_freq=1),
            callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=1e9),
            callbacks.EarlyStopping(patience=2, min_delta=1e9),
        ],
    )
    rate = keras.backend.get_value(model.optimizer.lr)

    assert len((tmp_path / "log.csv").read_text().splitlines()) == 1 + 3
    assert len([*(tmp_path / "events").iterdir()]) == 1
    np.testing.assert_allclose(rate, 0.001 / 4)
    assert keras.models.load_model(str(tmp_path / "best.h5")).predict(X).shape == (64, 1)


def test_a_saved_model_goes_on_where_it_was(keras: Any, tmp_path: Path) -> None:
    """The file has architecture, weights and the optimizer's state; texts have the architecture."""
    file = str(tmp_path / "model.h5")
    model = _regression(keras)
    model.fit(X, SUMS, verbose=0)
    model.save(file)
    loaded = keras.models.load_model(file)
    for one in (model, loaded):
        one.train_on_batch(X, SUMS)
    from_text = keras.models.model_from_yaml(model.to_yaml())
    from_text.set_weights(keras.models.model_from_json(model.to_json()).get_weights())
    model.save_weights(file)
    from_text.load_weights(file)

    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-5)
    np.testing.assert_array_equal(from_text.predict(X), model.predict(X))


def test_files_hold_names_as_bytes(keras: Any, tmp_path: Path) -> None:
    """As h5py 2 wrote them, so that TensorFlow 1 reads them."""
    h5py = importlib.import_module("h5py")
    model = _regression(keras)
    model.save_weights(str(tmp_path / "weights.h5"))
    with h5py.File(tmp_path / "weights.h5", "r") as file:
        names = file.attrs["layer_names"]

    assert names.dtype.kind == "S"
    assert [*names] == [layer.name.encode() for layer in model.layers]


SEQUENCES = np.cos(np.arange(60, dtype=np.float32)).reshape(4, 5, 3)


@pytest.mark.parametrize("cell", ["SimpleRNN", "LSTM", "GRU"])
def test_a_recurrent_layer_is_the_same_unrolled_and_backwards(keras: Any, cell: str) -> None:
    """A loop gives what nodes for every time give."""
    layers = keras.layers
    found = []
    for options in ({}, {"unroll": True}, {"go_backwards": True}):
        layer = getattr(layers, cell)(4, return_sequences=True, input_shape=(5, 3), **options)
        model = keras.models.Sequential([layer])
        weights = [np.sin(np.arange(w.size)).reshape(w.shape) / 2 for w in model.get_weights()]
        model.set_weights(weights)
        backwards = options.get("go_backwards", False)
        found.append(model.predict(SEQUENCES[:, ::-1] if backwards else SEQUENCES))

    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("unroll", [False, True])
def test_masked_times_change_nothing(keras: Any, unroll: bool) -> None:
    """A sequence with masked times after it ends as the sequence alone."""
    layers = keras.layers
    padded = SEQUENCES.copy()
    padded[:, 3:] = 0
    model = keras.models.Sequential(
        [layers.Masking(input_shape=(5, 3)), layers.LSTM(4, unroll=unroll)]
    )
    alone = keras.models.Sequential([layers.LSTM(4, input_shape=(3, 3))])
    alone.set_weights(model.get_weights())

    np.testing.assert_allclose(
        model.predict(padded), alone.predict(padded[:, :3]), rtol=1e-5, atol=1e-6
    )


def test_words_train_a_bidirectional_network(keras: Any) -> None:
    """Embedding with a mask, both directions, dropout of states."""
    layers = keras.layers
    words = np.arange(48).reshape(8, 6) % 7
    model = keras.models.Sequential(
        [
            layers.Embedding(7, 4, input_length=6, mask_zero=True),
            layers.Bidirectional(layers.LSTM(3, recurrent_dropout=0.1, return_sequences=True)),
            layers.GRU(3),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("rmsprop", "binary_crossentropy")
    losses = model.fit(words, np.arange(8) % 2, epochs=3, verbose=0).history["loss"]

    assert np.isfinite(losses).all()


def test_pictures_with_channels_first_give_the_same_values(keras: Any) -> None:
    """Convolution and pooling, with one set of weights for both orders."""
    layers = keras.layers
    pictures = np.sin(np.arange(2 * 8 * 8 * 3, dtype=np.float32)).reshape(2, 8, 8, 3)

    def network(order: str, shape: tuple[int, ...]) -> Any:
        return keras.models.Sequential(
            [
                layers.Conv2D(4, 3, activation="relu", data_format=order, input_shape=shape),
                layers.MaxPooling2D(data_format=order),
                layers.GlobalAveragePooling2D(data_format=order),
            ]
        )

    last, first = network("channels_last", (8, 8, 3)), network("channels_first", (3, 8, 8))
    first.set_weights(last.get_weights())

    np.testing.assert_allclose(
        first.predict(pictures.transpose(0, 3, 1, 2)), last.predict(pictures), rtol=1e-4, atol=1e-6
    )


def test_a_layer_of_the_program_attends_over_time(keras: Any) -> None:
    """A custom layer with weights of its own, saved with its configuration."""
    backend = keras.backend

    class Attention(keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.query = self.add_weight(
                name="query", shape=(input_shape[-1], 1), initializer="ones"
            )
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            scores = backend.softmax(backend.dot(inputs, self.query), axis=1)
            return backend.sum(inputs * scores, axis=1)

        def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
            return input_shape[0], input_shape[2]

    model = keras.models.Sequential([Attention(input_shape=(5, 3))])
    copy = keras.models.model_from_json(model.to_json(), {"Attention": Attention})
    weights = np.exp(SEQUENCES.sum(axis=2, keepdims=True))
    expected = (SEQUENCES * weights).sum(axis=1) / weights.sum(axis=1)

    np.testing.assert_allclose(copy.predict(SEQUENCES), expected, rtol=1e-4, atol=1e-6)


def test_an_application_predicts(keras: Any) -> None:
    """A network of keras_applications with random weights."""
    model = keras.applications.MobileNet(
        weights=None, input_shape=(32, 32, 3), alpha=0.25, classes=2
    )
    found = model.predict(np.ones((1, 32, 32, 3), np.float32))

    np.testing.assert_allclose(found.sum(), 1, rtol=1e-5)


def test_layers_are_parts_of_a_graph_of_the_program(keras: Any, tf: Any) -> None:
    """A program's placeholders, losses and optimizers, with Keras' layers and session."""
    backend = keras.backend
    session = tf.Session()
    backend.set_session(session)
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    hidden = keras.layers.Dropout(0.5)(keras.layers.Dense(8, activation="tanh")(x))
    loss = tf.losses.mean_squared_error(y, keras.layers.Dense(1)(hidden))
    train = tf.train.AdamOptimizer(0.03).minimize(loss)
    assert backend.get_session() is session  # and variables are initialized now
    feeds = {x: X, y: SUMS}
    before = session.run(loss, feeds)
    for _ in range(30):
        session.run(train, {**feeds, backend.learning_phase(): 1})

    assert session.run(loss, feeds) < before / 2


def test_a_function_of_the_backend_runs_updates_and_further_fetches(keras: Any, tf: Any) -> None:
    """Outputs are computed before the updates."""
    backend = keras.backend
    x = backend.placeholder(shape=(2,))
    total = backend.variable(np.zeros(2), name="total")
    seen: list[Any] = []
    f = backend.function([x], [x * 2 + total], updates=[(total, total + x)], fetches=[x + 1])
    f.fetch_callbacks[f.fetches[0]] = seen.append
    found = [f([np.array([1, 2])])[0] for _ in range(2)]

    np.testing.assert_array_equal(found, [[2, 4], [3, 6]])
    np.testing.assert_array_equal(seen, [[2, 3]] * 2)
    np.testing.assert_array_equal(backend.get_value(total), [2, 4])
    np.testing.assert_array_equal(f([tf.constant([5.0, 5.0])])[0], [12, 14])
    with pytest.raises(ValueError, match="session_kwargs are not supported"):
        backend.function([x], [x], other=1)


def test_tensors_train_a_model_instead_of_arrays(keras: Any, tf: Any) -> None:
    """As from a data set's iterator."""
    model = _regression(keras)
    history = model.fit(
        tf.constant(X), tf.constant(SUMS), epochs=2, steps_per_epoch=3, verbose=0
    ).history

    assert len(history["loss"]) == 2


PROBABILITIES = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], np.float32)


@pytest.mark.parametrize("from_logits", [False, True])
@pytest.mark.parametrize("is_made_by_op", [False, True])
def test_cross_entropies_are_those_of_their_formula(
    keras: Any, tf: Any, from_logits: bool, is_made_by_op: bool
) -> None:
    """Of probabilities, of logits, and of probabilities that an activation made."""
    backend = keras.backend
    numbers = np.array([2, 1])
    logits = np.log(PROBABILITIES)
    if from_logits:
        output = tf.constant(logits)
    else:
        output = tf.nn.softmax(logits) if is_made_by_op else tf.constant(PROBABILITIES)
    expected = -np.log(PROBABILITIES[[0, 1], numbers])
    of_classes = backend.categorical_crossentropy(
        tf.one_hot(numbers, 3), output, from_logits=from_logits
    )
    of_numbers = backend.sparse_categorical_crossentropy(
        tf.constant(numbers), output, from_logits=from_logits
    )

    np.testing.assert_allclose(backend.eval(of_classes), expected, rtol=1e-5)
    np.testing.assert_allclose(backend.eval(of_numbers), expected, rtol=1e-5)


def test_names_of_the_backend_that_programs_use_are_there(keras: Any, tf: Any) -> None:
    """Sessions, `K.tf`; a name that is nowhere is an AttributeError."""
    backend = keras.backend

    assert backend.tf is tf
    assert backend.get_session().graph is tf.get_default_graph()
    assert backend.backend() == "tensorflow"
    assert not hasattr(backend, "nothing_of_that_name")
