"""The Python session: fetches, feeds, call plans, and errors that name the user's code."""
