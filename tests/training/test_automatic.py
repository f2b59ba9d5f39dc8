"""Settings that the size of the text decides by default: min_count, epochs, the rate of `--init`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow import Model, Tokenizer, Vocabulary, load
from siamese_cbow.cli import main
from siamese_cbow.stream import counting
from siamese_cbow.stream.counting import min_count_of
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.records import TextSettings
from siamese_cbow.training import plan
from siamese_cbow.training.batches import batch_shape, epoch_keys
from siamese_cbow.training.loop import Callback, Run
from siamese_cbow.training.plan import (
    LITTLE,
    LITTLE_TEXT,
    PRETRAINED_LANGUAGE,
    epochs_of,
    fitted_to,
    rate_of_init,
    remarks_on_fit,
)
from siamese_cbow.training.recipe import NEW_RATE, Saving
from siamese_cbow.training.saved_run import train_into
from siamese_cbow.training.siamese_cbow import SiameseCBOW, read_recipe

SMALL = ["--dim", "8", "--batch-size", "16", "--run-length", "2", "--subsample", "0", "--threads", "1"]
LINES = [
    "the cat sat here",
    "then it slept",
    "a dog ran far",
    "it came back",
    "",
    "the sun rose",
    "a rare cat rose",
    "",
]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(LINES * 8 + ["once only", ""]))
    return tmp_path / "text.txt"


@pytest.fixture
def stream(text: Path) -> Stream:
    return prepare(text, output="stream", min_count=None, text=TextSettings(layout="sentences"))


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `train` prints on standard error."""
    main(["train", *arguments])
    return capsys.readouterr().err


def model_bytes(folder: str) -> dict[str, bytes]:
    """The files of a model, except those with the folder's name (the card) or times (the log)."""
    files = (path for path in Path(folder).iterdir() if path.suffix in (".safetensors", ".json", ".txt"))
    return {path.name: path.read_bytes() for path in files}


# the rules


@pytest.mark.parametrize(
    ("n_tokens", "min_count"),
    [(0, 1), (1, 1), (1_999_999, 1), (2_000_000, 2), (19_999_999, 2), (20_000_000, 5), (10**12, 5)],
)
def test_min_count_by_size(n_tokens: int, min_count: int) -> None:
    assert min_count_of(n_tokens) == min_count


@pytest.mark.parametrize(
    ("n_tokens", "epochs"), [(0, 20), (1, 20), (1_000_000, 20), (4_000_000, 5), (20_000_000, 1), (10**12, 1)]
)
def test_epochs_by_size(n_tokens: int, epochs: int) -> None:
    assert epochs_of(n_tokens) == epochs


@pytest.mark.parametrize(("n_tokens", "rate"), [(15_000, 0.002), (149_999, 0.01), (150_000, 0.01), (10**12, 0.01)])
def test_rate_of_init_by_size(n_tokens: int, rate: float) -> None:
    assert rate_of_init(n_tokens) == rate


@given(st.integers(1, 10**10), st.integers(0, 10**10))
def test_more_text_never_means_fewer_words_seen_or_a_smaller_rate(n: int, more: int) -> None:
    assert min_count_of(n) <= min_count_of(n + more)
    assert epochs_of(n) >= epochs_of(n + more) >= 1
    assert 0 < rate_of_init(n) <= rate_of_init(n + more) <= 0.01


# min_count


