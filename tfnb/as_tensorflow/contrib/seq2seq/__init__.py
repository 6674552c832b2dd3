"""``tf.contrib.seq2seq``: decoders of sequences, attention, helpers and their loss."""

from __future__ import annotations

from tfnb.as_tensorflow.contrib.seq2seq.attention import AttentionMechanism as AttentionMechanism
from tfnb.as_tensorflow.contrib.seq2seq.attention import BahdanauAttention as BahdanauAttention
from tfnb.as_tensorflow.contrib.seq2seq.attention import LuongAttention as LuongAttention
from tfnb.as_tensorflow.contrib.seq2seq.attention_wrapper import (
    AttentionWrapper as AttentionWrapper,
)
from tfnb.as_tensorflow.contrib.seq2seq.attention_wrapper import (
    AttentionWrapperState as AttentionWrapperState,
)
from tfnb.as_tensorflow.contrib.seq2seq.attention_wrapper import hardmax as hardmax
from tfnb.as_tensorflow.contrib.seq2seq.basic_decoder import BasicDecoder as BasicDecoder
from tfnb.as_tensorflow.contrib.seq2seq.basic_decoder import (
    BasicDecoderOutput as BasicDecoderOutput,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_decoder import (
    BeamSearchDecoder as BeamSearchDecoder,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_decoder import (
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_ops import gather_tree as gather_tree
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_ops import (
    gather_tree_from_array as gather_tree_from_array,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_ops import tile_batch as tile_batch
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    BeamSearchDecoderOutput as BeamSearchDecoderOutput,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    BeamSearchDecoderState as BeamSearchDecoderState,
)
from tfnb.as_tensorflow.contrib.seq2seq.decoder import Decoder as Decoder
from tfnb.as_tensorflow.contrib.seq2seq.decoder import dynamic_decode as dynamic_decode
from tfnb.as_tensorflow.contrib.seq2seq.helper import CustomHelper as CustomHelper
from tfnb.as_tensorflow.contrib.seq2seq.helper import (
    GreedyEmbeddingHelper as GreedyEmbeddingHelper,
)
from tfnb.as_tensorflow.contrib.seq2seq.helper import Helper as Helper
from tfnb.as_tensorflow.contrib.seq2seq.helper import InferenceHelper as InferenceHelper
from tfnb.as_tensorflow.contrib.seq2seq.helper import (
    SampleEmbeddingHelper as SampleEmbeddingHelper,
)
from tfnb.as_tensorflow.contrib.seq2seq.helper import TrainingHelper as TrainingHelper
from tfnb.as_tensorflow.contrib.seq2seq.loss import sequence_loss as sequence_loss
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
)
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import (
    LuongMonotonicAttention as LuongMonotonicAttention,
)
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import monotonic_attention as monotonic_attention
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import safe_cumprod as safe_cumprod
from tfnb.as_tensorflow.contrib.seq2seq.scheduled import (
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
)
from tfnb.as_tensorflow.contrib.seq2seq.scheduled import (
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper,
)
