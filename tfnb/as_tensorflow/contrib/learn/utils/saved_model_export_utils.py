"""``tf.contrib.learn.utils.saved_model_export_utils``: strategies of exports."""

from __future__ import annotations

from tfnb.as_tensorflow.contrib.learn.utils.export_strategy import (
    make_export_strategy as make_export_strategy,
)
