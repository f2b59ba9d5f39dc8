"""Training: recipes, batches, optimisers, checkpoints. Recipe + stream -> model."""
