"""SavedModels: a folder with graphs, variables, assets and signatures."""
