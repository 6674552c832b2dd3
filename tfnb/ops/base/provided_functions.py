"""Functions of packages above ops that ops call, mostly in their gradients.

``tfnb.library.provides`` imports each when it is called for the first time.
"""

from __future__ import annotations

from tfnb.core.provided import Provided

# Arithmetic and sequences, for the ops on which arithmetic itself is built.
equal = Provided("equal")
greater = Provided("greater")
less = Provided("less")
logical_and = Provided("logical_and")
max_op = Provided("max_op")
maximum = Provided("maximum")
prod_op = Provided("prod_op")
range_ = Provided("range_")
range_op = Provided("range_op")
reduce_prod = Provided("reduce_prod")
reduce_sum = Provided("reduce_sum")
reshape = Provided("reshape")
select = Provided("select")
select_v2 = Provided("select_v2")
shape_internal = Provided("shape_internal")
sum_op = Provided("sum_op")
unsorted_segment_sum = Provided("unsorted_segment_sum")

# Functions of sparse tensors.
apply_sparse_operator = Provided("apply_sparse_operator")
sparse_add = Provided("sparse_add")
sparse_dense_cwise_mul = Provided("sparse_dense_cwise_mul")
sparse_reduce_sum = Provided("sparse_reduce_sum")
sparse_reshape = Provided("sparse_reshape")

# Control flow and gradients.
choice_gradient = Provided("choice_gradient")
cond = Provided("cond")
enter_gradient = Provided("enter_gradient")
exit_gradient = Provided("exit_gradient")
gradients = Provided("gradients")
merge_gradient = Provided("merge_gradient")
switch_gradient = Provided("switch_gradient")
tensor_array = Provided("tensor_array")
while_gradient = Provided("while_gradient")
