"""Whole pieces of work under attack: prepare, train, save, index, update, convert, compress, encode.

python commands.py SCALE [SEED [MINUTES [WORK...]]]    prints counts as JSON; `losses` lists what did not survive

Each piece of work runs in a fork of a warm process, with one thread, and is disturbed there:

    kill at an operation   SIGKILL before the n-th write, fsync, rename, mkdir or removal       (injection.py)
    error at an operation  ENOSPC, EIO, EDQUOT, EROFS, EACCES, EMFILE from the n-th on
    kill inside a write    SIGXFSZ when a file reaches n bytes: at any byte, in writes of libraries, too
    error inside a write   EFBIG, in the same way
    a signal               KILL, TERM, INT, HUP or PIPE at a random moment
    memory, files          RLIMIT_AS and RLIMIT_NOFILE, too low for the work
    two writers            two processes at once
    clock                  the clock jumps back and forth by years between two runs

After each fault: the final name holds the old result or the new one, complete; repeating the work gives the expected
bytes; a file of somebody else's next to it is untouched; nothing is left over.
"""

from __future__ import annotations

import errno
import gc
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from injection import failing  # noqa: E402 (next to this file)

import siamese_cbow as sc  # noqa: E402
from siamese_cbow.base import files  # noqa: E402
from siamese_cbow.cli.encode import encode  # noqa: E402
from siamese_cbow.errors import SiameseCBOWError  # noqa: E402
from siamese_cbow.formats.convert import write_model  # noqa: E402
from siamese_cbow.retrieval.updating import update  # noqa: E402
from siamese_cbow.training.recipe import Saving  # noqa: E402
from siamese_cbow.training.saved_run import train_into  # noqa: E402

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
FOREIGN = "years of work"
PATIENCE = 300  # seconds that this process runs before it gives up on a child
OUT = "out"
SAID = tempfile.TemporaryFile()  # noqa: SIM115 (of all children, as long as this process lives)
Tree = dict[str, bytes]


@dataclass(frozen=True)
class Work:
    """A piece of work: `run(place)` makes `place/out`; `before(place)` may have left an older one there."""

    name: str
    run: Callable[[Path], object]
    before: Callable[[Path], object] = lambda place: None
    tree: Callable[[Path], Tree] = lambda out: plain_tree(out)


def plain_tree(out: Path) -> Tree:
    """The files of a folder, or a single file, by name; an unfinished run is not under a final name."""
    if out.is_file():
        return {"": out.read_bytes()}
    names = ((file, file.relative_to(out).as_posix()) for file in out.rglob("*") if file.is_file())
    return {name: file.read_bytes() for file, name in names if not name.startswith("training/")}


def index_tree(out: Path) -> Tree:
    """The segments of an index, whose names and times change each time, and which rows belong to which file."""
    if not (out / "index.json").exists():
        return {}
    content = json.loads((out / "index.json").read_text("utf-8"))
    tree = {f.name: f.read_bytes() for name in content["segments"] for f in (out / name).iterdir()}
    entries = {Path(n).name: (e["hash"], e["first"], e["last"]) for n, e in content["files"].items()}
    strays = sorted(
        path.name for path in out.iterdir() if path.name not in ("index.json", *content["segments"], *content["fits"])
    )
    return {**tree, "rows": json.dumps(entries, sort_keys=True).encode(), "strays": json.dumps(strays).encode()}


