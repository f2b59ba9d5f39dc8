"""How kernels are compiled: without the GIL, kept on disk, and without counting references to arrays.

Numba counts a reference whenever a function takes an array out of a record or makes a view of one, and the counters are
atomic. Threads that work on the same arrays then fight for the counters' cache lines, which cost a quarter of the speed
of one thread and most of the gain from a second. Without the runtime system (`_nrt=False`) nothing is counted and
nothing can be allocated: kernels get all their memory from outside.

That option and the hand-written code of this room are private to Numba, and a new version may break them. With
SIAMESE_CBOW_PLAIN_KERNELS=1 in the environment, the same kernels are compiled by plain `@njit`, for one thread, every
time anew: the same results but for rounding, many times slower. No other room uses anything private.

Numba recompiles a function that it kept when its own file changes, but not when the change is in a function it calls
from another file. A kernel here is made of functions from a dozen files: after an update it would go on with parts of
old ones, and its bytes would differ from those of a fresh install. So whatever is older than any source of a kernel is
thrown away, before anything of it is loaded. `kernel_cache` knows where they are.

The first `train` on a machine compiles 96 functions, 27 s of processor time (benchmarks/one_step.py measures it): 10 s
go to LLVM, 10 to Numba's writing of LLVM's code, 3.5 to finding types, evenly over all functions; the largest,
`train_in_batch` without what it calls, takes 2.7. So it can't be halved by leaving out one of them. Tried to make it
less: no entrance for C (`no_cfunc_wrapper`), 0.3 s; no entrance for Python to those that are inlined, and no file of
their own, 2 s; the same for all 90 that only kernels call, 8 s, but a call of such a function from Python then crashes
the process. None of it is done: a few seconds, once, are not worth a crash. Threads don't help, as Numba compiles under
one lock; a second process, for the kernels of training while the others are compiled, would wait for `train_in_batch`
with all that it calls, two thirds of the whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

PLAIN = os.environ.get("SIAMESE_CBOW_PLAIN_KERNELS", "0") not in ("", "0")

LEAN: dict[str, Any] = {"nogil": True}
if not PLAIN:  # which are not kept: Numba would take them for the others, as their source is the same
    from siamese_cbow.machine.kernel_cache import can_keep_kernels, forget_stale_kernels

    forget_stale_kernels()  # every kernel imports this module first: nothing is loaded yet
    LEAN |= {"cache": can_keep_kernels(), "_nrt": False}
INLINE: dict[str, Any] = LEAN if PLAIN else {**LEAN, "forceinline": True}

# Sums may be regrouped (vector registers need it), but NaN and infinity stay what they are: they must show in the loss.
FASTMATH: Any = {"reassoc", "contract", "arcp", "nsz"}


def intrinsic_or(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorates hand-written code; `plain` says the same in Python, and stands for it where kernels are plain."""
    from numba import njit
    from numba.extending import intrinsic

    return (lambda written: njit(**INLINE)(plain)) if PLAIN else intrinsic
