# The names of tf.debugging; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.diagnostics import disable_traceback_filtering as disable_traceback_filtering
from tfnb.client.diagnostics import enable_traceback_filtering as enable_traceback_filtering
from tfnb.client.diagnostics import is_traceback_filtering_enabled as is_traceback_filtering_enabled
from tfnb.client.session.process_config import get_log_device_placement as get_log_device_placement
from tfnb.client.session.process_config import set_log_device_placement as set_log_device_placement
from tfnb.library.control_flow.check_ops import assert_equal as assert_equal
from tfnb.library.control_flow.check_ops import assert_greater as assert_greater
from tfnb.library.control_flow.check_ops import assert_greater_equal as assert_greater_equal
from tfnb.library.control_flow.check_ops import assert_integer as assert_integer
from tfnb.library.control_flow.check_ops import assert_less as assert_less
from tfnb.library.control_flow.check_ops import assert_less_equal as assert_less_equal
from tfnb.library.control_flow.check_ops import assert_near as assert_near
from tfnb.library.control_flow.check_ops import assert_negative as assert_negative
from tfnb.library.control_flow.check_ops import assert_non_negative as assert_non_negative
from tfnb.library.control_flow.check_ops import assert_non_positive as assert_non_positive
from tfnb.library.control_flow.check_ops import assert_none_equal as assert_none_equal
from tfnb.library.control_flow.check_ops import assert_positive as assert_positive
from tfnb.library.control_flow.check_ops import assert_proper_iterable as assert_proper_iterable
from tfnb.library.control_flow.check_ops import assert_rank as assert_rank
from tfnb.library.control_flow.check_ops import assert_rank_at_least as assert_rank_at_least
from tfnb.library.control_flow.check_ops import assert_rank_in as assert_rank_in
from tfnb.library.control_flow.check_ops import assert_same_float_dtype as assert_same_float_dtype
from tfnb.library.control_flow.check_ops import assert_scalar as assert_scalar
from tfnb.library.control_flow.check_ops import assert_shapes as assert_shapes
from tfnb.library.control_flow.check_ops import assert_type as assert_type
from tfnb.library.control_flow.check_ops import is_non_decreasing as is_non_decreasing
from tfnb.library.control_flow.check_ops import is_numeric_tensor as is_numeric_tensor
from tfnb.library.control_flow.check_ops import is_strictly_increasing as is_strictly_increasing
from tfnb.library.control_flow.control_flow_assert import assert_ as Assert
from tfnb.library.math.numerics import verify_tensor_all_finite as assert_all_finite
from tfnb.ops.math.cwise_unary_ops import is_finite as is_finite
from tfnb.ops.math.cwise_unary_ops import is_inf as is_inf
from tfnb.ops.math.cwise_unary_ops import is_nan as is_nan
from tfnb.ops.math.numerics_ops import check_numerics as check_numerics

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_traceback_filtering",
    "enable_traceback_filtering",
    "get_log_device_placement",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_traceback_filtering_enabled",
    "set_log_device_placement",
]
