"""All helpers, in the file in which TensorFlow has them."""

from __future__ import annotations

from tfnb.as_tensorflow.contrib.seq2seq.feeding import CustomHelper as CustomHelper
from tfnb.as_tensorflow.contrib.seq2seq.feeding import (
    GreedyEmbeddingHelper as GreedyEmbeddingHelper,
)
from tfnb.as_tensorflow.contrib.seq2seq.feeding import Helper as Helper
from tfnb.as_tensorflow.contrib.seq2seq.feeding import InferenceHelper as InferenceHelper
from tfnb.as_tensorflow.contrib.seq2seq.feeding import (
    SampleEmbeddingHelper as SampleEmbeddingHelper,
)
from tfnb.as_tensorflow.contrib.seq2seq.feeding import TrainingHelper as TrainingHelper
from tfnb.as_tensorflow.contrib.seq2seq.feeding import _unstack_ta as _unstack_ta
from tfnb.as_tensorflow.contrib.seq2seq.sampling import bernoulli_sample as bernoulli_sample
from tfnb.as_tensorflow.contrib.seq2seq.sampling import categorical_sample as categorical_sample
from tfnb.as_tensorflow.contrib.seq2seq.scheduled import (
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
)
from tfnb.as_tensorflow.contrib.seq2seq.scheduled import (
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper,
)