def works(shared: Path) -> list[Work]:
    """All pieces of work, on a small text in `shared`."""
    random_words = random.Random(1)
    words = [f"w{i}" for i in range(60)]
    lines = [" ".join(random_words.choices(words, k=6)) for _ in range(150)]
    text, more = shared / "text.txt", shared / "more.txt"
    text.write_text("".join(f"{line}\n" for line in lines))
    more.write_text("".join(f"{line} w1\n" for line in lines[:40]))
    settings = sc.TextSettings(layout="sentences")
    stream = sc.prepare(text, min_count=1, text=settings, threads=1)
    recipe = sc.SiameseCBOW(dim=8, batch_size=16, subsample=0, epochs=2)
    model = recipe.train(stream, threads=1)
    other = sc.SiameseCBOW(dim=8, epochs=1, batch_size=16, subsample=0, seed=2).train(stream, threads=1)

    train_into(shared / "warm", recipe, stream, threads=1, saving=Saving(checkpoint_minutes=0))  # compiles the kernels

    model.save(shared / "model")

    def encoded(ending: str) -> Callable[[Path], object]:
        options = ["--model", str(shared / "model"), "--batch-size", "30", "--threads", "1"]
        return lambda place: encode.main(
            [str(text), *options, "-o", str(place / f"out{ending}")], standalone_mode=False
        )

    def index(place: Path) -> None:
        update(place / OUT, text, model=model, threads=1)

    return [
        Work("prepare", lambda place: sc.prepare(text, output=place / OUT, min_count=1, text=settings, threads=1)),
        Work("train with checkpoints", lambda place: train_into(
            place / OUT, recipe, stream, threads=1, saving=Saving(checkpoint_minutes=0))),
        Work("save", lambda place: model.save(place / OUT), lambda place: other.save(place / OUT)),
        Work("compress", lambda place: model.compress("int8").save(place / OUT)),
        Work("convert", lambda place: write_model(model, place / "out.txt")),
        Work("convert to Parquet", lambda place: write_model(model, place / "out.parquet")),
        Work("encode", encoded(".npy")),
        Work("encode to CSV", encoded(".csv")),
        Work("index", index, tree=index_tree),
        Work("update of an index", lambda place: update(place / OUT, [text, more], model=model, threads=1), index,
             tree=index_tree),
    ]  # fmt: skip


def out_of(place: Path) -> Path:
    """The output of the work, whatever its ending."""
    return next((path for path in sorted(place.iterdir()) if path.name.startswith(OUT)), place / OUT)


# disturbances


def in_child(act: Callable[[], object], limits: Callable[[], object] = lambda: None) -> int:
    """Runs something in a fork; returns its process id. Its messages and exceptions go to `SAID`.

    Ctrl-C is held back until the fork can handle it: otherwise it would unwind into the campaign and tidy up its files.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        return child
    code = 70
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(SAID.fileno(), 2)
        gc.disable()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        limits()
        act()
        code = 0
    except BaseException as error:
        with suppress(OSError, MemoryError):
            os.write(2, "".join(traceback.format_exception(error)).encode())
        code = code_of(error)
    finally:
        os._exit(code)
    return 0


def code_of(error: BaseException) -> int:
    """2 for an error of ours, 3 and 4 for the legitimate results of a disturbance, 70 for a bug."""
    if isinstance(error, SiameseCBOWError):
        return 2
    if isinstance(error, KeyboardInterrupt | click.Abort | MemoryError):
        return 3
    expected = (*ERRORS, errno.EFBIG, errno.ENOMEM)
    return 4 if isinstance(error, OSError) and error.errno in expected else 70


def last_words() -> str:
    """The end of the children's messages."""
    size = os.fstat(SAID.fileno()).st_size
    return os.pread(SAID.fileno(), 1500, max(0, size - 1500)).decode("utf-8", "replace")


def ended(child: int) -> int:
    """How a child ended: its exit code, or -signal; one that hangs is an error.

    Counts naps instead of seconds, because the clock goes on while the machine sleeps or is busy with other work.
    """
    nap = 0.002
    for _ in range(round(PATIENCE / nap)):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(nap)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError(f"it hangs for {PATIENCE} s")


