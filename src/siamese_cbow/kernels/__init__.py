"""Kernels: arrays and scalars in, arrays and scalars out. Each fast kernel has a plain NumPy reference."""
