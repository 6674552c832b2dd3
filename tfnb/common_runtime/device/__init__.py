"""Devices, on which kernels run: their threads and memory."""