class Campaign:
    """Disturbs pieces of work and counts the results."""

    def __init__(self, shared: Path) -> None:
        self._shared = shared
        self.rows: list[dict[str, Any]] = []
        self.losses: list[str] = []
        self._n_lost = 0
        self.end = math.inf  # of the time for a piece of work; later faults are left out
        self._expected: dict[str, tuple[Tree, Tree, float, int]] = {}

    def expected(self, work: Work) -> tuple[Tree, Tree, float, int]:
        """What exists before and after the work, how long it takes, and how many operations it has."""
        if work.name not in self._expected:
            with self._place() as place:
                work.before(place)
                work.run(place)  # warms up this process, so that its forks don't have to
            with self._place() as place:
                work.before(place)
                before = work.tree(out_of(place)) if out_of(place).exists() else {}
                begun = time.perf_counter()
                log = self._shared / "operations"

                def count() -> None:
                    with failing(0) as operations:
                        work.run(place)
                    log.write_text(str(len(operations)))

                assert ended(in_child(count)) == 0, f"{work.name} fails undisturbed: {last_words()}"
                taken = time.perf_counter() - begun
                tree = work.tree(out_of(place))
                self._expected[work.name] = (before, tree, taken, int(log.read_text()))
        return self._expected[work.name]

    @contextmanager
    def _place(self) -> Iterator[Path]:
        place = Path(tempfile.mkdtemp(dir=self._shared))
        (place / "foreign.txt").write_text(FOREIGN)
        yield place
        shutil.rmtree(place, ignore_errors=True)

    def disturb(self, work: Work, how: str, disturbance: Callable[[Path], int]) -> bool:
        """Injects one fault; returns whether it had any effect. Work that did not survive it goes into `losses`."""
        if time.monotonic() > self.end:
            return False
        try:
            return self._survives(work, how, disturbance)
        except AssertionError as error:
            self.losses.append(f"{work.name}, {how}: {error}")
            return True

    def _survives(self, work: Work, how: str, disturbance: Callable[[Path], int]) -> bool:
        """Disturbs the work, checks what is left and repeats it; an AssertionError means that bytes are lost."""
        before, after, _, _ = self.expected(work)
        with self._place() as place:
            work.before(place)
            code = disturbance(place)
            assert code not in (1, 70, -signal.SIGSEGV, -signal.SIGBUS), f"ended with {code}: {last_words()}"
            left = work.tree(out_of(place)) if out_of(place).exists() else {}
            if work.tree is index_tree:  # the next update deletes what a crash leaves
                left.pop("strays", None)
                states = [{k: v for k, v in tree.items() if k != "strays"} for tree in (before, after)]
            else:
                states = [before, after]
            assert left in states, f"{sorted(left)} is neither the old nor the new one"
            code_again = ended(in_child(lambda: work.run(place)))
            assert code_again == 0, f"the same again ends with {code_again}: {last_words()}"
            assert work.tree(out_of(place)) == after, "the same again gives other bytes"
            assert (place / "foreign.txt").read_text() == FOREIGN, "a stranger's file is gone"
            names = {path.name for path in place.iterdir()} - {"foreign.txt", out_of(place).name}
            if left == states[1]:  # everything was done except tidying up, which the next writer does
                names = {name for name in names if not name.startswith(f".{out_of(place).name}.")}
            assert not names, f"leftovers {sorted(names)}"
        return code != 0

    def add(self, work: Work, kind: str, effects: list[bool]) -> None:
        """Counts faults that had an effect, not those that came too late or too early."""
        n, n_lost = sum(effects), len(self.losses) - self._n_lost
        self._n_lost = len(self.losses)
        if n:
            self.rows.append({"what": work.name, "kind": kind, "n": n, "survived": n - n_lost})

    def all_of(self, work: Work, chance: random.Random, scale: float) -> None:
        """Every kind of fault on one piece of work."""
        _, after, taken, n_operations = self.expected(work)
        largest = max(map(len, after.values()))
        every = range(1, n_operations + 1)
        some = sorted(chance.sample(every, max(2, min(n_operations, round(n_operations * scale)))))

        def failing_at(at: int, kind: Any) -> Callable[[Path], int]:
            def disturbance(place: Path) -> int:
                def act() -> None:
                    with failing(at, kind):
                        work.run(place)

                return ended(in_child(act))

            return disturbance

        self.disturb(work, "two writers", two_writers(work))
        self.add(work, "two writers", [True])
        self.add(work, "clock", [self.disturb(work, "clock", clock_jumps(work))])
        self.add(work, "kills", [
            self.disturb(work, f"kill at {at}", failing_at(at, "kill")) for at in some])  # fmt: skip
        for number in ERRORS:
            few = sorted(chance.sample(every, max(1, round(n_operations * scale / 4))))
            name = errno.errorcode[number]
            self.add(work, "errors", [
                self.disturb(work, f"{name} at {at}", failing_at(at, number)) for at in few])  # fmt: skip
        sizes = [chance.randrange(1, largest) for _ in range(max(2, round(14 * scale)))]
        self.add(work, "kills", [
            self.disturb(work, f"kill at byte {size}", limited(work, resource.RLIMIT_FSIZE, size, kill=True))
            for size in sizes])  # fmt: skip
        self.add(work, "errors", [
            self.disturb(work, f"EFBIG at byte {size}", limited(work, resource.RLIMIT_FSIZE, size))
            for size in sizes])  # fmt: skip
        for number in SIGNALS:
            moments = [chance.random() * taken for _ in range(max(1, round(5 * scale)))]
            self.add(work, "signals", [
                self.disturb(work, f"{number.name} after {moment:.4f} s", signalled(work, number, moment))
                for moment in moments])  # fmt: skip
        self.add(work, "limits", [
            self.disturb(work, f"{n} files", limited(work, resource.RLIMIT_NOFILE, n)) for n in (5, 8)])  # fmt: skip
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        self.add(work, "limits", [
            self.disturb(work, "little memory", limited(work, resource.RLIMIT_AS, used + n))
            for n in (40 << 20, 80 << 20)])  # fmt: skip


