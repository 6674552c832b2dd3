"""Tensors that hold tensors: TensorArray, lists, stacks, maps, optionals."""
