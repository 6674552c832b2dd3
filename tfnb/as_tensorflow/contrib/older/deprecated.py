"""``tf.contrib.deprecated``: summaries as before TensorFlow 1.0, whose tag is given first."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.older_names import OLDER_NAMES


def _older(name: str) -> Any:
    return OLDER_NAMES["tf"][name].value()


audio_summary: Any = _older("audio_summary")
histogram_summary: Any = _older("histogram_summary")
image_summary: Any = _older("image_summary")
merge_all_summaries: Any = _older("merge_all_summaries")
merge_summary: Any = _older("merge_summary")
scalar_summary: Any = _older("scalar_summary")
