"""Languages: the names people use, what each one decides, and detecting the language of a text."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siamese_cbow as sc
from siamese_cbow.cli import main
from siamese_cbow.text import languages
from siamese_cbow.text.languages import detect, find_language, language
from siamese_cbow.text.row_reader import RowReader

GERMAN = "Der alte Mann ging langsam durch den Garten und setzte sich auf die Bank. Dr. Weber kam z. B. oft hierher.\n"
ENGLISH = "The old man walked slowly through the garden and sat down on the bench. Dr. Weber often came here, too.\n"


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["de", "German", "deutsch", "DEUTSCH", "de-AT", "de_DE.UTF-8", "ger", "deu", " german "], "de"),
        (["pt", "pt-br", "pt_BR", "Portuguese", "português"], "pt"),
        (["zh", "zh-Hant", "zh-Hans-CN", "Chinese", "Mandarin", "中文", "cn"], "zh"),
        (["no", "nb", "nb-NO", "Norwegian", "Bokmål"], "no"),
        (["tr", "Türkçe", "TÜRKÇE"], "tr"),
        (["und", "other"], "und"),
    ],
)
def test_names_and_tags_as_people_write_them(names: list[str], code: str) -> None:
    assert {language(name).code for name in names} == {code}
    assert {sc.TextSettings(language=name).language for name in names} == {code}


def test_unknown_names_are_refused_with_the_list_and_what_is_like_them() -> None:
    with pytest.raises(sc.SettingsError, match=r"'germn'; did you mean German \(de\).*auto, a name .* such as de$"):
        sc.TextSettings(language="germn")
    for wrong in ("klingon", "", "e", "en,de", "german text", None, 5):
        assert find_language(wrong) is None  # type: ignore[arg-type]
        with pytest.raises(sc.SettingsError, match="expected auto"):
            sc.TextSettings(language=wrong)  # type: ignore[arg-type]
    with pytest.raises(sc.SettingsError, match="'klingon'"):
        sc.TextSettings(kind="groups", languages=("en", "klingon"))
    with pytest.raises(sc.SettingsError, match="has auto"):
        sc.TextSettings(kind="groups", languages=("en", "auto"))


def test_languages_of_translations_may_be_named() -> None:
    assert sc.TextSettings(kind="groups", languages=("English", "de-AT")).languages == ("en", "de")


@given(st.text(max_size=12))
def test_any_name_gives_a_language_or_none(name: str) -> None:
    found = find_language(name)
    assert found is None or found in languages._table()[0].values()


def test_the_table_is_whole() -> None:
    stemmers = pytest.importorskip("Stemmer")
    codes = languages._table()[0]
    assert {each.stemmer for each in codes.values()} - {None} <= {*stemmers.algorithms()}
    assert {*languages.DOTLESS, *languages.ELISIONS} <= {*codes}
    assert all(find_language(each.name) == each for each in codes.values())


def test_stemmers_are_those_that_codes_had() -> None:
    """PyStemmer also knows codes, and earlier versions trained with them."""
    stemmers = pytest.importorskip("Stemmer")
    for each in languages._table()[0].values():
        try:
            stemmer = stemmers.Stemmer(each.code, 0)
        except KeyError:
            continue
        assert each.stemmer is not None
        assert stemmer.stemWord("nationalities") == stemmers.Stemmer(each.stemmer, 0).stemWord("nationalities")


def test_a_text_says_its_language() -> None:
    found = detect([GERMAN.encode()])
    assert found.message() == "language: German (de): splitter de, stems german (--language)"
    mixed = detect([GERMAN.encode() * 20, ENGLISH.encode() * 10])
    assert mixed.language.code == "de"
    assert "language: mixed, " in mixed.message()
    assert " and 3" in mixed.message()
    assert "English (en); all of it is treated as German (de)" in mixed.message()


@pytest.mark.parametrize("text", ["", "hi", "😀 😀", "12 34\n" * 100, "\ufffd\n"])
def test_too_little_text_is_reported_with_what_is_assumed(text: str) -> None:
    found = detect([text.encode()])
    assert found.language.code == "en"
    assert "too little text to tell, so it is treated as English (en)" in found.message()
    assert found.message().endswith("set it with --language")


def test_what_is_no_language_is_reported(tmp_path: Path) -> None:
    assert "undetermined" in detect([b"zq xv wk bq\nvx qz kw jj\n" * 50]).message()


def test_a_corpus_knows_its_language(tmp_path: Path) -> None:
    for number in range(40):  # the first files alone would look English
        (tmp_path / f"{number:02}.txt").write_text(GERMAN * 3 if number else ENGLISH)
    corpus = sc.Corpus(tmp_path)
    assert corpus.language.language.code == "de"
    assert corpus.settings.language == "de"
    lines = b"".join(corpus.lines(block).text for block in corpus.blocks())
    assert b"Dr. Weber kam z. B. oft hierher." in lines
    assert sc.Corpus(tmp_path, sc.TextSettings(language="en")).language.message() == ""


def test_text_that_can_be_read_once_is_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = sc.Corpus(line for line in [GERMAN] * 5)
    assert corpus.language.language.code == "de"
    assert b"".join(corpus.lines(block).text for block in corpus.blocks()).count(b"Bank") == 5
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GERMAN.encode() * 5)))
    reader = RowReader("-", sc.TextSettings(unit="sentence"))
    assert len(list(reader.texts())) == 10
    assert reader.remarks == ["language: German (de): splitter de (--sentence-language)"]


def test_prepare_says_and_stores_the_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text(GERMAN * 30)
    main(["prepare", str(tmp_path / "text.txt"), "-o", str(tmp_path / "s"), "--min-count", "1"])
    assert "language: German (de): splitter de, stems german" in capsys.readouterr().err
    stream = sc.Stream.load(tmp_path / "s")
    assert (stream.language, stream.about["language"]) == ("de", "de")
    main(["prepare", str(tmp_path / "text.txt"), "-o", str(tmp_path / "s"), "--min-count", "1"])
    assert "is up to date" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["prepare", str(tmp_path / "text.txt"), "-o", str(tmp_path / "t"), "--language", "klingon"])
    assert stop.value.code == 2
    assert "language is 'klingon'; expected auto" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


def test_a_model_knows_its_language(tmp_path: Path) -> None:
    recipe = sc.SiameseCBOW(dim=4, epochs=1, subsample=0)
    german = sc.prepare(sc.Texts([GERMAN] * 30), min_count=1)
    recipe.train(german).save(tmp_path / "m")
    assert sc.load(tmp_path / "m").info.language == "de"
    short = sc.prepare(sc.Texts(["a b c", "b c a"] * 5), min_count=1)
    assert (short.language, short.about["language"]) == ("en", None), "a guess is not handed on"
    assert recipe.train(short).info.language is None


def test_text_of_a_named_language_loads_no_detector() -> None:
    code = (
        "import sys, siamese_cbow as sc\n"
        "corpus = sc.Corpus(sc.Texts(['Ein Satz.']), sc.TextSettings(language='de'))\n"
        "print(len(list(corpus.blocks())), 'py3langid' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "False"]


def test_text_of_another_language_is_reported() -> None:
    model = sc.load()
    said = model.remark_on([GERMAN] * 5)
    assert (
        "of the words are not in the model's vocabulary: the text looks German (de), but the model is English (en)"
        in said
    )
    assert model.remark_on([ENGLISH] * 5) == model.remark_on([]) == model.remark_on(["", "?", "a xqzt"]) == ""
    assert "none of the words is in the model's vocabulary (😀, xqzt)" in model.remark_on(["", "😀", "xqzt"])
    german = sc.Model(model.vocabulary, model.rows, model.tokenizer, {"language": "de"})
    assert german.remark_on([GERMAN] * 5) == ""
    assert "choose a model for such text" in model.remark_on(["xqzt vrbl qqkk zzzt"] * 9)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("hi", "आज मौसम बहुत अच्छा है। बच्चे बगीचे में खेल रहे हैं। मैंने बाज़ार से ताज़ी सब्ज़ियाँ खरीदीं।"),
        ("ko", "오늘 날씨가 정말 좋습니다. 아이들이 공원에서 놀고 있어요. 어머니는 저녁으로 생선을 요리하셨습니다."),
        ("th", "วันนี้อากาศดีมาก เด็กๆ กำลังเล่นอยู่ในสวน แม่ทำปลาเป็นอาหารเย็น"),
        ("fa", "امروز هوا خیلی خوب است. بچه‌ها در باغ بازی می‌کنند. مادرم برای شام ماهی پخت."),
        ("vi", "Hôm nay thời tiết rất đẹp. Trẻ em đang chơi trong công viên. Mẹ tôi nấu cá cho bữa tối."),
    ],
)
def test_a_few_sentences_of_any_script_are_enough(code: str, text: str) -> None:
    found = detect([text.encode()])
    assert (found.language.code, found.doubt) == (code, "")


def test_a_few_sentences_of_several_languages() -> None:
    french = (
        "L'homme qui plantait des arbres vivait seul dans la montagne. Personne n'habite plus là-haut aujourd'hui. "
    )
    greek = "Ο καιρός είναι πολύ καλός σήμερα. Τα παιδιά παίζουν στον κήπο. Η μητέρα μου μαγείρεψε ψάρι για βραδινό. "
    found = detect([(french * 2 + greek * 2).encode()])
    assert {language.code for language, share in found.shares if share > 0.3} == {"fr", "el"}
    assert "mixed" in found.message()


OWN = {
    "nl": "Gisteravond regende het zo hard dat de kelder onder water liep. Mijn oma geeft elke dag de bloemen water.",
    "pl": "Pociąg do Krakowa odjeżdża z trzeciego peronu za dziesięć minut. Sąsiedzi sadzą w ogrodzie same dynie.",
    "tr": "Annem bu sabah pazardan taze sebze ve meyve aldı. Otobüs durağında yarım saat bekledik ama kimse gelmedi.",
    "he": "סבתא שלי משקה את הפרחים בגינה בכל בוקר. מחר ניסע ברכבת לבקר את הדוד שלי בחיפה, אם לא ירד שוב גשם חזק.",
    "hi": "मेरी दादी हर सुबह मंदिर जाकर फूल चढ़ाती हैं। दुकानदार ने कहा कि ताज़ा दूध शाम को आएगा। अगले हफ्ते हम गाँव जाएँगे।",
    "ko": "할머니는 매일 아침 정원의 꽃에 물을 주십니다. 내일 우리는 기차를 타고 부산에 있는 삼촌 댁에 갑니다.",
    "en": "My grandmother waters the flowers every morning. Tomorrow we will take the train to see my uncle in Leeds.",
}


@pytest.mark.parametrize("first", OWN)
@pytest.mark.parametrize("times", [1, 40])
def test_languages_that_alternate_line_by_line_are_mixed(first: str, times: int) -> None:
    for second in sorted({*OWN} - {first}):
        lines = f"{OWN[first]}\n{OWN[second]}\n" * times
        found = detect([lines.encode()])
        assert {language.code for language, share in found.shares if share > 0.2} == {first, second}
        assert found.message().startswith("language: mixed, ")


def test_records_that_alternate_are_mixed(tmp_path: Path) -> None:
    rows = [f'{i},"{OWN["pl" if i % 2 else "tr"]}"\n' for i in range(60)]
    (tmp_path / "notes.csv").write_text("number,body\n" + "".join(rows), encoding="utf-8")
    corpus = sc.Corpus(tmp_path / "notes.csv", sc.TextSettings(text_column="body"))
    assert "mixed" in corpus.language.message()


@pytest.mark.parametrize("code", OWN)
def test_a_few_foreign_names_and_quotes_are_not_a_mixture(code: str) -> None:
    other = "The Old Curiosity Shop" if code != "en" else "À la recherche du temps perdu, Der Zauberberg"
    found = detect([(f"{OWN[code]}\n" * 12 + f"{OWN[code]} «{other}» (Dostoevsky, Saint-Exupéry)\n" * 4).encode()])
    assert found.language.code == code
    assert "mixed" not in found.message()


def test_code_is_not_a_mixture() -> None:
    found = detect([Path(languages.__file__).read_bytes()])
    assert found.language.code == "en"
    assert "mixed" not in found.message()