def test_the_size_is_that_of_the_whole_text(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def two(n_tokens: int) -> int:
        sizes.append(n_tokens)
        return 2

    settings = TextSettings(layout="sentences")
    assert "once" in prepare(text, min_count=None, text=settings).vocabulary
    monkeypatch.setattr(counting, "min_count_of", two)
    by_size = prepare(text, min_count=None, text=settings)
    assert sizes == [len(text.read_text().split())]
    assert "once" not in by_size.vocabulary
    assert by_size.fingerprint == prepare(text, min_count=2, text=settings).fingerprint
    assert "once" in prepare(text, min_count=1, text=settings).vocabulary
    assert len(sizes) == 1, "an explicit value wins"


def test_commands_take_auto_and_a_number(text: Path) -> None:
    for name, value in (("default", []), ("auto", ["--min-count", "auto"]), ("three", ["--min-count", "3"])):
        main(["prepare", str(text), "-o", name, "--layout", "sentences", *value])
    default, auto, three = (Stream.load(name) for name in ("default", "auto", "three"))
    assert default.fingerprint == auto.fingerprint
    assert ("once" in auto.vocabulary, "once" in three.vocabulary) == (True, False)


def test_a_word_is_no_number(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--min-count", "--epochs"):
        with pytest.raises(SystemExit) as stopped:
            main(["train", str(text), "-o", "m", option, "many"])
        assert stopped.value.code == 2
        error = capsys.readouterr().err
        assert option in error
        assert "'many'" in error
    assert not Path("m").exists()


# epochs and the rate


def test_what_is_reported_and_what_wins(stream: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    dry = ["stream", "--dry-run", *SMALL]
    for option in ([], ["--epochs", "auto"]):
        error = said(capsys, *dry, *option)
        assert f"epochs: 20, chosen for {stream.n_tokens:,} words (--epochs)" in error
        assert LITTLE in error
    assert "epochs: " not in said(capsys, *dry, "--epochs", "3")


@pytest.mark.parametrize("recipe_name", ["paper", "paper-program"])
def test_the_paper_stays_as_published(text: Path, capsys: pytest.CaptureFixture[str], recipe_name: str) -> None:
    error = said(capsys, str(text), "-o", "m", "--recipe", recipe_name, "--layout", "sentences", *SMALL)
    assert "by the size" not in error
    recipe = load("m").info["recipe"]
    published = SiameseCBOW.paper()
    assert (recipe["epochs"], recipe["learning_rate"]) == (published.epochs, published.learning_rate)
    vocabulary = load("m").vocabulary
    assert "once" not in vocabulary
    assert min(vocabulary.counts) >= 5


def test_a_recipe_file_has_what_the_size_decided(stream: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "stream", "--dry-run", "--write-recipe", "recipe.toml")
    assert read_recipe("recipe.toml").epochs == epochs_of(stream.n_tokens) > 1


@pytest.mark.parametrize(("n_tokens", "little"), [(LITTLE_TEXT - 1, True), (LITTLE_TEXT, False)])
def test_little_text_names_other_ways(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, n_tokens: int, little: bool
) -> None:
    monkeypatch.setattr(Mix, "n_tokens", n_tokens)
    recipe = SiameseCBOW()
    mix = Mix([stream])
    remarks = remarks_on_fit(recipe, fitted_to(recipe, mix), mix)
    assert (LITTLE in remarks) == little


@pytest.mark.parametrize(
    ("n_tokens", "rate", "advice"),
    [(2_000_000, 0.05, "0.01"), (2_000_000, 0.049, "0.01"), (15_000, 0.05, "0.002"), (2_000_000, 0.01, None)],
)
def test_a_high_rate_for_a_model(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, n_tokens: int, rate: float, advice: str | None
) -> None:
    monkeypatch.setattr(Mix, "n_tokens", n_tokens)
    recipe, mix = SiameseCBOW(init="pretrained", learning_rate=rate), Mix([stream])
    high = [remark for remark in remarks_on_fit(recipe, fitted_to(recipe, mix), mix) if "is high for" in remark]
    assert high == [
        f"learning rate {rate} is high for {n_tokens:,} words; --learning-rate {advice} forgets less of pretrained"
    ] * (advice is not None)


def test_models_of_other_languages(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pretrained model is not recommended for Turkish, and starting from it prints a remark."""
    assert load().info.language == PRETRAINED_LANGUAGE
    for language in ("tr", "en"):
        prepare(text, output=language, min_count=None, text=TextSettings(layout="sentences", language=language))
    new, further = ("-o", "m", "--dry-run"), ("-o", "m", "--dry-run", "--init", "pretrained", "--dim", str(load().dim))
    error = said(capsys, "tr", *new)
    assert "expect weak vectors: add more, or --init a model of Turkish (tr) (`pretrained` is English)" in error
    assert LITTLE not in error
    assert "the text is Turkish (tr), but pretrained is English (en): its word vectors" in said(capsys, "tr", *further)
    assert LITTLE in said(capsys, "en", *new)
    assert "but pretrained is" not in said(capsys, "en", *further)


def test_a_stream_of_an_older_rule(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = TextSettings(layout="sentences", language="en")
    prepare(text, output="old", min_count=None, text=settings, tokenizer=Tokenizer(punctuation=False, rule=1))
    error = said(capsys, "old", "-o", "m", "--dry-run", "--init", "pretrained", "--dim", str(load().dim))
    assert "the stream splits words by rule 1 of the tokenizer, pretrained by rule 2: the new model keeps" in error


def test_one_epoch_needs_no_remark(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mix, "n_tokens", 64_000_000)
    mix = Mix([stream])
    recipe = fitted_to(SiameseCBOW(), mix)
    assert recipe == SiameseCBOW(epochs=1, learning_rate=NEW_RATE)
    assert remarks_on_fit(SiameseCBOW(), recipe, mix) == []


def test_going_on_with_a_model(stream: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.random.default_rng(0).standard_normal((3, 8), dtype=np.float32)
    Model(Vocabulary.of_words(["cat", "dog", "sun"]), rows).save("start")
    dry = ["stream", "--dry-run", "--init", "start", *SMALL]
    rate = rate_of_init(stream.n_tokens)
    error = said(capsys, *dry)
    assert (
        f"learning rate: {rate:g}, low enough that {stream.n_tokens:,} words don't overwrite start (--learning-rate)"
        in error
    )
    assert "epochs: " not in error, "once through the text"
    assert LITTLE not in error
    assert "learning rate: " not in said(capsys, *dry, "--learning-rate", "0.3"), "none is chosen"


def test_a_file_of_vectors_takes_the_rate_of_a_new_model(stream: Stream) -> None:
    Path("vectors.txt").write_text("1 2\ncat 1 0\n")
    recipe = SiameseCBOW(init="vectors.txt", dim=2)
    mix = Mix([stream])
    fitted = fitted_to(recipe, mix)
    assert (fitted.n_epochs, fitted.rate) == (1, NEW_RATE)
    assert remarks_on_fit(recipe, fitted, mix) == []


# the same bytes


class Crash(Callback):
    """Stops as a crash would."""

    every = 20

    def on_batch(self, run: Run) -> None:
        raise RuntimeError("crash")


def test_auto_gives_the_bytes_of_its_numbers(text: Path) -> None:
    layout = ["--layout", "sentences"]
    main(["train", str(text), "-o", "auto", *layout, *SMALL])
    main(["train", str(text), "-o", "said", *layout, *SMALL, "--min-count", "1", "--epochs", str(plan.epochs_of(1))])
    main(["prepare", str(text), "-o", "stream", *layout])
    main(["train", "stream", "-o", "two", *SMALL])
    assert "model.safetensors" in model_bytes("auto")
    assert model_bytes("auto") == model_bytes("said") == model_bytes("two")


def test_an_interrupted_run_with_auto_resumes(stream: Stream) -> None:
    main(["train", "stream", "-o", "whole", *SMALL])
    recipe = SiameseCBOW(dim=8, batch_size=16, run_length=2, subsample=0, epochs=20)
    with pytest.raises(RuntimeError, match="crash"):
        train_into(Path("cut"), recipe, stream, saving=Saving(checkpoint_minutes=1e-6), callbacks=[Crash()])
    assert any(Path("cut/training").glob("checkpoint-*"))
    main(["train", "stream", "-o", "cut", "--resume", *SMALL])
    assert model_bytes("cut") == model_bytes("whole")


# the library


def test_the_library_has_the_same_defaults(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = TextSettings(layout="sentences")
    small = {"dim": 8, "batch_size": 16, "run_length": 2, "subsample": 0}
    main(["train", str(text), "-o", "command", "--layout", "sentences", *SMALL])
    said_by_command = capsys.readouterr().err
    model = SiameseCBOW(**small).train(str(text), text=settings, progress=True)
    said_by_library = " ".join(capsys.readouterr().err.split())
    assert np.array_equal(model.vectors, load("command").vectors)
    assert model.info["recipe"] == load("command").info["recipe"]
    for remark in (f"epochs: {epochs_of(1)}, chosen for", LITTLE, "min_count: 1, chosen by the size of the text"):
        assert remark in said_by_command
        assert remark in said_by_library


def test_auto_in_python() -> None:
    assert SiameseCBOW(epochs="auto", learning_rate="auto") == SiameseCBOW()  # type: ignore[arg-type]
    assert (SiameseCBOW().n_epochs, SiameseCBOW().rate) == (1, NEW_RATE)
    assert "epochs" not in SiameseCBOW().settings()


def test_epochs_cut_runs_at_offsets_in_turn() -> None:
    shape = batch_shape(Stream.of_words([[["a"], ["b"]] * 20]), batch_size=16, run_length=4)
    for seed in range(9):
        shifts = [epoch_keys(seed, shape, epoch).shift for epoch in range(8)]
        assert sorted(shifts[:4]) == [0, 1, 2, 3]
        assert shifts[:4] == shifts[4:]
        assert shifts[0] == epoch_keys(seed, shape, 0, in_turn=False).shift, "the first epoch is what it was"
