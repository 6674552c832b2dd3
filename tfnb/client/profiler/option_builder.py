"""A builder of the options of the profiler, as a dict."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any, Self

EXPORTS = {"profiler": ["ProfileOptionBuilder"]}

TRAINABLE_VARIABLES = "_trainable_variables"


def _options(max_depth: int, order_by: str, select: list[str], **others: Any) -> dict[str, Any]:
    least = ("bytes", "micros", "params", "float_ops", "occurrence")
    return {
        "max_depth": max_depth,
        **{f"min_{name}": 0 for name in least},
        "order_by": order_by,
        "account_type_regexes": [".*"],
        "start_name_regexes": [".*"],
        "trim_name_regexes": [],
        "show_name_regexes": [".*"],
        "hide_name_regexes": [],
        "account_displayed_op_only": True,
        "select": select,
        "step": -1,
        "output": "stdout",
        **others,
    }


class ProfileOptionBuilder:
    """A builder of options for ``tf.profiler.profile``, from given options or from the defaults.

    Args:
      options: the options to start from; they are copied.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        if options is None:
            options = _options(100, "name", ["micros"], account_displayed_op_only=False)
        self._options = deepcopy(options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Return options that count the parameters of trainable variables."""
        return _options(10000, "name", ["params"], account_type_regexes=[TRAINABLE_VARIABLES])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Return options that count float operations."""
        return _options(10000, "float_ops", ["float_ops"], min_float_ops=1)

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Return options that show time and memory of nodes that reach the given minimums."""
        return _options(10000, "micros", ["micros", "bytes"], **locals())

    def build(self) -> dict[str, Any]:
        """Return a copy of the options."""
        return deepcopy(self._options)

    def _with(self, **options: Any) -> Self:
        self._options.update(options)
        return self

    def with_max_depth(self, max_depth: int) -> Self:
        """Show at most this many levels."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Self:
        """Show nodes that reach these minimums of requested, peak, residual and output bytes."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> Self:
        """Show nodes that reach these minimums of total, accelerator and CPU time."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> Self:
        """Show nodes with at least this number of parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> Self:
        """Show nodes that occur at least this often."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> Self:
        """Show nodes with at least this number of float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: list[str]) -> Self:
        """Count nodes with a type (op, device, or type of an OpLogProto) that a regex matches."""
        return self._with(account_type_regexes=copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: list[str] | None = None,
        show_name_regexes: list[str] | None = None,
        hide_name_regexes: list[str] | None = None,
        trim_name_regexes: list[str] | None = None,
    ) -> Self:
        """Set the regexes of names to start at, to show, to hide, and to stop at."""
        options = locals()
        del options["self"]
        given = {name: copy(value) for name, value in options.items() if value is not None}
        return self._with(**given)

    def account_displayed_op_only(self, is_true: bool) -> Self:
        """Set whether only nodes that are shown are counted."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> Self:
        """Print nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> Self:
        """Print to the standard output."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> Self:
        """Print into a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> Self:
        """Write a Chrome trace, into a file for each step."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> Self:
        """Write a profile for pprof."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> Self:
        """Order by name, bytes, micros, params, float_ops, occurrence, …."""
        return self._with(order_by=attribute)

    def select(self, attributes: list[str]) -> Self:
        """Show these attributes."""
        return self._with(select=copy(attributes))

    def with_step(self, step: int) -> Self:
        """Show one step of those added to a Profiler; -1 shows their average."""
        return self._with(step=step)
