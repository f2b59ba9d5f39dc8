"""Word vectors that are learnt for being averaged. See `siamese-cbow --help` and the README."""
