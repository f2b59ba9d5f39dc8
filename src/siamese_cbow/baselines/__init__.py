"""Baselines: other ways to word vectors that are averaged. Each is a recipe: `.train(stream) -> Model`."""
