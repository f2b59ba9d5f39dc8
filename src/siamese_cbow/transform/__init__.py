"""Model in, model out: finishing, post-processing, adapting, compressing, combining."""
