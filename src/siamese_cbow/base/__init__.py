"""Base: array types, atomic files, notebook cards."""
