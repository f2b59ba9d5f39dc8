"""One definition of words: plain Python, the scanner and the `tokenizers` library must agree on any text."""

from __future__ import annotations

import hashlib
import itertools
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_cbow.errors import SettingsError
from siamese_cbow.stream.counting import WordCounter
from siamese_cbow.words import characters
from siamese_cbow.words.lookup import Lookup, as_lines
from siamese_cbow.words.scanner import normal_lines
from siamese_cbow.words.tokenizer import UNKNOWN, Kind, Tokenizer, every_tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

TOKENIZERS = [
    tokenizer
    for tokenizer in every_tokenizer()  # French represents all languages with elisions
    if tokenizer.language in ("", "fr", "tr") and (tokenizer.punctuation or not tokenizer.language)
]
NAMES = [
    f"{t.kind}-{'lower' if t.lowercase else 'cased'}-{'marks' if t.punctuation else 'bare'}-{t.rule}{t.language}"
    for t in TOKENIZERS
]

# Characters that matter: apostrophes, points in numbers, marks, ideographs, unusual lower cases, separators.
TRICKY_1 = "aZ09.,'’!-_ \t\r\x00\x1f\x85\xa0é̈ÉİΣςσßẞⅫ½²日のァーह्❤\ufe0f\u200d\ufffd\u2028😀𝔸𐐀"
# Since rule 2: joiners, Hebrew, dots, syllables, flags, skin tones, new combining marks, Hangul parts, dotless i.
TRICKY = TRICKY_1 + '@#+%:/"״׳אבַ·ʼIıcnetdlqu\u00ad\u200c\u0301\u0316\u1acc\u0899กเาิ์ขະເົກ្ខែမ္ျန့်🇩🇪🏽कि़ᄀ각'
PIECES = [*TRICKY, "https://", "Http://www.", "anna@x.org", "C++", "c#", ".net", "v2.1", "l'", "Qu’", "3.14", "@a_b"]
texts = st.one_of(
    st.text(st.sampled_from(TRICKY), max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.text(max_size=40),
    st.text(st.characters(codec="ascii"), max_size=40),
    st.lists(st.text(st.sampled_from("aZ09'é."), min_size=6, max_size=20), max_size=4).map(" ".join),  # 8-byte blocks
)


def scanned(tokenizer: Tokenizer, text: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The words that the counting scanner sees."""
    counter = WordCounter(tokenizer, max_distinct=1000, folder=tmp_path_factory.getbasetemp())
    ids, _ = counter.scan(as_lines([text]).tobytes())
    return [word.decode() for word in counter.words(ids)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t panic: 3.14 is 4U!", ["don't", "panic", ":", "3.14", "is", "4u", "!"]),
        ("1,000,000.5x 3. .5 1.2.a", ["1,000,000.5", "x", "3", ".", ".", "5", "1.2", ".", "a"]),
        ("rock 'n' roll's '90s", ["rock", "'", "n", "'", "roll's", "'", "90s"]),
        ("日本語のテスト", ["日", "本", "語", "の", "テスト"]),
        ("हिन्दी में क्\u200dष", ["हिन्दी", "में", "क्ष"]),
        ("İstanbul ΟΔΟΣ", ["istanbul", "οδοσ"]),
        ("snake_case a-b", ["snake", "_", "case", "a", "-", "b"]),
        ("caf\u0065\u0301 soft\u00adhyphen", ["café", "softhyphen"]),
        ("می\u200cخواهم محـمد", ["میخواهم", "محمد"]),
        ('צה״ל צה"ל ג׳ירפה "שלום"', ['צה"ל', 'צה"ל', "ג'ירפה", '"', "שלום", '"']),
        ("C++17, C# and .NET, i++; a+++b", ["c++", "17", ",", "c#", "and", ".net", ",", "i++", ";", *"a+++b"]),
        ("v2.19.0 2.19.0rc1 kdoe77", ["v2.19.0", "2.19.0", "rc1", "kdoe77"]),
        ("mail anna.b@my-site.org.", ["mail", "anna.b@my-site.org", "."]),
        ("@anna_b: #deep_work a@b @5", ["@anna_b", ":", "#", "deep", "_", "work", "a", "@", "b", "@", "5"]),
        ("👩\u200d💻👍🏽🇩🇪❤\ufe0f", ["👩", "💻", "👍", "🇩🇪", "❤"]),
        ("ธนาคารแห่งประเทศไทย", ["ธ", "นา", "คาร", "แห่ง", "ป", "ระ", "เทศ", "ไทย"]),
        ("ພາສາລາວ ភាសាខ្មែរ မြန်မာ", ["ພາ", "ສາ", "ລາວ", "ភា", "សា", "ខ្មែរ", "မြန်", "မာ"]),
        ("เด็กๆ", ["เด็ก", "ๆ"]),  # a repetition sign is not a vowel of the letter before it
        ("စီမံခန့်ခွဲမှု အမည်မသိ", ["စီ", "မံ", "ခန့်", "ခွဲ", "မှု", "အ", "မည်", "မ", "သိ"]),  # letters without a closing mark
        ("col·legi O‘zbek м’ята", ["col·legi", "o'zbek", "м'ята"]),
        ("\x00\ufffd \ud800", []),
        ("", []),
    ],
)
def test_words_by_example(text: str, words: list[str]) -> None:
    assert Tokenizer().words(text) == words


def test_options() -> None:
    assert Tokenizer(lowercase=False).words("The Cat") == ["The", "Cat"]
    assert Tokenizer(punctuation=False).words("it's, well, 3.14!") == ["it's", "well", "3.14"]
    assert Tokenizer("whitespace").words("He said .\tIt's") == ["he", "said", ".", "it's"]
    assert Tokenizer(punctuation=False).words("https://www.example.org/a_b 😀 ★!") == ["example", "org", "a", "b", "😀"]
    with pytest.raises(SettingsError, match="'letters'"):
        Tokenizer("letters")  # type: ignore[arg-type]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=NAMES)
def test_settings_round_trip(tokenizer: Tokenizer) -> None:
    assert Tokenizer.from_settings(tokenizer.settings()) == tokenizer
    with pytest.raises(SettingsError, match="colour"):
        Tokenizer.from_settings({"colour": "red"})


@pytest.mark.parametrize("wrong", [{"punctuation": []}, {"lowercase": 1}, {"rule": "2"}, {"rule": [2]}, {"rule": True}])
def test_settings_of_a_file_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="tokenizer"):
        Tokenizer.from_settings({**Tokenizer().settings(), **wrong})


def test_languages_have_words_of_their_own() -> None:
    french = Tokenizer().of_language("fr")
    assert french.words("L’homme qu'il d'aujourd'hui quelqu'un") == [
        "l'", "homme", "qu'", "il", "d'", "aujourd'hui", "quelqu'un",
    ]  # fmt: skip
    assert Tokenizer().words("l'homme") == ["l'homme"]
    assert Tokenizer().of_language("it").words("dell'arte un'amica po'") == ["dell'", "arte", "un'", "amica", "po", "'"]
    assert Tokenizer().of_language("tr").words("ISPARTA İZMİR") == ["ısparta", "izmir"]
    assert Tokenizer().of_language("de") == Tokenizer()
    assert Tokenizer(rule=1).of_language("fr") == Tokenizer(rule=1)
    for wrong in ("de", "French"):
        with pytest.raises(SettingsError, match="expected ''"):
            Tokenizer(language=wrong)
    with pytest.raises(SettingsError, match="rule 2"):
        Tokenizer(rule=1, language="fr")


def fingerprint_of_rule(rule: int, tricky: str, table: list[str]) -> str:
    hashed = hashlib.blake2b("\n".join([*table, ""]).encode(), digest_size=16)
    triples = " ".join(map("".join, itertools.product(tricky, repeat=3)))
    kinds: tuple[Kind, ...] = ("words", "whitespace")
    for kind, lowercase, punctuation in itertools.product(kinds, (True, False), (True, False)):
        hashed.update("\n".join(Tokenizer(kind, lowercase, punctuation, rule).words(triples)).encode())
    return hashed.hexdigest()


def test_rules_stay_what_they_were() -> None:
    """Streams and models record the rule that split them. Any other splitting is another rule: see RULES."""
    table = Path(characters.__file__).with_name("unicode_tables.txt").read_text("ascii").splitlines()
    assert fingerprint_of_rule(1, TRICKY_1, table[:6]) == "dacce926305dd846038111007d3fd077"
    assert fingerprint_of_rule(2, TRICKY_1, table) == "41531b717197523e43ac4ccba1b89f61"


def test_text_in_its_normal_form_stays_as_it_is() -> None:
    """Only lines that need it are rewritten; the others come back unchanged, in the same memory."""
    lines = as_lines(["plain", "größer", "e\u0301", "see https://x.org", "x"])
    assert normal_lines(lines, Tokenizer()).tobytes().decode() == "plain\ngrößer\né\nsee         x.org\nx\n"
    same = as_lines(["plain", "größer", "ein: Wort"] * 2000)
    assert np.shares_memory(normal_lines(same, Tokenizer()), same)
    many = as_lines(["plain text", "e\u0301" * 3, "", "größer"] * 3000)
    assert normal_lines(many, Tokenizer()).tobytes().decode() == unicodedata.normalize("NFC", many.tobytes().decode())


@given(text=st.text(st.sampled_from(TRICKY), max_size=30))
def test_the_normal_form_is_normal(text: str) -> None:
    normal = Tokenizer().normal(text)
    assert Tokenizer().words(normal) == Tokenizer().words(text)


def test_no_text_takes_long() -> None:
    """If the time weren't linear, these would take hours."""
    for piece in ("a-", "a.", "a@", "a'", "เ", "+", "@a", "l'", "1.", "1,"):
        text = piece * 100_000
        assert len(Tokenizer(language="fr").words(text)) > 0


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=NAMES)
@settings(max_examples=300)
@given(text=texts)
def test_scanner_equals_definition(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert scanned(tokenizer, text, tmp_path_factory) == tokenizer.words(text)


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=NAMES)
@settings(max_examples=300)
@given(text=texts)
def test_tokenizers_library_equals_definition(tokenizer: Tokenizer, text: str) -> None:
    library = pytest.importorskip("tokenizers")
    theirs = library.Tokenizer.from_str(tokenizer.to_json([]))
    normal = theirs.normalizer.normalize_str(text)
    assert [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(normal)] == tokenizer.words(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "tokenizer", [Tokenizer(), Tokenizer(rule=1), Tokenizer("whitespace")], ids=["words", "rule 1", "whitespace"]
)
def test_every_code_point_is_cut_as_the_tokenizers_library_cuts_it(
    tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Exhaustive: each code point between two letters, between two digits, and alone."""
    library = pytest.importorskip("tokenizers")
    theirs = library.Tokenizer.from_str(tokenizer.to_json([]))
    # Beyond these, Unicode has only unassigned and private-use code points; one in a hundred is enough.
    assigned = [*range(0xD800), *range(0xE000, 0x33480), *range(0xE0000, 0xE0200)]
    points = [chr(i) for i in [*assigned, *range(0x33480, characters.N_CODE_POINTS, 100)] if i != ord("\n")]
    for start in range(0, len(points), 10_000):
        text = "".join(f" a{point}b 1{point}2 {point} ก{point}า " for point in points[start : start + 10_000])
        words = tokenizer.words(text)
        normal = theirs.normalizer.normalize_str(text)
        assert [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(normal)] == words
        counter = WordCounter(tokenizer, max_distinct=1_000_000, folder=tmp_path_factory.getbasetemp())
        ids, _ = counter.scan(as_lines([text]).tobytes())
        assert [word.decode() for word in counter.words(ids)] == words


def test_ids_of_the_tokenizers_library() -> None:
    library = pytest.importorskip("tokenizers")
    theirs = library.Tokenizer.from_str(Tokenizer().to_json(["the", "cat"]))
    assert theirs.encode("The [UNK] cat", add_special_tokens=False).ids == [0, 2, 2, 2, 1]
    # A corpus that is already tokenised may contain the word [UNK] itself.
    spelled = Tokenizer("whitespace", lowercase=False).to_json(["the", UNKNOWN])
    assert library.Tokenizer.from_str(spelled).encode("the [UNK] x").ids == [0, 1, 2]


@settings(max_examples=200)
@given(lines=st.lists(st.one_of(texts, st.text(st.sampled_from("aaaaaaaAé' "), max_size=40)), max_size=8))
def test_lookup_equals_index(lines: list[str]) -> None:
    tokenizer = Tokenizer()
    long = ["aaaaaaa", "aaaaaaaa", "aaaaaaaaa", "a" * 16, "aaaaaaé", "aaaaaaaé", "aaaaaaaa'a"]
    vocabulary = Vocabulary.of_words(["a", "z", "the", "don't", "9", "σ", "日", "😀", "é", *long])
    ids, offsets = Lookup(vocabulary, tokenizer).ids(lines)
    known = [[vocabulary.index[word] for word in tokenizer.words(line) if word in vocabulary] for line in lines]
    assert [ids[start:end].tolist() for start, end in itertools.pairwise(offsets)] == known
    assert ids.dtype == np.int32, "16 bits are too few for the paper's 315,643 words"


def test_lookup_of_many_pieces() -> None:
    lines = ["the cat " * (i % 50) + "x" * (i % 7) for i in range(20_000)]
    lookup = Lookup(Vocabulary.of_words(["the", "cat"]), Tokenizer())
    _, offsets = lookup.ids(lines)
    assert np.array_equal(np.diff(offsets), [2 * (i % 50) for i in range(20_000)])
    long, bounds = lookup.ids(["cat " * 300_000, "the"])
    assert bounds.tolist() == [0, 300_000, 300_001]
    assert long[-1] == 0
