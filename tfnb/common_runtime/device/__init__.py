"""Where kernels run: devices, their threads and memory."""
