"""Messages, files, readers, summaries and printing."""
