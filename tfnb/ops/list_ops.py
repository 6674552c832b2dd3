"""Lists of tensors as values: TensorListReserve, TensorListSetItem and their kin."""
