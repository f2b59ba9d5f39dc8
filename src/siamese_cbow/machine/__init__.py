"""The machine: compilation with Numba, memory, threads and SIMD. Only this room uses private parts of Numba.

    compiling     compiler options of all kernels, the switch to plain kernels, the kernel cache and its stale entries
          [FASTMATH, INLINE, LEAN, inner, is_cached]
    intrinsics    processor features that Numba lacks: atomic counters, bit operations, prefetching; rows of whole cache
          lines; reusable arrays
          [LINE, Scratch, aligned, eight_bytes, high_product, padded_width, prefetch, prefetch_item, prefetch_to_move,
          trailing_zeros]
    simd          sums of scattered rows, in registers
          [MOST_HALVES, add_halves, gather, gather_move, gather_scaled, write_signs]
    products      products of the small matrices of a batch, exp of a whole row [combine, dot, dots, exp_all, highest]
    threads       a thread team with work stealing: phases, tiles, and the loop that all kernels share
          [OVER, Phases, Team, ThreadTeam, Tile, cut, cut_evenly, finish, next_item, next_tile, tiles]
    utf8          whether bytes are UTF-8, at memory speed [is_utf8]

Knows nothing about words or objectives: see `kernels`.
"""
