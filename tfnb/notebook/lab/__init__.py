"""The JupyterLab extension: its link to the kernel, snapshots of sessions, views in tabs."""
