"""Masks, grids and other arrays that are built of several ops."""
