"""A function of arrays: inputs and outputs of a model, and what a call checks and returns."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from tfnb.client.model_batches import run_rows
from tfnb.client.model_frames import check_types, columns_of, values_of
from tfnb.client.terminal_text import terminal_text
from tfnb.core import dtypes, errors

if TYPE_CHECKING:
    from tfnb.client.model_tensor import ModelTensor
    from tfnb.core.dtypes import DType

# Kinds of NumPy's types that have an order of safe conversions.
_NUMBERS = "biufc"
_DATES = "mM"
_CALL_OF_NO_NAME = "model"
# Errors of a run whose argument does not become an array of the input's type and shape.
_REFUSALS = (TypeError, ValueError, OverflowError, NotImplementedError, errors.InternalError)


class ModelFunction:
    """A signature of a model: it is called with arrays, by position or by their names.

    Attributes:
        key: The name of the signature; empty for tensors that were named one by one.
        method: The name of its method, for example ``tensorflow/serving/predict``.
        inputs: Key -> input.
        outputs: Key -> output.
        prepared: The prepared call of the session; None before the first call. Set by the model.
    """

    def __init__(
        self,
        key: str,
        method: str,
        inputs: Mapping[str, ModelTensor],
        outputs: Mapping[str, ModelTensor],
        prepare: Callable[[ModelFunction], Callable[..., Any]],
    ) -> None:
        """Make the function.

        Args:
            key: The name of the signature.
            method: The name of its method.
            inputs: The inputs.
            outputs: The outputs.
            prepare: Sets and returns ``prepared``.
        """
        self.key, self.method = key, method
        self.inputs, self.outputs = dict(inputs), dict(outputs)
        self.prepared: Callable[..., Any] | None = None
        self._prepare = prepare
        self._keys = list(self.inputs)
        self._wanted = [_wanted_kind(one.dtype) for one in self.inputs.values()]
        # The signature belongs to the object: editors complete the names of this model's inputs.
        self.__signature__ = _signature_of(self.inputs)

    # -- running

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Run the model once.

        Args:
            *arrays: Values of inputs, in the order of ``inputs``.
            **named: Values of inputs by key.

        Returns:
            The output, or a dict if there are several.

        Raises:
            TypeError: An input has no value, or two, or one of another type.
            ValueError: A value has another shape.
            OpError: The run failed.
        """
        if arrays or len(named) != len(self._keys):
            values = self.bound(arrays, named)
        else:
            try:
                values = [named[key] for key in self._keys]
            except KeyError:
                values = self.bound(arrays, named)
        for value, wanted, key in zip(values, self._wanted, self._keys):
            if value.__class__ is ndarray:
                if value.dtype is not wanted and wanted is not None:
                    self._check_type(key, value, value.dtype, wanted)
            elif wanted is not None:
                found = _type_if_lossy(value, wanted)
                if found is not None:
                    self._check_type(key, value, found, wanted)
        results = self.run(values)
        return results[0] if len(results) == 1 else dict(zip(self.outputs, results))

    def _check_type(
        self, key: str, value: Any, found: np.dtype[Any], wanted: np.dtype[Any]
    ) -> None:
        is_text = wanted.kind == "b" and found.kind == "O" and _has_text(value)
        if is_text or not _may_become(found, wanted):
            raise TypeError(self._refusal(key, value))

    def as_answer(self, values: Sequence[Any]) -> Any:
        """Return the values of the outputs as a call does: the only one, or all by their keys."""
        return values[0] if len(values) == 1 else dict(zip(self.outputs, values))

    def predict(
        self,
        data: Any,
        *,
        batch_size: int | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the model over rows: those of arrays, or of a DataFrame.

        Args:
            data: An array if the model has one input, a mapping of keys to arrays, a tuple of
                arrays in the order of the inputs, or a DataFrame, whose columns have the keys of
                the inputs or are together the only input.
            batch_size: Rows of a step; all if None. A graph for batches of one size sets it.
            columns: For a DataFrame: key of an input -> its column, or a list of columns.

        Returns:
            The rows of the output, or a dict if there are several outputs.

        Raises:
            TypeError: An input or a column is missing, or has a type that does not fit.
            InvalidArgumentError: The model does not return one row for each.
        """
        if not isinstance(batch_size, int | np.integer | None):
            raise TypeError(f"batch_size is a number of rows, an int, not {batch_size!r}.")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; a batch has at least one row.")
        if hasattr(data, "columns") and hasattr(data, "iloc"):
            values = self._values_of_frame(data, columns)
        elif isinstance(data, Mapping):
            values = self.bound((), data)
        else:
            values = self.bound(data if isinstance(data, tuple) else (data,), {})
        arrays = []
        for value, one, wanted in zip(values, self.inputs.values(), self._wanted):
            array = value if isinstance(value, np.ndarray) else self._array(value, one)
            if wanted is not None:
                self._check_type(one.key, array, array.dtype, wanted)
            if array.ndim == 0:
                raise ValueError(self._refusal(one.key, value))
            arrays.append(array)
        return self.as_answer(run_rows(self, arrays, batch_size))

    def _array(self, value: Any, one: ModelTensor) -> Any:
        try:
            array = np.asarray(value)
            # An empty list has the type of the input.
            return array if array.size else array.astype(one.dtype.as_numpy_dtype)
        except NotImplementedError:  # a tensor of a graph
            raise TypeError(self._refusal(one.key, value)) from None
        except (TypeError, ValueError):
            raise ValueError(self._refusal(one.key, value)) from None

    def _values_of_frame(self, frame: Any, given: Mapping[str, Any] | None) -> list[Any]:
        chosen = columns_of(self, list(frame.columns), given)
        check_types(self, frame.dtypes, chosen)
        found = []
        for key, one in self.inputs.items():
            values = values_of(frame, chosen[key], one)
            dims = one.shape.dims
            is_column = dims is not None and len(dims) == 2 and dims[1].value in (1, None)
            found.append(values[:, None] if is_column and values.ndim == 1 else values)
        return found

    def bound(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return the values of the inputs, in their order.

        Raises:
            TypeError: An input has no value, or two.
        """
        inputs = self.inputs
        if not named and len(arrays) == len(inputs):
            return list(arrays)
        keys = list(inputs)
        listed = ", ".join(keys) or "none"
        if len(arrays) > len(keys):
            raise TypeError(
                f"{len(arrays)} arrays are given; the inputs are {listed}. {self._advice()}"
            )
        found = dict(zip(keys, arrays))
        for key, value in named.items():
            if key in found or key not in inputs:
                problem = "is given twice" if key in found else "is not an input"
                raise TypeError(f"{key!r} {problem}; the inputs are {listed}. {self._advice()}")
            found[key] = value
        if len(found) != len(keys):
            missing = [f"{key} ({inputs[key]})" for key in keys if key not in found]
            raise TypeError(f"The model needs a value for {', '.join(missing)}. {self._advice()}")
        return [found[key] for key in keys]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Run the model with values in the order of ``inputs``; return those of ``outputs``."""
        run = self.prepared
        if run is None:
            run = self._prepare(self)
        try:
            results: list[Any] = run(*values)
        except _REFUSALS as error:
            self._explain(values, error)
            raise
        except errors.FailedPreconditionError as error:
            if error.mistake is errors.Mistake.NOT_INITIALIZED:
                error.add_note("A model gets its values by tfnb.load(path, checkpoint=prefix).")
            raise
        return results

    def _explain(self, values: Sequence[Any], error: Exception) -> None:
        """Raise an error that names the input, if the value of one is the reason."""
        for one, value in zip(self.inputs.values(), values):
            if _fits(one, value):
                continue
            is_type = value is None or not isinstance(error, ValueError | OverflowError)
            kind = TypeError if is_type else ValueError
            raise kind(self._refusal(one.key, value, str(error))) from None

    def _refusal(self, key: str, value: Any, why: str = "") -> str:
        # A session's own error repeats the shapes, and may end with advice.
        told = why.partition(". ")[2] if why.startswith("Cannot feed value") else why
        said = f" ({told.rstrip('.')})" if told else ""
        return (
            f"The input {key!r} takes {self.inputs[key]}, but got {_described(value)}{said}. "
            f"{self._advice()}"
        )

    def _advice(self) -> str:
        return f"For example: {self.example_source()}"

    # -- description

    def example(self) -> dict[str, Any]:
        """Return a value for each input, with which the model can be called."""
        return {key: one.example() for key, one in self.inputs.items()}

    def example_source(self, name: str = _CALL_OF_NO_NAME) -> str:
        """Return a line of Python that calls the model with zeros.

        Args:
            name: The name of the model in it.
        """
        if all(_is_argument(key) for key in self.inputs):
            given = [f"{key}={one.example_source()}" for key, one in self.inputs.items()]
        else:
            given = [one.example_source() for one in self.inputs.values()]
        return f"{name}({', '.join(given)})"

    def described(self) -> str:
        """Return inputs and outputs in one line, which a terminal can print."""
        sides = [
            ", ".join(f"{one.key} {one}" for one in side.values())
            for side in (self.inputs, self.outputs)
        ]
        return terminal_text(" -> ".join(sides)).replace("\n", r"\n")

    def __repr__(self) -> str:
        key = terminal_text(self.key).replace("\n", r"\n")
        return f"<{type(self).__name__} {key}: {self.described()}>"


def _signature_of(inputs: Mapping[str, ModelTensor]) -> inspect.Signature:
    """Return the signature of a call, with the type of each input as its annotation."""
    named = [key for key in inputs if _is_argument(key)]
    if len(named) == len(inputs):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [inspect.Parameter(key, kind, annotation=str(inputs[key])) for key in named]
        )
    free = {"arrays", "others"} - set(named)
    parameters = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=str(inputs[key]))
        for key in named
    ]
    if "arrays" in free:
        parameters.insert(0, inspect.Parameter("arrays", inspect.Parameter.VAR_POSITIONAL))
    if "others" in free:
        parameters.append(inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _is_argument(key: str) -> bool:
    return key.isidentifier() and not keyword.iskeyword(key)


def _wanted_kind(dtype: DType) -> np.dtype[Any] | None:
    """Return the type that values are compared with; None where a run checks them itself."""
    if dtype == dtypes.string:
        return np.dtype(object)
    try:
        found = np.dtype(dtype.as_numpy_dtype)
    except TypeError:  # resources and variants
        return None
    return found if found.kind in _NUMBERS else None


def _type_if_lossy(value: Any, wanted: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the type of a list or a number, if a conversion could lose something silently."""
    if wanted.kind not in "biu":
        return None
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, NotImplementedError):
        return None  # the run fails, and the error names the input
    lossy = _NUMBERS + "SUO" if wanted.kind == "b" else _NUMBERS
    return array.dtype if array.size and array.dtype.kind in lossy else None


