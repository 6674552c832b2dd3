"""``tf.contrib.learn.utils``: inputs and exports of models to serve."""

from __future__ import annotations

from tfnb.as_tensorflow.contrib.learn.utils import input_fn_utils as input_fn_utils
from tfnb.as_tensorflow.contrib.learn.utils import (
    saved_model_export_utils as saved_model_export_utils,
)
from tfnb.as_tensorflow.contrib.learn.utils.export_strategy import (
    make_export_strategy as make_export_strategy,
)
from tfnb.as_tensorflow.contrib.learn.utils.input_fn_utils import InputFnOps as InputFnOps
from tfnb.as_tensorflow.contrib.learn.utils.input_fn_utils import (
    build_default_serving_input_fn as build_default_serving_input_fn,
)
from tfnb.as_tensorflow.contrib.learn.utils.input_fn_utils import (
    build_parsing_serving_input_fn as build_parsing_serving_input_fn,
)
