"""Models, trainings and servers on the workers of Dask."""
