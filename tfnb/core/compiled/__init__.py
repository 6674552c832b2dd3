"""Kernels compiled to machine code while the program runs."""
