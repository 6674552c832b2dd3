"""A Python session: fetches, feeds, call plans, and errors that name the code of the user."""
