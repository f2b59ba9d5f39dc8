"""Cold start: a command, and the same job in a fresh process with other libraries.

    python -m benchmarks.cold_start [--rounds N] [--json FILE] [--write]

CPU seconds (user and system) of whole processes, including the start of Python; files are in the disk cache. All
programs load the same folder with 300,000 words in 300 dimensions; one more row shows the model that ships with the
package.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.tables import arguments, machine, markdown, report, run_python
from siamese_cbow import Model, Vocabulary
from siamese_cbow.words.vocabulary import FEW

N_WORDS, DIM = 300_000, 300
A, B = "w1 w22 w333 w4444", "w5 w22 w55555 w4444 !"

ENCODE = "a, b = model.encode([{a!r}, {b!r}]); a @ b"
PROGRAMS = {
    "python -c pass": "pass",
    "siamese-cbow similarity": (
        "from siamese_cbow.cli import main; main(['similarity', {a!r}, {b!r}, '--model', {folder!r}])"
    ),
    "the same, pretrained model": (
        "from siamese_cbow.cli import main; main(['similarity', 'A man plays a guitar', 'Someone sings'])"
    ),
    "model2vec": f"from model2vec import StaticModel; model = StaticModel.from_pretrained({{folder!r}}); {ENCODE}",
    "sentence-transformers": (
        "from sentence_transformers import SentenceTransformer; "
        f"model = SentenceTransformer({{folder!r}}, device='cpu'); {ENCODE}"
    ),
}
LOADING = (
    "import time, siamese_cbow as sc; sc.load; start = time.perf_counter(); model = sc.load({folder!r}); "
    "loaded = time.perf_counter(); model.encode({a!r}); print(loaded - start, time.perf_counter() - loaded)"
)
COMPILING = (
    "import siamese_cbow as sc; "
    "stream = sc.Stream.of_words([[['a', 'b'], ['b', 'c'], ['c', 'a']] * 20]); "
    "sc.SiameseCBOW(dim=16, batch_size=16, subsample=0).train(stream)"
)


def save_model(folder: Path) -> None:
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(N_WORDS)]
    counts = np.maximum(10**8 // np.arange(1, N_WORDS + 1), 1)
    Model(Vocabulary(words, counts), rng.standard_normal((N_WORDS, DIM), dtype=np.float32)).save(folder)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the seconds to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(Path(temporary) / "model")
        save_model(Path(folder))
        programs = {name: text.format(a=A, b=B, folder=folder) for name, text in PROGRAMS.items()}
        best = dict.fromkeys(programs, float("inf"))
        loading, first = float("inf"), float("inf")
        for _ in range(options.rounds):  # they take turns, so that a slow moment of the machine hits all
            for name, program in programs.items():
                best[name] = min(best[name], run_python(program)[1])
            seconds = run_python(LOADING.format(a=A, folder=folder))[2].split()
            loading, first = min(loading, float(seconds[0])), min(first, float(seconds[1]))
        kernels = str(Path(temporary) / "kernels")
        compiling, again = (run_python(COMPILING, NUMBA_CACHE_DIR=kernels)[1] for _ in range(2))
    ours = best["siamese-cbow similarity"]
    rows = [[name, f"{seconds:.2f}", f"{seconds / ours:.1f}"] for name, seconds in best.items()]
    page = (
        f"{machine('model2vec', 'sentence-transformers', 'numpy')}; {N_WORDS:,} words, {DIM} dimensions.\n\n"
        f"{markdown(['process: load the model, compare two sentences', 'CPU seconds', 'times ours'], rows)}\n\n"
        f"`siamese_cbow.load` alone takes {loading * 1e3:.0f} ms (memory-mapped), and the first `encode` "
        f"{first * 1e3:.1f} ms more: the first words are looked up in the text of the vocabulary, and a dictionary "
        f"is built only for the {FEW + 1}th.\n\n"
        f"The first training run on a machine compiles the kernels: a tiny run takes {compiling:.0f} CPU seconds, "
        f"and {again:.1f} from the second time on."
    )
    report("cold_start", "Cold start", page, write=options.write)
    if options.json:
        options.json.write_text(json.dumps({"cpu_seconds": best, "loading": loading, "first_encode": first}, indent=2))


if __name__ == "__main__":
    main()
