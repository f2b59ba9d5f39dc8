"""Encodings: text is read correctly and the encoding reported in one line, or an error names the likely one."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.text import chunks
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.encodings import Decoding, likely_encoding
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader, iter_lines

TEXTS = {
    "English": "The café costs £5 – “very nice”, she said. It’s the naïve approach… The price was €20 in the shop.",
    "German": "Die Straße führt über die Brücke zum alten Schloß. Wir hörten schöne Lieder und aßen Äpfel im Gärtchen.",
    "French": "Le garçon a mangé une crème brûlée près de la forêt. Où êtes-vous allés hier ? Nous avons été étonnés.",
    "Spanish": "El niño comió una piña en la mañana. ¿Dónde está el baño? La canción del corazón es muy bonita.",
    "Swedish": "Den gamle mannen gick till bergen och återvände aldrig. Hans hund väntade vid porten, men förgäves.",
    "Polish": "Chłopiec poszedł do szkoły i spotkał się z przyjaciółmi. Święta będą w przyszłym tygodniu, więc jadę.",
    "Czech": "Děti šly do školy a potkaly učitele, který jim řekl, že zítra bude hezky. Příliš žluťoučký kůň.",
    "Hungarian": "Az öreg ember a hegyekbe ment, és nem tért vissza többé. A kutyája várta őt a kapuban, de hiába.",
    "Turkish": "Yaşlı adam dağlara gitti ve bir daha dönmedi. Köpeği kapıda onu bekledi, ama boşuna. Çocuklar ağlıyor.",
    "Lithuanian": "Senis nuėjo į kalnus ir daugiau nebegrįžo. Jo šuo laukė prie vartų, bet veltui. Žmonės džiaugėsi.",
    "Russian": "Старик пошёл в горы и больше не вернулся. Его собака ждала у ворот, но напрасно. Все знали об этом.",
    "Greek": "Ο γέρος πήγε στα βουνά και δεν γύρισε ποτέ. Το σκυλί του περίμενε στην πύλη, αλλά μάταια.",
    "Hebrew": "הזקן הלך להרים ולא חזר עוד. הכלב שלו חיכה ליד השער, אבל לשווא. כולם ידעו שכך יקרה.",
    "Arabic": "ذهب الرجل العجوز إلى الجبال ولم يعد أبدا. انتظره كلبه عند البوابة ولكن دون جدوى.",
    "Hindi": "बूढ़ा आदमी पहाड़ों पर गया और कभी नहीं लौटा। उसका कुत्ता फाटक पर इंतज़ार करता रहा।",
    "Thai": "ชายชราเดินไปที่ภูเขาและไม่กลับมาอีกเลย สุนัขของเขารออยู่ที่ประตู แต่ไม่มีประโยชน์",
    "Japanese": "老人は山へ行き、二度と戻らなかった。彼の犬は門で待っていたが、無駄だった。カタカナも使います。",
    "Chinese": "老人去了山里，再也没有回来。他的狗在门口等着，但没有用。大家都知道会这样。",
    "Taiwanese": "老人去了山裡，再也沒有回來。他的狗在門口等著，但沒有用。大家都知道會這樣。",
    "Ukrainian": "Старий пішов у гори й більше не повернувся. Його пес чекав біля її воріт, та марно. Є надія.",
    "Korean": "노인은 산으로 가서 다시는 돌아오지 않았다. 그의 개는 문에서 기다렸지만 소용이 없었다.",
}
ENCODINGS = [
    *((name, "cp1252") for name in ("English", "German", "French", "Spanish", "Swedish")),
    *((name, "cp1250") for name in ("Polish", "Czech", "Hungarian")),
    *[("Czech", "iso8859_2"), ("Turkish", "cp1254"), ("Lithuanian", "cp1257"), ("Russian", "cp1251")],
    *[("Russian", "koi8_r"), ("Russian", "cp866"), ("Greek", "cp1253"), ("Hebrew", "cp1255"), ("Arabic", "cp1256")],
    *[("Thai", "tis_620"), ("Japanese", "shift_jis"), ("Japanese", "euc_jp"), ("Japanese", "iso2022_jp")],
    *[("Chinese", "gb18030"), ("Taiwanese", "big5"), ("Korean", "euc_kr"), ("French", "mac_roman")],
    *[("Ukrainian", "koi8_u"), ("Ukrainian", "cp1251"), ("Russian", "iso8859_5"), ("German", "cp850")],
    *((name, f"utf-16{order}") for name in TEXTS for order in ("", "-le", "-be")),
    *((name, f"utf-32{order}") for name in ("English", "Hindi", "Chinese") for order in ("", "-le", "-be")),
]


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(("language", "encoding"), ENCODINGS)
def test_each_encoding_is_found_and_reported(tmp_path: Path, language: str, encoding: str) -> None:
    lines = [TEXTS[language]] * 3
    data = "".join(line + "\n" for line in lines).encode(encoding)
    for name, packed in (("a.txt", data), ("a.txt.gz", gzip.compress(data)), ("a.txt.zst", zstd(data))):
        (tmp_path / name).write_bytes(packed)
        said: list[str] = []
        assert list(RowReader(tmp_path / name, say=said.append).texts()) == lines
        (remark,) = said
        assert remark.startswith("read as ")
        assert name in remark
        assert "--encoding" in remark


def test_utf8_and_ascii_are_read_without_a_word(tmp_path: Path) -> None:
    for text in (*TEXTS.values(), "plain", "", "\ufeffplain"):
        (tmp_path / "a.txt").write_text(text, "utf-8")
        reader = RowReader(tmp_path / "a.txt")
        assert "".join(reader.texts()) == text.removeprefix("\ufeff")
        assert reader.remarks == []


def test_a_few_letters_are_enough(tmp_path: Path) -> None:
    for text in ("Müller", "São Paulo", "naïve", "10 £", "señor", "It’s here", "Łódź"):
        data = text.encode("cp1250" if text == "Łódź" else "cp1252")
        (tmp_path / "a.txt").write_bytes(data)
        assert list(iter_lines(tmp_path / "a.txt")) == [text]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_tables(tmp_path: Path, ending: str) -> None:
    rows = ["Straße", "Brücke über den Fluß"]
    text = "".join(f'{{"text": "{row}"}}\n' for row in rows) if ending == "jsonl" else "\n".join(["text", *rows, ""])
    for encoding in ("cp1252", "utf-16"):
        (tmp_path / f"a.{ending}").write_bytes(text.encode(encoding))
        reader = RowReader(tmp_path / f"a.{ending}")
        assert list(reader.texts()) == rows
        assert len(reader.remarks) == 1


def test_several_files_of_one_encoding_are_one_remark(tmp_path: Path) -> None:
    for i in range(5):
        (tmp_path / f"{i}.txt").write_bytes(TEXTS["German"].encode("cp1252"))
    corpus = Corpus(tmp_path)
    assert sum(corpus.lines(block).text.decode().count("Straße") for block in corpus.blocks()) == 5
    (remark,) = corpus.remarks
    assert remark.startswith("read as Windows-1252, not UTF-8: ")
    assert "and 2 more" in remark


PLAIN = "one sentence after the other, and none of them has a letter to speak of\n" * 40_000  # 3 MB


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_what_comes_after_megabytes_of_ascii_decides(tmp_path: Path, encoding: str, packed: bool) -> None:
    file = tmp_path / ("a.txt.gz" if packed else "a.txt")
    data = (PLAIN * 2 + TEXTS["German"] + "\n" + PLAIN).encode(encoding)
    file.write_bytes(gzip.compress(data, 1) if packed else data)
    lines = list(iter_lines(file))
    assert TEXTS["German"] in lines
    assert len(lines) == 120_001


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (TEXTS["Japanese"] + "\n").encode("shift_jis") * 100
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
    assert list(iter_lines("-")) == [TEXTS["Japanese"]] * 100


def test_characters_may_be_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks.TextStream.reads, "__defaults__", (5,))
    for language, encoding in (("Japanese", "shift_jis"), ("Hindi", "utf-16"), ("Chinese", "gb18030")):
        for size in (61, 64, 67):
            monkeypatch.setattr(chunks, "SAMPLE_BYTES", size)
            (tmp_path / "a.txt").write_bytes(((TEXTS[language] + "\n") * 3).encode(encoding))
            assert list(iter_lines(tmp_path / "a.txt", Decoding(encoding))) == [TEXTS[language]] * 3


# an encoding given by the user


def test_a_given_encoding_is_used(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Müller".encode("cp1252"))
    reader = RowReader(tmp_path / "a.txt", TextSettings(encoding="koi8-r"))
    assert list(reader.texts()) == ["MЭller"]
    assert reader.remarks == []


def test_utf16_that_is_named_needs_no_byte_order_mark(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-32-be"):
        (tmp_path / "a.txt").write_bytes("the cat sat on the mat\n".encode(encoding))
        reader = RowReader(tmp_path / "a.txt", TextSettings(encoding=encoding[:6]))
        assert list(reader.texts()) == ["the cat sat on the mat"]
    (tmp_path / "a.txt").write_bytes(b"the cat sat on the mat\n")
    with pytest.raises(InputError, match=r"a\.txt is not UTF-16, or lacks its byte order mark"):
        list(RowReader(tmp_path / "a.txt", TextSettings(encoding="utf-16")).texts())


@pytest.mark.parametrize(
    ("language", "real", "wrong"),
    [
        ("German", "cp1252", "utf-8"),
        ("Russian", "cp1251", "utf-8"),
        ("Japanese", "cp932", "utf-8"),
        ("Chinese", "gb18030", "euc_jp"),
    ],
)
def test_a_wrong_one_is_an_error_that_names_the_likely_one(
    tmp_path: Path, language: str, real: str, wrong: str
) -> None:
    (tmp_path / "a.txt").write_bytes((TEXTS[language] + "\n").encode(real) * 50)
    with pytest.raises(InputError, match=rf"a\.txt is not .*characters can't be decoded; .*--encoding {real}"):
        list(RowReader(tmp_path / "a.txt", TextSettings(encoding=wrong)).texts())


def test_a_wrong_one_is_an_error_in_short_files_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXTS["German"].encode("cp1252"))
    with pytest.raises(InputError, match="it looks like Windows-1252: add --encoding cp1252"):
        list(iter_lines(tmp_path / "a.txt", Decoding("utf-8")))


@pytest.mark.parametrize("encoding", ["latin-99", "base64", "rot13", "undefined", ""])
def test_unknown_encodings(encoding: str) -> None:
    with pytest.raises(SettingsError, match=r"expected one that Python knows, such as utf-8"):
        TextSettings(encoding=encoding)


def test_parts_in_another_encoding_are_an_error(tmp_path: Path) -> None:
    """No reading of a file with two encodings is right."""
    other = (TEXTS["German"] + "\n") * 2000
    file = tmp_path / "a.txt.gz"
    file.write_bytes(gzip.compress((TEXTS["Russian"] + "\n").encode() * 60_000 + other.encode("cp1252"), 1))
    with pytest.raises(InputError, match=r"a\.txt\.gz is not UTF-8: .* it looks like Windows-1252"):
        list(iter_lines(file))
    (tmp_path / "b.txt").write_bytes((TEXTS["Russian"].encode() + b"\n") * 9 + b"\xfc\xe4 \xf6\xdf " * 20)
    with pytest.raises(InputError, match=r"b\.txt is not UTF-8"):
        list(iter_lines(tmp_path / "b.txt"))


def test_an_accident_in_utf8_is_no_other_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes((TEXTS["Russian"].encode() + b"\n") * 9 + b"a\xff\n")
    assert list(iter_lines(tmp_path / "a.txt"))[-1] == "a\ufffd"


def test_nothing_to_go_by() -> None:
    assert likely_encoding([b"plain"]) is None
    assert likely_encoding([]) is None


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("船は港を出ました。", "euc_jp"),
        ("Корабль вышел в море утром.", "iso8859_5"),
        ("Корабель вийшов у море. Є їжа. Команда співала пісні її.", "koi8_u"),
        ("5 € für den Käse, cœur", "iso8859_15"),
        ("1½ Tassen Käse", "cp1252"),
        ("Ein schöner Käse", "cp437"),
    ],
)
def test_relatives_of_an_encoding_in_one_line(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    assert list(iter_lines(tmp_path / "a.txt")) == [text]
