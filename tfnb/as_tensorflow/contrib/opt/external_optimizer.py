"""Minimization of a loss by a program outside of the graph, as SciPy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable


class ExternalOptimizerInterface:
    """The base of optimizers that get a loss and its gradients as functions of one vector.

    Args:
      loss: a scalar.
      var_list: the variables; all trainable ones by default.
      equalities: scalars or vectors that are to be 0.
      inequalities: scalars or vectors that are to be 0 or more.
      var_to_bounds: variable -> (lower, upper), numbers or arrays.
      **optimizer_kwargs: for the program outside.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Any = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Any = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._vars = list(tf.trainable_variables() if var_list is None else var_list)
        self._equalities = list(equalities or [])
        self._inequalities = list(inequalities or [])
        self.optimizer_kwargs = optimizer_kwargs
        sizes = [int(one.shape.num_elements()) for one in self._vars]
        ends = np.cumsum(sizes)
        self._slices = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        self._bounds = self._packed_bounds(var_to_bounds, sizes)
        self._gradient = self._packed(tf.gradients(loss, self._vars))
        self._equality_gradients = self._of_each(self._equalities)
        self._inequality_gradients = self._of_each(self._inequalities)
        self._packed_value = self._packed([one.read_value() for one in self._vars])
        self._placeholders = [tf.placeholder(one.dtype.base_dtype, one.shape) for one in self._vars]
        self._assign = tf.group(
            *[one.assign(value) for one, value in zip(self._vars, self._placeholders, strict=True)]
        )

    def _packed(self, parts: list[Any]) -> Any:
        flat = []
        for part, variable in zip(parts, self._vars, strict=True):
            if part is None:
                part = tf.zeros(variable.shape, variable.dtype.base_dtype)
            flat.append(tf.reshape(tf.convert_to_tensor(part), [-1]))
        return tf.concat(flat, 0)

    def _of_each(self, tensors: list[Any]) -> list[Any]:
        """Return the rows of the Jacobian of each tensor."""
        found = []
        for tensor in tensors:
            parts = tf.unstack(tf.reshape(tensor, [-1]))
            rows = [self._packed(tf.gradients(part, self._vars)) for part in parts]
            found.append(tf.stack(rows))
        return found

    def _packed_bounds(self, var_to_bounds: Any, sizes: list[int]) -> Any:
        if var_to_bounds is None:
            return None
        lower, upper = [], []
        for variable, size in zip(self._vars, sizes, strict=True):
            given = [pair for one, pair in var_to_bounds.items() if one is variable]
            low, high = given[0] if given else (-np.inf, np.inf)
            shape = variable.shape.as_list()
            lower.append(np.broadcast_to(np.asarray(low, np.float64), shape).reshape(size))
            upper.append(np.broadcast_to(np.asarray(high, np.float64), shape).reshape(size))
        return list(zip(np.concatenate(lower), np.concatenate(upper), strict=True))

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Any = None,
        step_callback: Callable[[Any], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimize the loss, and set the variables to the best values.

        Args:
          session: the default session by default.
          feed_dict: for every run.
          fetches: what ``loss_callback`` gets.
          step_callback: gets the vector of all variables after each step.
          loss_callback: gets the fetched values at each evaluation of the loss.
          **run_kwargs: for every ``session.run``.
        """
        session = session or tf.get_default_session()
        fed = dict(feed_dict or {})
        wanted = list(fetches or [])

        def values_at(x: Any) -> dict[Any, Any]:
            parts = {
                variable: x[where].reshape(variable.shape.as_list())
                for variable, where in zip(self._vars, self._slices, strict=True)
            }
            assigned = dict(zip(self._placeholders, parts.values(), strict=True))
            session.run(self._assign, feed_dict=assigned)
            return fed

        def evaluate(tensors: list[Any]) -> Callable[[Any], list[Any]]:
            return lambda x: session.run(tensors, feed_dict=values_at(x), **run_kwargs)

        def loss_and_gradient(x: Any) -> tuple[Any, Any]:
            loss, gradient, *more = evaluate([self._loss, self._gradient, *wanted])(x)
            if loss_callback is not None:
                loss_callback(*more)
            return loss, np.asarray(gradient, np.float64)

        def vector(tensor: Any) -> Callable[[Any], Any]:
            at = evaluate([tensor])
            return lambda x: np.atleast_1d(np.asarray(at(x)[0], np.float64))

        def constraints(tensors: list[Any], jacobians: list[Any]) -> list[tuple[Any, Any]]:
            pairs = zip(tensors, jacobians, strict=True)
            return [(vector(tf.reshape(one, [-1])), vector(rows)) for one, rows in pairs]

        found = self._minimize(
            initial_val=session.run(self._packed_value, **run_kwargs),
            loss_grad_func=loss_and_gradient,
            equalities=constraints(self._equalities, self._equality_gradients),
            inequalities=constraints(self._inequalities, self._inequality_gradients),
            packed_bounds=self._bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values_at(found)

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Callable[[Any], tuple[Any, Any]],
        equalities: list[tuple[Any, Any]],
        inequalities: list[tuple[Any, Any]],
        packed_bounds: Any,
        step_callback: Callable[[Any], Any] | None,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        """Return the best vector.

        Args:
          initial_val: the first vector.
          loss_grad_func: from a vector to the loss and its gradient.
          equalities: pairs of functions, values and Jacobian.
          inequalities: pairs of functions, values and Jacobian.
          packed_bounds: (lower, upper) of each element, or None.
          step_callback: gets the vector after each step.
          optimizer_kwargs: what the constructor got.
        """
        raise NotImplementedError("To use ExternalOptimizerInterface, derive a class from it.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimization by ``scipy.optimize.minimize``, with L-BFGS-B by default.

    ``optimizer_kwargs`` are its arguments, as ``method`` and ``options``. With constraints the
    default is SLSQP.
    """

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Callable[[Any], tuple[Any, Any]],
        equalities: list[tuple[Any, Any]],
        inequalities: list[tuple[Any, Any]],
        packed_bounds: Any,
        step_callback: Callable[[Any], Any] | None,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        try:
            minimize = importlib.import_module("scipy.optimize").minimize
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "tf.contrib.opt.ScipyOptimizerInterface needs SciPy: type pip install scipy",
                name=error.name,
            ) from None
        given = dict(optimizer_kwargs)
        constraints = [
            {"type": kind, "fun": values, "jac": jacobian}
            for kind, pairs in (("eq", equalities), ("ineq", inequalities))
            for values, jacobian in pairs
        ]
        method = given.pop("method", "SLSQP" if constraints else "L-BFGS-B")
        result = minimize(
            loss_grad_func,
            np.asarray(initial_val, np.float64),
            jac=True,
            method=method,
            bounds=packed_bounds,
            constraints=constraints,
            callback=step_callback,
            **given,
        )
        tf.logging.info("Optimization ended: %s (loss %s)", result.message, result.fun)
        return result.x