def _has_text(value: Any) -> bool:
    """Return whether objects include a text, of which NumPy makes True, also of "False"."""
    return any(isinstance(item, str | bytes) for item in np.asarray(value).flat)


def _may_become(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Return whether values of a type may be fed: float64 as float32, but not as int32."""
    if wanted.kind == "O":
        return found.kind in "OSU"
    if found.kind in _DATES or (wanted.kind == "b" and found.kind in "SU"):
        return False
    return found.kind not in "biufcSU" or np.can_cast(found, wanted, "same_kind")


def _fits(one: ModelTensor, value: Any) -> bool:
    try:
        array = np.asarray(value)
        if one.dtype == dtypes.string:
            is_text = all(isinstance(item, str | bytes | bytearray) for item in array.flat)
            return is_text and one.shape.is_compatible_with(array.shape)
        np.asarray(value, one.dtype.as_numpy_dtype)
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return False
    return bool(one.shape.is_compatible_with(array.shape))


def _described(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype.name} {value.shape}"
    if isinstance(value, np.generic | bool | int | float | complex | str | bytes):
        return f"one {type(value).__name__}"
    try:
        array = np.asarray(value)
    except NotImplementedError:  # a tensor of a graph
        return f"a {type(value).__name__}, which is no array"
    except (TypeError, ValueError):
        return f"a {type(value).__name__} whose rows differ in length"
    return f"a {type(value).__name__} {array.dtype.name} {array.shape}"
