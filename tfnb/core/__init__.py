"""The nouns both columns speak: dtypes, shapes, errors, registries, events."""
