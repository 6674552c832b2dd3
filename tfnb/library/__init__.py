"""The functions and classes of ``tf`` that are built from ops and register none."""
