"""Classes around ops that wait."""
