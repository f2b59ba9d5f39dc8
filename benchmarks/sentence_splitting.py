"""Three sentence splitters compared: how many hard cases they get right, and how fast they are.

    python -m benchmarks.sentence_splitting [--text FILE] [--write]

FILE has one paragraph per line and may be compressed; without it, speed is measured on the hard cases, repeated. Needs
`pip install sentencex blingfire pysbd`. The cases were written for this script before any splitter ran on them. Each is
a list of sentences; joined by a space (by nothing in languages without spaces), they must be split exactly there.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.tables import arguments, best_of, machine, markdown, report
from siamese_cbow.text.row_reader import iter_lines
from siamese_cbow.text.splitters import split_lines

Splitter = Callable[[str, str], list[str]]  # (language, paragraph) -> sentences

CASES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("plain", "en", ("The cat sat on the mat.", "It was happy.")),
    ("question and exclamation", "en", ("Is it raining?", "No!", "Then let us go.")),
    ("title", "en", ("Dr. Smith met Mrs. Jones and Prof. Lee.", "They had tea.")),
    ("title before initial", "en", ("We asked Mr. J. Brown about it.", "He said nothing.")),
    ("initials", "en", ("J. R. R. Tolkien wrote it in 1937.", "C. S. Lewis read it first.")),
    ("initials without spaces", "en", ("The poem is by T.S. Eliot and W.H. Auden.", "It is long.")),
    ("country", "en", ("She moved from the U.S. to the U.K. in May.", "It was cold there.")),
    ("country at the end", "en", ("He was born in the U.S.", "His mother was French.")),
    ("decimal", "en", ("The rate rose by 3.5 percent to 12.25.", "Nobody noticed.")),
    ("version", "en", ("Version 2.0.1 came out in June.", "It fixed the bug.")),
    ("money", "en", ("It cost $3.99 in shops.", "Now it is £5.00.")),
    ("time", "en", ("The train leaves at 6 p.m. on Friday.", "Don't be late.")),
    ("time at the end", "en", ("We met at 9 a.m.", "The room was empty.")),
    ("e.g. and i.e.", "en", ("Some fruits, e.g. apples, are red.", "Others, i.e. bananas, aren't.")),
    ("etc. inside", "en", ("Pens, paper etc. are in the drawer.", "Take what you need.")),
    ("etc. at the end", "en", ("They sold pens, paper, etc.", "Business was good.")),
    ("vs. and al.", "en", ("Smith et al. compared dogs vs. cats.", "Dogs won.")),
    ("company", "en", ("Apple Inc. sued Acme Co. last year.", "The case was dropped.")),
    ("company at the end", "en", ("She works for Acme Inc.", "Her brother does too.")),
    ("number sign", "en", ("See No. 5 on p. 12 and Fig. 3.", "The rest is clear.")),
    ("month", "en", ("The shop closed on Jan. 5 and opened on Feb. 1.", "Nobody knew why.")),
    ("street", "en", ("They live at 12 Main St. in Springfield.", "Their house is blue.")),
    ("saint", "en", ("St. Peter's is in Rome.", "St. Paul's is in London.")),
    ("double quotes", "en", ('"I am here," he said.', '"Come in."', "She opened the door.")),
    ("speech verb after a question", "en", ('"Are you well?" she asked.', "He nodded.")),
    ("curly quotes", "en", ("“This is the end.”", "He put the phone down.")),
    ("two sentences in quotes", "en", ('He said, "It is late. We must go." and left.', "Nobody followed.")),
    ("parentheses", "en", ("The result (see Table 2. for details) is good.", "We stop here.")),
    ("sentence in parentheses", "en", ("He left early.", "(He always does.)", "We stayed.")),
    ("ellipsis inside", "en", ("I thought ... well, never mind.", "Go on.")),
    ("ellipsis at the end", "en", ("I don't know...", "Maybe he will come.")),
    ("one-character ellipsis", "en", ("She waited…", "Nothing happened.")),
    ("web address", "en", ("Go to www.example.com/index.html for more.", "It is free.")),
    ("e-mail", "en", ("Write to john.doe@example.org today.", "He answers fast.")),
    ("file name", "en", ("Open notes.txt and config.json first.", "Then restart.")),
    ("interrobang", "en", ("What?!", "You can't be serious!!!", "I am.")),
    ("name with a mark", "en", ("I love Yahoo! and its old logo.", "It was purple.")),
    ("degree", "en", ("She holds a Ph.D. in physics and an M.A. in art.", "She teaches both.")),
    ("lower-case start", "en", ("I bought a phone.", "iPhones are expensive.")),
    ("starts with a number", "en", ("They won.", "42 people cheered.")),
    ("Wikipedia note", "en", ("The town has 3,000 people.[1]", "It lies on a river.[2]")),
    ("German abbreviations", "de", ("Das gilt z. B. für Dr. Müller.", "Er wohnt in der Hauptstr. 5.", "Sie auch.")),
    ("German date", "de", ("Am 3. Oktober 1990 wurde gefeiert.", "Es war ein Mittwoch.")),
    ("German quotes", "de", ("„Komm her!“, rief er.", "Niemand kam.")),
    ("French", "fr", ("M. Dupont habite à Paris.", "Il a 3,5 millions d'euros, etc. et une maison.", "Voilà !")),
    ("French quotes", "fr", ("« Viens ! » dit-elle.", "Il ne répondit pas.")),
    ("Spanish", "es", ("¿Dónde está el Sr. García?", "¡No lo sé!", "Salió a las 5.")),
    ("Italian", "it", ("Il sig. Rossi abita a Roma.", "Ha 3.500 libri.")),
    ("Dutch", "nl", ("Dhr. de Vries woont o.a. in Utrecht.", "Hij is arts.")),
    ("Russian", "ru", ("А. С. Пушкин родился в 1799 г. в Москве.", "Он был поэтом.")),
    ("Greek question mark", "el", ("Πού είσαι;", "Είμαι εδώ.")),
    ("Chinese", "zh", ("他来了。", "你看见他了吗？", "我没有！")),
    ("Chinese quotes", "zh", ("他说：“我来了。”", "大家都笑了。")),
    ("Japanese", "ja", ("彼は来た。", "本当ですか？", "はい。")),
    ("Hindi", "hi", ("वह घर गया।", "मैं भी गया।")),
    ("Arabic", "ar", ("هل أنت بخير؟", "نعم، أنا بخير.")),
)


def sentencex_splitter() -> Splitter:
    from sentencex import segment

    return lambda language, text: [sentence.strip() for sentence in segment(language, text) if sentence.strip()]


def blingfire_splitter() -> Splitter:
    from blingfire import text_to_sentences

    return lambda _, text: [sentence.strip() for sentence in text_to_sentences(text).split("\n")]


def pysbd_splitter() -> Splitter:
    from pysbd import Segmenter

    made: dict[str, Segmenter] = {}

    def split(language: str, text: str) -> list[str]:
        if language not in made:
            made[language] = Segmenter(language=language, clean=False)
        return [sentence.strip() for sentence in made[language].segment(text)]

    return split


SPLITTERS = {"sentencex": sentencex_splitter, "blingfire": blingfire_splitter, "pysbd": pysbd_splitter}


def joined(language: str, sentences: Sequence[str]) -> str:
    return ("" if language in ("zh", "ja") else " ").join(sentences)


def right(split: Splitter, language: str, sentences: Sequence[str]) -> bool:
    try:
        return split(language, joined(language, sentences)) == list(sentences)
    except Exception:
        return False  # a crash on plain text counts as a wrong answer


def megabytes_per_second(split: Splitter, texts: Sequence[str], threads: int) -> float:
    """The best of five rounds: on a shared machine, slower ones also measure other programs."""
    return max(one_round(split, texts, threads) for _ in range(5))


def one_round(split: Splitter, texts: Sequence[str], threads: int, seconds: float = 1.0) -> float:
    """Splits paragraph by paragraph until the time is up; with two threads, both halves at once."""

    def run(part: Sequence[str]) -> int:
        done, end = 0, time.perf_counter() + seconds
        for text in part:
            split("en", text)
            done += len(text.encode())
            if time.perf_counter() > end:
                break
        return done

    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        n_bytes = sum(pool.map(run, (texts[i::threads] for i in range(threads))))
    return n_bytes / 1e6 / (time.perf_counter() - start)


def joined_megabytes_per_second(split: Splitter, texts: Sequence[str], size: int = 8192) -> float:
    """Speed with many paragraphs per call, separated by empty lines."""
    pieces, piece = [], ""
    for text in texts:
        piece += text + "\n\n"
        if len(piece) > size:
            pieces.append(piece)
            piece = ""
    return megabytes_per_second(split, pieces, 1)


def our_megabytes_per_second(texts: Sequence[str]) -> float:
    """Speed with everything that we add around sentencex: bytes in, lines out."""
    text = "\n".join(texts).encode()[: 16 << 20]
    return len(text) / 1e6 / best_of(5, lambda: split_lines(text[: text.rfind(b"\n")], "en"))


def cases_table(splitters: dict[str, Splitter]) -> str:
    rows = []
    for what, language, sentences in CASES:
        results = [right(split, language, sentences) for split in splitters.values()]
        rows.append([f"{what} ({language})", *("right" if result else "**wrong**" for result in results)])
    totals = [sum(row[i] == "right" for row in rows) for i in range(1, len(splitters) + 1)]
    return markdown(["case", *splitters], [*rows, [f"right of {len(CASES)}", *totals]])


def speed_table(splitters: dict[str, Splitter], paragraphs: Sequence[str]) -> str:
    measures: dict[str, Callable[[Splitter], float]] = {
        "one paragraph per call": lambda split: megabytes_per_second(split, paragraphs, 1),
        "the same in 2 threads": lambda split: megabytes_per_second(split, paragraphs, 2),
        "8 KB of paragraphs per call": lambda split: joined_megabytes_per_second(split, paragraphs),
    }
    rows = [[what, *(f"{f(split):.1f}" for split in splitters.values())] for what, f in measures.items()]
    return markdown(["MB/s", *splitters], rows)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--text", help="one paragraph per line")
    options = parser.parse_args()
    paragraphs = [joined(language, sentences) for _, language, sentences in CASES if language == "en"] * 2000
    if options.text:
        paragraphs = [line for line in itertools.islice(iter_lines(options.text), 60_000) if line]
    splitters = {name: make() for name, make in SPLITTERS.items()}
    ours = our_megabytes_per_second(paragraphs)
    parts = (
        machine(*SPLITTERS),
        speed_table(splitters, paragraphs),
        f"sentencex as `siamese-cbow prepare` uses it (bytes in, lines out, long quotations split again): {ours:.0f} "
        "MB/s.",
        cases_table(splitters),
    )
    report("sentence_splitting", "Sentence splitters", *parts, write=options.write)


if __name__ == "__main__":
    main()
