"""How kernels are compiled: without the GIL, kept on disk, and without counting references to arrays.

Numba counts a reference whenever a function takes an array out of a record or makes a view of one, and the counters are
atomic. Threads that work on the same arrays then fight for the counters' cache lines, which cost a quarter of the speed
of one thread and most of the gain from a second. Without the runtime system (`_nrt=False`) nothing is counted and
nothing can be allocated: kernels get all their memory from outside.
"""

from __future__ import annotations

from typing import Any

LEAN: dict[str, Any] = {"nogil": True, "cache": True, "_nrt": False}
INLINE: dict[str, Any] = {**LEAN, "forceinline": True}
WITH_RUNTIME: dict[str, Any] = {"nogil": True, "cache": True}  # for np.dot, and for whoever calls what calls it
