"""Patches of images and volumes."""
