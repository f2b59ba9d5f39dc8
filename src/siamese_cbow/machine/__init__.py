"""The machine: threads, SIMD, prefetching, and how Numba compiles."""
