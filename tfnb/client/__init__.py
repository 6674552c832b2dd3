"""The user's session: what joins a graph being built with the runtime that runs it."""
