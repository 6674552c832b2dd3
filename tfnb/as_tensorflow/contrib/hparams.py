"""``HParams`` of ``tf.contrib.training``: named hyperparameters, also from texts."""

from __future__ import annotations

import json
import re
from typing import Any

_ITEM = re.compile(
    r"(?P<name>[A-Za-z][\w.]*)(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"(?:\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))(?:$|,\s*)"
)
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
        kinds = {name: kind for name, (kind, _) in self._types.items()}
        for name, value in parse_values(values, kinds).items():
            if isinstance(value, dict):
                self._set_elements(name, value)
            else:
                self.set_hparam(name, value)
        return self

    def _set_elements(self, name: str, values: dict[int, Any]) -> None:
        """Replace elements of a list by their numbers."""
        if not self._types[name][1]:
            raise ValueError(f"'{name}' takes no index here")
        kept = list(getattr(self, name))
        for number, value in values.items():
            if number >= len(kept):
                raise ValueError(f"'{name}' has {len(kept)} values, and no number {number}")
            kept[number] = value
        setattr(self, name, kept)

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
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"


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


def parse_values(
    values: str, type_map: dict[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Return the values of "name=value,…" by name, with the types of ``type_map``.

    Args:
      values: "name=value,name=[value,value],name[1]=value".
      type_map: the type of each name, of an element where it is a list.
      ignore_unknown: leave out names that have no type.

    Returns:
      For each name a value, a list, or the elements by their numbers.

    Raises:
      ValueError: the text cannot be read, a name is not known, or it is set more than once.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        item = _ITEM.match(values, position)
        if item is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = item.end()
        name = item["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        value = _read(item, type_map[name])
        if item["index"] is None:
            if name in found:
                raise ValueError(_again(name, values))
            found[name] = value
            continue
        if isinstance(value, list):
            raise ValueError(
                f"Assignment of a list to a list index. '{item[0]}' of '{name}' in {values}"
            )
        if not isinstance(found.setdefault(name, {}), dict):
            raise ValueError(_again(name, values))
        number = int(item["index"])
        if number in found[name]:
            raise ValueError(_again(f"{name}[{number}]", values))
        found[name][number] = value
    return found


def _again(name: str, values: str) -> str:
    return f"Multiple assignments to variable '{name}' in {values}"


def _read(item: re.Match[str], kind: type) -> Any:
    """Return the value of an item, or the list of its values."""
    if item["list"] is None:
        return _of_text(item["name"], kind, item["value"].strip())
    parts = [part.strip() for part in item["list"].split(",")]
    return [_of_text(item["name"], kind, part) for part in parts if part]
