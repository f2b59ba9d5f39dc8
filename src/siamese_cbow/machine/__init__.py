"""The machine: how Numba compiles, memory, threads and SIMD. All that is private to Numba stays in this room.

    compiling     options of all kernels, the switch to plain ones, where they are kept and which of them are stale
          [FASTMATH, INLINE, LEAN]
    intrinsics    what a processor can do and Numba has no word for: atomic counters, bits, requests for memory; rows of
          whole cache lines, asked for beforehand; arrays that are used again
          [LINE, Scratch, aligned, eight_bytes, padded_width, prefetch, prefetch_item, prefetch_to_move, trailing_zeros]
    simd          sums of rows that lie anywhere, in registers [gather, gather_move, gather_scaled]
    products      products of the small matrices of a batch, exp of a whole row [combine, dot, dots, exp_all, highest]
    threads       a thread team with work stealing: phases, tiles, and the loop that kernels share
          [OVER, Phases, Team, ThreadTeam, Tile, cut, cut_evenly, finish, next_item, next_tile, tiles]

Knows nothing of words and objectives: see `kernels`.
"""
