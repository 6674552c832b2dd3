"""``tf.contrib.training``: hyperparameters, and tf-slim's training loops."""

from __future__ import annotations

import json
import re
from typing import Any

from tfnb.as_tensorflow.contrib.ps_strategies import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
)
from tfnb.as_tensorflow.contrib.ps_strategies import RandomStrategy as RandomStrategy
from tfnb.as_tensorflow.contrib.ps_strategies import byte_size_load_fn as byte_size_load_fn
from tfnb.as_tensorflow.contrib.slim_modules import name_of_slim
from tfnb.as_tensorflow.contrib.training_batches import bucket as bucket
from tfnb.as_tensorflow.contrib.training_batches import (
    bucket_by_sequence_length as bucket_by_sequence_length,
)
from tfnb.as_tensorflow.contrib.training_batches import rejection_sample as rejection_sample
from tfnb.as_tensorflow.contrib.training_batches import resample_at_rate as resample_at_rate
from tfnb.as_tensorflow.contrib.training_batches import stratified_sample as stratified_sample
from tfnb.as_tensorflow.contrib.training_batches import weighted_resample as weighted_resample
from tfnb.as_tensorflow.missing_name import missing_name

_PLACES = ("tf_slim.training", "tf_slim.training.evaluation", "tf_slim.training.training")
_ITEM = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)(?:\[(?P<index>\d+)\])?\s*=\s*")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class HParams:
    """Named hyperparameters as attributes, with types that stay.

    >>> hparams = HParams(rate=0.1, sizes=[3, 4])
    >>> hparams.parse("rate=1,sizes=[5,6]").values()
    {'rate': 1.0, 'sizes': [5, 6]}
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **values: Any) -> None:
        """Make them.

        Args:
          hparam_def: a message of hyperparameters; refused, since tfnb does not have it.
          model_structure: kept as it is.
          **values: name and value of each; a list makes a list of its first element's type.

        Raises:
          ValueError: a list is empty, or a name is a method's.
        """
        if hparam_def is not None:
            raise NotImplementedError("HParamDef messages are not there: give names and values")
        self._model_structure = model_structure
        self._types: dict[str, tuple[type, bool]] = {}
        for name, value in values.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a hyperparameter.

        Raises:
          ValueError: the name is taken, or the list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, list | tuple):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._types[name] = (type(value[0]), True)
        else:
            self._types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Set a hyperparameter that is there, keeping its type.

        Raises:
          KeyError: there is none of that name.
          ValueError: the value has another type, or is a list where one value belongs.
        """
        kind, is_list = self._types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, kind, one) for one in value])
        else:
            if is_list:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
            setattr(self, name, _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Remove a hyperparameter, if it is there."""
        if name in self._types:
            delattr(self, name)
            del self._types[name]

    def get(self, key: str, default: Any = None) -> Any:
        """Return a hyperparameter, or the default.

        Raises:
          ValueError: the default has another type.
        """
        if key not in self._types:
            return default
        kind, is_list = self._types[key]
        if default is not None:
            if is_list and not isinstance(default, list):
                raise ValueError(f"Hyperparameter '{key}' is a list, its default is not.")
            for one in default if isinstance(default, list) else [default]:
                _cast(key, kind, one)
        return getattr(self, key)

    def parse(self, values: str) -> HParams:
        """Set hyperparameters from "name=value,name=[value,value],name[1]=value".

        Returns:
          This object.

        Raises:
          ValueError: the text cannot be read, or a name or a type does not fit.
        """
        position = 0
        while position < len(values):
            found = _ITEM.match(values, position)
            if found is None:
                raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
            name, index = found["name"], found["index"]
            if name not in self._types:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            position, text = _read_value(values, found.end())
            self._set_text(name, index, text)
        return self

    def _set_text(self, name: str, index: str | None, text: Any) -> None:
        kind, is_list = self._types[name]
        if index is not None:
            if not is_list or isinstance(text, list):
                raise ValueError(f"'{name}' takes no index here")
            kept = list(getattr(self, name))
            number = int(index)
            if number >= len(kept):
                raise ValueError(f"'{name}' has {len(kept)} values, and no number {number}")
            kept[number] = _of_text(name, kind, text)
            setattr(self, name, kept)
        elif isinstance(text, list):
            self.set_hparam(name, [_of_text(name, kind, one) for one in text])
        elif is_list:
            self.set_hparam(name, [_of_text(name, kind, text)])
        else:
            self.set_hparam(name, _of_text(name, kind, text))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Set hyperparameters by name; return this object."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Set hyperparameters from a JSON object; return this object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(
        self,
        indent: Any = None,
        separators: Any = None,
        sort_keys: bool = False,
    ) -> str:
        """Return them as a JSON object."""

        def plain(value: Any) -> Any:
            return getattr(value, "__name__", str(value))

        return json.dumps(
            self.values(), indent=indent, separators=separators, sort_keys=sort_keys, default=plain
        )

    def set_model_structure(self, model_structure: Any) -> None:
        """Keep a model structure."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Return the model structure."""
        return self._model_structure

    def values(self) -> dict[str, Any]:
        """Return them by name."""
        return {name: getattr(self, name) for name in self._types}

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _read_value(text: str, start: int) -> tuple[int, Any]:
    """Return where the next item begins, and the value as a text or a list of texts."""
    if text[start : start + 1] == "[":
        end = text.find("]", start)
        if end < 0:
            raise ValueError(f"Malformed hyperparameter value: {text[start:]}")
        value: Any = [part.strip() for part in text[start + 1 : end].split(",") if part.strip()]
        end += 1
    else:
        end = text.find(",", start)
        end = len(text) if end < 0 else end
        value = text[start:end].strip()
    rest = text[end:].lstrip()
    if rest and not rest.startswith(","):
        raise ValueError(f"Malformed hyperparameter value: {text[start:]}")
    return (end + text[end:].index(",") + 1 if rest else len(text)), value


def _of_text(name: str, kind: type, text: str) -> Any:
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(f"Could not parse '{text}' as a truth value of '{name}'")
        return _TRUTH[text.lower()]
    if kind is type(None) or not callable(kind):
        return text
    try:
        return kind(text)
    except (TypeError, ValueError):
        raise ValueError(
            f"Could not parse hyperparameter '{name}' of type '{kind.__name__}' from '{text}'"
        ) from None


def _cast(name: str, kind: type, value: Any) -> Any:
    """Return a value as the type of a hyperparameter; only numbers change theirs."""
    if value is None or kind is type(None) or (isinstance(value, kind) and kind is not int):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind is float and is_number:
        return float(value)
    if kind is str and isinstance(value, bytes):
        return value.decode()
    raise ValueError(
        f"Could not cast hyperparameter '{name}' of type '{kind.__name__}' from value {value!r}"
    )


def parse_values(values: str, type_map: dict[str, type]) -> dict[str, Any]:
    """Return the values of "name=value,…" by name, with the types of ``type_map``."""
    found = HParams()
    for name, kind in type_map.items():
        found._types[name] = (kind, False)
    position, result = 0, {}
    while position < len(values):
        item = _ITEM.match(values, position)
        if item is None or item["name"] not in type_map:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position, text = _read_value(values, item.end())
        kind = type_map[item["name"]]
        if isinstance(text, list):
            result[item["name"]] = [_of_text(item["name"], kind, one) for one in text]
        else:
            result[item["name"]] = _of_text(item["name"], kind, text)
    return result


_NO_STATES = "keep the states in variables, or feed them: tf.nn.dynamic_rnn(initial_state=...)"
_MISSING = {
    "batch_sequences_with_states": _NO_STATES,
    "SequenceQueueingStateSaver": _NO_STATES,
    "NextQueuedSequenceBatch": _NO_STATES,
    "FeedingQueueRunner": "use tf.data.Dataset.from_generator",
    "FailureTolerator": "use tf.train.MonitoredTrainingSession",
    "Tuner": "write the loop over hyperparameters in Python",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _MISSING:
        return missing_name("tf.contrib.training", name, _MISSING[name])
    return name_of_slim("training", name, _PLACES)