def limited(work: Work, what: int, limit: int, *, kill: bool = False) -> Callable[[Path], int]:
    """Runs the work under a system limit; with `kill`, SIGXFSZ ends the process."""

    def disturbance(place: Path) -> int:
        def limits() -> None:
            if kill:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))

        return ended(in_child(lambda: work.run(place), limits))

    return disturbance


def signalled(work: Work, number: signal.Signals, moment: float) -> Callable[[Path], int]:
    """Runs the work, and sends a signal after some time."""

    def disturbance(place: Path) -> int:
        child = in_child(lambda: work.run(place))
        time.sleep(moment)
        with suppress(ProcessLookupError):
            os.kill(child, number)
        return ended(child)

    return disturbance


def two_writers(work: Work) -> Callable[[Path], int]:
    """Runs the same work twice at once: both succeed, or one is told about the other."""

    def disturbance(place: Path) -> int:
        def act() -> None:
            with patch.object(files, "LOCK_SECONDS", 3600):  # gives a live writer time to lock its folder
                work.run(place)

        codes = {ended(child) for child in [in_child(act) for _ in range(2)]}
        assert codes <= {0, 2}, f"{work.name}, two writers: {codes}"
        assert 0 in codes, f"{work.name}, two writers: both lost"
        return 0

    return disturbance


def clock_jumps(work: Work) -> Callable[[Path], int]:
    """Kills the work half-way in another decade; the next run is back in this one."""

    def disturbance(place: Path) -> int:
        def act() -> None:
            with patch.object(time, "time", lambda: 4e9), failing(5, "kill"):
                work.run(place)

        return ended(in_child(act))

    return disturbance


def campaign(scale: float, seed: int = 1, minutes: float = math.inf, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """All faults on all pieces of work, as far as time allows; returns what was injected."""
    files.LOCK_SECONDS = -math.inf  # leftovers of a killed process count at once, even if the clock was set back
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        attack = Campaign(Path(folder))
        chosen = [work for work in works(Path(folder)) if not names or work.name in names]
        end = time.monotonic() + 60 * minutes
        for number, work in enumerate(chosen):
            now = time.monotonic()
            attack.end = now + (end - now) / (len(chosen) - number)
            attack.all_of(work, chance, scale)
    return {"rows": attack.rows, "losses": attack.losses}


if __name__ == "__main__":
    _ = np  # loaded before the forks
    given = (*sys.argv[1:], *("1", "1", "inf")[len(sys.argv) - 1 :])
    result = campaign(float(given[0]), int(given[1]), float(given[2]), given[3:])
    sys.stdout.write(json.dumps(result) + "\n")
