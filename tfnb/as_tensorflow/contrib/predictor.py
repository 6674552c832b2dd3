"""``tf.contrib.predictor``: exported models and Estimators as functions of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.export.export_outputs import signature_defs
from tfnb.client.estimator.model_fn import ModeKeys
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DEFAULT = "serving_default"


class Predictor:
    """A function of named arrays, which runs in a session of its own.

    Args:
      graph: the graph.
      session: the session.
      feed_tensors: key -> tensor that is fed.
      fetch_tensors: key -> tensor that is fetched.

    Attributes:
      graph: the graph.
      session: the session.
      feed_tensors: key -> tensor that is fed.
      fetch_tensors: key -> tensor that is fetched.
    """

    def __init__(
        self,
        graph: Any,
        session: Any,
        feed_tensors: Mapping[str, Any],
        fetch_tensors: Mapping[str, Any],
    ) -> None:
        self.graph = graph
        self.session = session
        self.feed_tensors = dict(feed_tensors)
        self.fetch_tensors = dict(fetch_tensors)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} with feed tensors {self.feed_tensors} and fetch_tensors "
            f"{self.fetch_tensors}"
        )

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return key -> result.

        Args:
          input_dict: key -> array; an input that is left out must have a default.

        Raises:
          ValueError: an input is not known.
        """
        unexpected = sorted(set(input_dict) - set(self.feed_tensors))
        if unexpected:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unexpected}; expected: "
                f"{sorted(self.feed_tensors)}"
            )
        feeds = {self.feed_tensors[key]: value for key, value in input_dict.items()}
        found: dict[str, Any] = self.session.run(self.fetch_tensors, feeds)
        return found


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: Any = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return a function of an exported model.

    Args:
      export_dir: the folder of the model.
      signature_def_key: the name of a signature; "serving_default" by default.
      signature_def: a signature, instead of its name.
      input_names: key -> name of a tensor, instead of a signature.
      output_names: key -> name of a tensor, instead of a signature.
      tags: of the graph to load, a set or a text with commas; "serve" by default.
      graph: the graph to load it into; a new one by default.
      config: of the session.

    Raises:
      ValueError: the signature is given in several ways, or the model does not have it.
    """
    ways = [signature_def_key is not None, signature_def is not None, input_names is not None]
    if sum(ways) > 1 or (input_names is None) != (output_names is None):
        raise ValueError(
            "Give one of signature_def_key, signature_def, or input_names with output_names."
        )
    if tags is None:
        tags = ["serve"]
    elif isinstance(tags, str):
        tags = tags.split(",")
    graph = tf.Graph() if graph is None else graph
    with graph.as_default():
        session = tf.Session(config=config)
        loaded = tf.saved_model.loader.load(session, sorted(tags), str(export_dir))
    if input_names is None or output_names is None:
        signature = signature_def or _signature(loaded, signature_def_key or _DEFAULT, export_dir)
        input_names = {key: info.name for key, info in signature.inputs.items()}
        output_names = {key: info.name for key, info in signature.outputs.items()}
    find = graph.get_tensor_by_name
    return Predictor(
        graph,
        session,
        {key: find(name) for key, name in input_names.items()},
        {key: find(name) for key, name in output_names.items()},
    )


def _signature(loaded: Any, key: str, export_dir: Any) -> Any:
    if key not in loaded.signature_def:
        raise ValueError(
            f"Got signature_def_key {key!r}. Available signatures are "
            f"{sorted(loaded.signature_def)} in {export_dir}."
        )
    return loaded.signature_def[key]


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return a function of the latest checkpoint of an Estimator.

    Args:
      estimator: the Estimator.
      serving_input_receiver_fn: returns the inputs.
      output_key: the name of an exported output; "serving_default" by default.
      graph: the graph to build it in; a new one by default.
      config: of the session.

    Raises:
      TypeError: ``estimator`` is none.
      ValueError: it has no checkpoint, or no output of that name.
    """
    if not isinstance(estimator, tf.estimator.Estimator):
        raise TypeError(f"Expected estimator to be a tf.estimator.Estimator, but got {estimator}")
    path = estimator.latest_checkpoint()
    if not path:
        raise ValueError(
            f"Could not find trained model in model_dir: {estimator.model_dir}. Call train first."
        )
    graph = tf.Graph() if graph is None else graph
    with graph.as_default():
        tf.train.create_global_step(graph)
        receiver = serving_input_receiver_fn()
        spec = estimator.build_export(receiver, ModeKeys.PREDICT)
        signatures = signature_defs(receiver.receiver_tensors, spec.export_outputs)
        signature = signatures.get(output_key or _DEFAULT)
        if signature is None:
            raise ValueError(
                f"Got output_key {output_key or _DEFAULT!r}. Available are {sorted(signatures)}."
            )
        scaffold = spec.scaffold.finalize()
        session = tf.Session(config=config)
        scaffold.saver.restore(session, path)
        session.run(scaffold.local_init_op)
    find = graph.get_tensor_by_name
    return Predictor(
        graph,
        session,
        {key: find(info.name) for key, info in signature.inputs.items()},
        {key: find(info.name) for key, info in signature.outputs.items()},
    )


# contrib.learn's Estimator is one of tf.estimator here.
from_contrib_estimator = from_estimator
