"""The process in which graphs run: threads, signals, forks, the garbage collector."""
