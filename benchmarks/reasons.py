"""Why a kernel-bound workload takes longer than TensorFlow.

``python -m benchmarks --write`` puts these texts beside the figures of every workload that is
dominated by kernels and has a ratio above 1. The ratio to the same arithmetic in NumPy shows how
much of it is due to NumPy and the BLAS, and how much to tfnb.
"""

from __future__ import annotations

GROUPS = ("kernels", "training")
"""The groups of workloads in which kernels decide."""

REASONS = {
    "matmul_1024": (
        "The product is NumPy's BLAS to the last percent, rows divided among threads: OpenBLAS "
        "reaches about 100 GFLOP/s a core here, oneDNN a fifth more."
    ),
    "matmul_2048": "As for `matmul_1024`: OpenBLAS against oneDNN.",
    "lenet_b64": (
        "The second convolution is half of it: its 5 by 5 filters save 64 % of the products by "
        "Winograd's way, and the transformations cost half of that (larger tiles, which save "
        "79 %, round too coarsely); the third layer streams 13 MB of weights through OpenBLAS, "
        "which packs them first."
    ),
    "mobilenet_stack_224": (
        "Half is OpenBLAS on products of 1 by 1 convolutions, near its peak. A third is depthwise "
        "convolutions: NumPy multiplies and adds in one sweep per element of the filter, so that "
        "an output is loaded and stored nine times; oneDNN keeps it in a register."
    ),
    "lstm_unrolled_train": (
        "60 products of 3 million multiplications each, in OpenBLAS at 60 to 90 % of its peak, and "
        "400 operations on 16 KB: too small for a second thread. TensorFlow runs both branches "
        "of the gradient at the same time on its threads, so compare processor time."
    ),
    "lstm_unrolled_forward": (
        "As for `lstm_unrolled_train`: one thread, small products; compare processor time."
    ),
    "mlp_step": (
        "Two products of 26 million multiplications are 70 %: OpenBLAS against oneDNN. They are "
        "just large enough for a second thread."
    ),
    "softmax_1024x1000": (
        "NumPy's exponential is half of it; the product of each row with a number, for which NumPy "
        "has no fast loop, is a quarter."
    ),
    "conv3x3_56x56x64_b8": "Winograd's way in NumPy: OpenBLAS on 36 products, and transformations.",
    "conv3x3_gradients": (
        "Winograd's way in NumPy: a third of it is transformations in many small calls, which two "
        "threads cannot divide as well as one product of matrices; in blocks of few calls after a "
        "pause, some machines run both threads on one processor."
    ),
    "max_pool_32x56x56x64": (
        "Two sweeps of `np.maximum`, and a check for minus infinity, against one sweep. A long "
        "loop of these calls uses two processors and takes half as long; in blocks of few calls "
        "after a pause, some machines run both threads on one."
    ),
    "xent_1024x1000": "As for `softmax_1024x1000`.",
    "elementwise10_cheap_4m": (
        "Ten vectorized loops over tiles in cache; below 1 in processor time. Wall time depends "
        "on the second thread, on a machine with other processes."
    ),
    "elementwise10_math_4m": (
        "Ten loops over tiles in cache, NumPy's exponential, logarithm and tangent among them; "
        "below 1 in processor time."
    ),
    "embedding_scatter_add": (
        "Repeated rows are ranked, and added rank by rank; below 1 in processor time, and in most "
        "runs of it alone in wall time, too."
    ),
}
"""By the name of the workload."""
