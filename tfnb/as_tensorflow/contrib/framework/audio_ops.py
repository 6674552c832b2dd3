"""``tf.contrib.framework.python.ops.audio_ops``: the ops of sound, with positional arguments."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.internal_names import internal_name

_MODULE = "tensorflow.python.ops.gen_audio_ops"

audio_spectrogram: Any = internal_name(_MODULE, "audio_spectrogram")
decode_wav: Any = internal_name(_MODULE, "decode_wav")
encode_wav: Any = internal_name(_MODULE, "encode_wav")
mfcc: Any = internal_name(_MODULE, "mfcc")
