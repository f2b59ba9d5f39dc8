"""Recipes: senseless settings are refused before any work, and files give back what was written."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Literal

import click
import pytest
from click.testing import CliRunner

from siamese_cbow.base.option_fields import check_options, option, options
from siamese_cbow.cli import main
from siamese_cbow.cli.train import options_of
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.optimizers import learning_rates
from siamese_cbow.training.recipe import PRESETS
from siamese_cbow.training.siamese_cbow import SiameseCBOW, read_recipe, recipe_text, write_recipe
from siamese_cbow.transform.settings import Postprocess


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("learning_rate", 0),
        ("learning_rate", -0.1),
        ("learning_rate", float("nan")),
        ("learning_rate", "fast"),
        ("temperature", 0),
        ("temperature", -1),
        ("dim", 0),
        ("dim", 2.5),
        ("dim", True),
        ("epochs", 0),
        ("seed", -1),
        ("batch_size", 0),
        ("common_directions", -1),
        ("idf_power", -1),
        ("length_power", float("inf")),
        ("run_length", 0),
        ("negatives", 0),
        ("subsample", -1),
        ("max_tokens", 0),
        ("objective", "magic"),
        ("optimizer", "lbfgs"),
        ("decay", "cosine"),
        ("negatives_from", "books"),
        ("momentum", 1.0),
        ("second_momentum", 1.5),
        ("min_learning_rate_ratio", 2),
        ("clip_gradient", 0),
        ("l2", -1),
        ("init_std", 0),
        ("gamma", 0),
        ("margin", -0.1),
        ("dim", None),
        ("share_stems", "no"),
        ("separate_matrices", 1),
        ("init", 5),
    ],
)
def test_a_senseless_value_is_named_with_what_was_expected(option, value):
    with pytest.raises(SettingsError, match=rf"{option} is .*; expected"):
        SiameseCBOW(**{option: value})


def test_a_path_to_start_from_is_kept_as_text():
    assert SiameseCBOW(init=Path("models/books")).settings()["init"] == "models/books"


def test_one_field_says_all_of_an_option():
    """A new field is validated and becomes a command option with help, without changes elsewhere."""

    @dataclasses.dataclass(frozen=True)
    class Longer:
        patience: int | None = option(7, "Epochs without progress.", paper=3, at_least=2)
        thorough: bool = option(False, "Look twice.", switch="--thorough/--quick")
        style: Literal["plain", "fancy"] = option("plain", "How it looks.")

        def __post_init__(self) -> None:
            check_options(self)

    with pytest.raises(SettingsError, match="patience is 1; expected a whole number, 2 or more"):
        Longer(patience=1)
    with pytest.raises(SettingsError, match="style is 'odd'; expected one of plain, fancy"):
        Longer(style="odd")
    command = click.command()(options_of(Longer)(lambda **settings: click.echo(sorted(settings.items()))))
    output = CliRunner().invoke(command, ["--patience", "4", "--quick"]).output
    assert output == "[('patience', 4), ('style', None), ('thorough', False)]\n"
    assert "Epochs without progress.  [default: 7; paper: 3]\n" in CliRunner().invoke(command, ["--help"]).output


def test_a_batch_holds_a_run_and_a_run_holds_a_pair():
    with pytest.raises(SettingsError, match="expected a batch size of at least one run"):
        SiameseCBOW(batch_size=3)
    with pytest.raises(SettingsError, match="run_length is 1"):
        SiameseCBOW(run_length=1)
    with pytest.raises(SettingsError, match="run_length is 1"):
        SiameseCBOW.paper(run_length=1, negatives_from="batch")
    assert SiameseCBOW.paper(run_length=1).run_length == 1


def test_what_the_program_did_goes_with_sampled_sentences_only():
    with pytest.raises(SettingsError, match="drop --any-negative"):
        SiameseCBOW(any_negative=True)
    with pytest.raises(SettingsError, match="decay_epochs is 2 but epochs is 3"):
        SiameseCBOW.paper(epochs=3, decay_epochs=2)


def test_a_recipe_is_frozen_and_compares_by_value():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SiameseCBOW().dim = 5  # type: ignore[misc]
    assert SiameseCBOW(dim=5) == SiameseCBOW(dim=5) != SiameseCBOW(dim=6)


def test_the_paper_recipe_is_what_was_published():
    recipe = SiameseCBOW.paper()
    assert recipe.name == "paper"
    assert (recipe.dim, recipe.epochs, recipe.negatives, recipe.batch_size) == (300, 1, 2, 100)
    assert (recipe.learning_rate, recipe.min_learning_rate_ratio, recipe.decay) == (0.0001, 0.0001, "linear")
    assert (recipe.optimizer, recipe.init_std, recipe.temperature) == ("sgd", 0.01, 1.0)
    assert (recipe.negatives_from, recipe.subsample, recipe.separate_matrices) == ("corpus", 0, False)


def test_the_program_did_more_than_the_paper_says():
    recipe, paper = SiameseCBOW.preset("paper-program"), SiameseCBOW.paper()
    differences = {name for name, value in recipe.settings().items() if value != paper.settings().get(name)}
    assert differences == {"run_length", "triples", "any_negative", "max_tokens", "decay_epochs"}
    assert learning_rates(recipe, 0, 101, 100)[[0, 50, 100]] == pytest.approx([1e-4, 0.9e-4, 0.8e-4])


def test_names():
    assert SiameseCBOW().name == "contrastive"
    assert SiameseCBOW.paper(negatives=5).name == "paper"
    assert SiameseCBOW(objective="margin").name == "margin"
    with pytest.raises(SettingsError, match="expected one of contrastive, paper, paper-program"):
        SiameseCBOW.preset("poper")


@pytest.mark.parametrize(
    "recipe",
    [
        SiameseCBOW(),
        SiameseCBOW.paper(max_tokens=50, clip_gradient=0.5),
        SiameseCBOW(init='odd "name" \\ with\nnewline é\x7f 😀.bin', separate_matrices=True, learning_rate=1e-7),
    ],
)
def test_a_file_gives_back_what_was_written(recipe, tmp_path):
    write_recipe(recipe, tmp_path / "recipe.toml")
    assert read_recipe(tmp_path / "recipe.toml") == recipe


def test_a_file_may_change_a_preset(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text('recipe = "paper"\ndim = 100\n')
    assert read_recipe(path) == SiameseCBOW.paper(dim=100)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dimm = 3", "unknown option 'dimm'; did you mean dim?"),
        ("vector_size = 3", "use dim instead"),
        ("name = 3", "unknown option 'name'"),
        ("dim = 0", "dim is 0; expected"),
        ("dim =", "not a TOML file"),
        ('recipe = "fast"', "expected one of contrastive, paper"),
        ('recipe = ["paper"]', "expected one of contrastive, paper"),
        ('share_stems = "no"', "share_stems is 'no'; expected true or false"),
    ],
)
def test_a_wrong_file_is_named(text, message, tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises((SettingsError, InputError), match=message) as caught:
        read_recipe(path)
    assert str(path) in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="check the path"):
        read_recipe(tmp_path / "none.toml")


def test_every_option_of_a_preset_is_an_option():
    for preset in PRESETS.values():
        assert set(preset) <= {option.name for option in options(SiameseCBOW)}
    assert recipe_text(SiameseCBOW()).startswith('objective = "contrastive"\ndim = 300\n')


ONE_SENTENCE = Stream.of_words([[["a", "b"]], [["c"]]])
PAIR = Stream.of_words([[["a", "b"], ["c"]]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vector_size": 100}, "unknown option 'vector_size'; use dim instead"),
        ({"alpha": 0.1}, "use learning_rate instead"),
        ({"iter": 5}, "use epochs instead"),
        ({"negative": 5}, "use negatives instead"),
        ({"sample": 1e-3}, "use subsample instead"),
        ({"workers": 4}, r"pass threads to train: SiameseCBOW\(\).train\(TEXT, threads=4\), or --threads 4"),
        ({"min_count": 5}, "pass min_count to train"),
        ({"window": 5}, "leave it out"),
        ({"sentences": ["a b"]}, "text goes to train"),
        ({"dimm": 3}, "did you mean dim?"),
        ({"blorf": 3}, "expected one of objective, dim, "),
        ({"self": 3, "cls": 4, "name": 5}, "unknown option 'self'"),
    ],
)
def test_an_unknown_option_names_the_one_that_is_meant(settings, message):
    for make in (SiameseCBOW, SiameseCBOW.paper, dataclasses.replace):
        with pytest.raises(SettingsError, match=message):
            make(*([SiameseCBOW()] if make is dataclasses.replace else []), **settings)


def test_options_have_names():
    with pytest.raises(SettingsError, match=r"got 'books/' without a name; .* SiameseCBOW\(\).train\(TEXT\)"):
        SiameseCBOW("books/")
    with pytest.raises(SettingsError, match=r"got 1 without a name; name the option, such as idf_power=0\.0"):
        Postprocess(1)
    with pytest.raises(
        SettingsError, match=r"unknown option 'componets'; did you mean components or common_directions\?"
    ):
        SiameseCBOW(postprocess={"componets": 1})
    with pytest.raises(SettingsError, match="unknown option '5'"):
        SiameseCBOW(postprocess={5: 1})
    assert "dim: 'int' = 300" in str(inspect.signature(SiameseCBOW))  # shown by editors and notebooks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 4}, "unknown option 'workers' of train; pass threads to train"),
        ({"epochs": 4}, r"epochs is an option of the recipe: SiameseCBOW\(epochs=...\).train\(TEXT\)"),
        ({"vector_size": 4}, "dim is an option of the recipe"),
        ({"mincount": 4}, "did you mean min_count?"),
        ({"blorf": 4}, "expected one of output, min_count, "),
    ],
)
def test_an_unknown_option_of_train(options, message):
    with pytest.raises(SettingsError, match=message):
        SiameseCBOW().train(PAIR, **options)


def test_options_of_other_libraries_on_the_command_line(capsys):
    for given, meant in (("--vector-size", "--dim"), ("--iter", "--epochs"), ("--sample", "--subsample")):
        with pytest.raises(SystemExit) as stopped:
            main(["train", "books/", given, "5", "-o", "model"])
        assert stopped.value.code == 2
        assert meant in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stream", "recipe", "message"),
    [
        (ONE_SENTENCE, SiameseCBOW(), "every document of the stream has only one sentence"),
        (PAIR, SiameseCBOW.paper(negatives=2), "expected fewer negatives than sentences"),
        (Stream.of_words([]), SiameseCBOW(), "no sentence of the stream contains a known word"),
    ],
)
def test_a_stream_that_can_not_be_learnt_from_is_refused(stream, recipe, message):
    with pytest.raises(InputError, match=message):
        recipe.train(stream)


def test_weights_of_words_go_neither_with_stems_nor_with_another_start():
    with pytest.raises(SettingsError, match="add --no-share-stems"):
        SiameseCBOW(word_weights="information")
    with pytest.raises(SettingsError, match="drop --init"):
        SiameseCBOW.paper(word_weights="information", init="vectors.txt")
