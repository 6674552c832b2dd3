"""The process that graphs live in: threads, signals, forks, the collector of cycles."""
