"""Our models in scikit-learn, spaCy, LangChain, ONNX, MTEB and data frames: the same vectors everywhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import siamese_cbow as sc
from interop_world import TEXTS, WORDS, small_model
from siamese_cbow import Model, Tokenizer, Vocabulary
from siamese_cbow.errors import InputError, MissingExtra, SettingsError
from siamese_cbow.formats.convert import write_model
from siamese_cbow.formats.word_table import as_matrix
from siamese_cbow.integrations.columns import with_vectors

pytestmark = pytest.mark.filterwarnings("default")  # warnings of other libraries are not ours to fix

some_words = st.lists(st.sampled_from([*WORDS, "blorf", "THE", "’", "Don’t", "\u200d", "  "]), max_size=8)
any_text = st.one_of(some_words.map(" ".join), some_words.map("".join), st.text(max_size=30))


# spaCy


@pytest.fixture(scope="module")
def pipelines() -> Any:
    pytest.importorskip("spacy")
    from siamese_cbow.formats.spacy_parts import to_spacy

    tokenizers = [Tokenizer(), Tokenizer(punctuation=False), Tokenizer(lowercase=False), Tokenizer("whitespace")]
    models = [small_model(tokenizer) for tokenizer in tokenizers]
    return [(model, to_spacy(model)) for model in models]


@given(text=any_text)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spacy_documents_have_our_vectors_and_their_own_text(pipelines: Any, text: str) -> None:
    for model, nlp in pipelines:
        doc = nlp(text)
        # A document keeps its own text, unless its normal form has another length: then it has the normal form.
        forms = {replace(model.tokenizer, lowercase=False).spelled(text), model.tokenizer.spelled(text)}
        assert doc.text == text or (doc.text in forms and len(doc.text) != len(text))
        np.testing.assert_array_equal(doc.vector, model.encode(text))


def test_spacy_tokens_spans_and_similarity(pipelines: Any, tmp_path: Path) -> None:
    import spacy

    for model, nlp in pipelines:
        for text in TEXTS:
            np.testing.assert_array_equal(nlp(text).vector, model.encode(text))
        doc = nlp("the cat blorf sat")
        np.testing.assert_array_equal(doc[1].vector, model.vector("cat"))
        assert doc[1].has_vector
        assert not doc[2].has_vector
        np.testing.assert_array_equal(doc[1:4].vector, model.encode("cat sat"))
        np.testing.assert_allclose(doc.similarity(nlp("cat")), model.similarity(doc.text, "cat"), atol=1e-6)
        nlp.to_disk(tmp_path / "pipeline")
        np.testing.assert_array_equal(spacy.load(tmp_path / "pipeline")(doc.text).vector, doc.vector)
        [piped] = nlp.pipe([doc.text])
        np.testing.assert_array_equal(piped.vector, doc.vector)


@pytest.mark.slow
def test_spacy_loads_what_convert_wrote_in_a_process_that_knows_nothing_of_us(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    from importlib.metadata import entry_points

    model = small_model()
    write_model(model, tmp_path / "tiny.spacy")
    write_model(model, tmp_path / "tiny.spacy")  # an older one is replaced
    (tmp_path / "mine.spacy").mkdir()
    with pytest.raises(InputError, match="is not a spaCy pipeline"):
        write_model(model, tmp_path / "mine.spacy")
    if "siamese_cbow_vectors" not in entry_points(group="spacy_factories").names:
        pytest.skip("this installation is older than the entry points; install it again")
    code = f"import spacy; print(spacy.load({str(tmp_path / 'tiny.spacy')!r})('The cat sat!').vector.tolist())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == str(model.encode("The cat sat!").tolist())


def test_other_files_next_to_a_pipeline_are_never_deleted(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    from siamese_cbow.formats.spacy_parts import write_spacy

    for _ in range(2):
        write_spacy(sc.load(), tmp_path / "pipeline")
    (tmp_path / "pipeline" / "vocab" / "thesis.txt").write_text("years of work")
    with pytest.raises(sc.InputError, match=r"not part of a spaCy pipeline \(vocab/thesis.txt\)"):
        write_spacy(sc.load(), tmp_path / "pipeline")
    assert (tmp_path / "pipeline" / "vocab" / "thesis.txt").read_text() == "years of work"


def test_spacy_init_vectors_reads_our_export(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    import spacy
    from spacy.cli.init_pipeline import init_vectors_cli

    model = small_model()
    write_model(model, tmp_path / "words.txt")
    init_vectors_cli("en", tmp_path / "words.txt", tmp_path / "out", prune=-1, truncate=0, mode="default", name=None,
                     verbose=False, jsonl_loc=None, attr="ORTH")  # fmt: skip
    nlp = spacy.load(tmp_path / "out")
    for word in WORDS:
        np.testing.assert_array_equal(nlp.vocab.get_vector(word), model.vector(word))
    # Without our tokenizer and component, the mean is the same only if every token is a known word.
    np.testing.assert_allclose(nlp("the cat sat on a mat .").vector, model.encode("The cat sat on a mat."), atol=1e-6)
    assert not np.allclose(nlp("The cat sat on a blorf.").vector, model.encode("The cat sat on a blorf."))


def test_spacy_refuses_what_it_can_not_have() -> None:
    pytest.importorskip("spacy")
    from siamese_cbow.formats.spacy_parts import to_spacy

    words = Vocabulary.joint({"en": Vocabulary.of_words(["house"]), "de": Vocabulary.of_words(["haus"])})
    with pytest.raises(InputError, match="several languages"):
        to_spacy(Model(words, np.eye(2, dtype=np.float32)))


# scikit-learn

DOCUMENTS = [
    "The cat sat on the mat. The cat was happy. A dog came.",
    "The dog ran to the cat. The cat ran away. The dog was sad.",
    "Stocks fell on Monday. The bank lost money. Markets were sad.",
    "The bank raised rates. Money was cheap. Stocks ran up.",
] * 6
LABELS = [0, 0, 1, 1] * 6


def vectorizer(*arguments: Any, **options: Any) -> Any:
    pytest.importorskip("sklearn")
    from siamese_cbow.integrations.sklearn import SentenceVectorizer

    return SentenceVectorizer(*arguments, **options)


def test_scikit_learn_takes_a_model(tmp_path: Path) -> None:
    from sklearn.base import clone

    model = small_model()
    model.save(tmp_path / "model")
    write_model(model, tmp_path / "words.bin")
    for given_model in (model, tmp_path / "model", str(tmp_path / "words.bin")):
        made = clone(vectorizer(given_model)).fit(TEXTS)
        np.testing.assert_array_equal(made.transform(TEXTS), model.encode(TEXTS))
    made = vectorizer(model, normalize=True, truncate_dim=3).fit(TEXTS)
    assert list(made.get_feature_names_out()) == [f"sentencevectorizer{i}" for i in range(3)]
    np.testing.assert_array_equal(made.transform(np.array([["the cat"]], object)).shape, (1, 3))
    assert vectorizer(model).fit_transform([]).shape == (0, 16)


def test_scikit_learn_has_the_packaged_model_by_default() -> None:
    np.testing.assert_array_equal(vectorizer().fit_transform(TEXTS), sc.load().encode(TEXTS))
    with pytest.raises(SettingsError, match=r"dim: only for training.*SentenceVectorizer\(None, dim=8\)"):
        vectorizer(dim=8).fit(TEXTS)


def test_scikit_learn_adapts_to_what_it_is_fitted_on() -> None:
    model = small_model()
    made = vectorizer(model, adapt=True).fit(TEXTS)
    assert made.model_ == model.adapt(TEXTS)
    np.testing.assert_array_equal(made.transform(TEXTS[:2]), model.adapt(TEXTS).encode(TEXTS[:2]))


def test_scikit_learn_trains_alike_each_time() -> None:
    from sklearn.base import clone

    made = vectorizer(None, dim=8, epochs=2, threads=1, changes={"subsample": 0})
    once = made.fit(DOCUMENTS).transform(DOCUMENTS)
    again = clone(made).set_params(threads=2).fit(iter(DOCUMENTS)).transform(DOCUMENTS)
    np.testing.assert_array_equal(once, again)
    assert made.model_.dim == 8
    assert made.model_.info["recipe"]["epochs"] == 2
    paper = vectorizer(None, dim=8, recipe="paper", changes={"negatives": 3}).fit(DOCUMENTS)
    assert paper.model_.info["recipe"]["negatives"] == 3


def test_scikit_learn_pipelines_searches_and_files(tmp_path: Path) -> None:
    import joblib
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(
        vectorizer(None, dim=8, epochs=3, threads=1, changes={"subsample": 0, "common_directions": 0}),
        LogisticRegression(),
    )
    search = GridSearchCV(pipeline, {"sentencevectorizer__normalize": [True, False]}, cv=2).fit(DOCUMENTS, LABELS)
    assert search.best_score_ > 0.8
    joblib.dump(search.best_estimator_, tmp_path / "pipeline.joblib")
    again = joblib.load(tmp_path / "pipeline.joblib")
    np.testing.assert_array_equal(again.predict(DOCUMENTS), search.predict(DOCUMENTS))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_scikit_learn_answers_with_data_frames(library: str) -> None:
    pytest.importorskip(library)
    from sklearn.compose import ColumnTransformer

    model = small_model()
    made = vectorizer(model, truncate_dim=2).set_output(transform=library).fit(TEXTS)
    frame = made.transform(TEXTS)
    assert list(frame.columns) == ["sentencevectorizer0", "sentencevectorizer1"]
    np.testing.assert_array_equal(frame.to_numpy(), model.encode(TEXTS, truncate_dim=2))
    table = pytest.importorskip(library).DataFrame({"text": TEXTS, "n": list(range(len(TEXTS)))})
    both = ColumnTransformer([("v", vectorizer(model), "text"), ("n", "passthrough", ["n"])]).fit_transform(table)
    np.testing.assert_array_equal(both[:, :16], model.encode(TEXTS))


def test_scikit_learn_checks_as_far_as_text_allows() -> None:
    pytest.importorskip("sklearn")
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import estimator_checks as checks

    made = vectorizer(small_model())
    checks.check_estimator(made, on_skip=None)
    # check_estimator skips these for text estimators, although they need no data
    for name in (
        "check_no_attributes_set_in_init", "check_get_params_invariance", "check_set_params", "check_estimator_repr",
        "check_estimator_tags_renamed", "check_valid_tag_types", "check_parameters_default_constructible",
        "check_mixin_order",
    ):  # fmt: skip
        if hasattr(checks, name):
            getattr(checks, name)("SentenceVectorizer", vectorizer())
    with pytest.raises(NotFittedError):
        made.transform(["x"])
    for wrong, message in ((["a", None], "text 1 is None"), ("one", "got a single string"), ([1.5], "text 0 is 1.5")):
        with pytest.raises((InputError, SettingsError), match=message):
            made.fit(wrong)
    for dim in (99, 0, -1):
        with pytest.raises(SettingsError, match=f"truncate_dim is {dim}"):
            vectorizer(small_model(), truncate_dim=dim).fit(["x"])
    with pytest.raises(InputError, match="every text is a single sentence"):
        vectorizer(None, min_count=1).fit(["a cat", "a dog", "a cat", "a dog"])


# LangChain


def test_langchain() -> None:
    pytest.importorskip("langchain_core")
    import asyncio

    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    from siamese_cbow.integrations.langchain import SentenceEmbeddings

    model = small_model()
    made = SentenceEmbeddings(model)
    assert isinstance(made, Embeddings)
    expected = model.encode(TEXTS, normalize_embeddings=True)
    rows = made.embed_documents(TEXTS)
    assert isinstance(rows[0][0], float)
    np.testing.assert_array_equal(np.array(rows, np.float32), expected)
    assert made.embed_documents([]) == []
    assert SentenceEmbeddings().model.info == sc.load().info
    assert made.embed_query("The cat") == made.embed_documents(["The cat"])[0]
    assert asyncio.run(made.aembed_query("The cat")) == made.embed_query("The cat")
    assert len(SentenceEmbeddings(model, truncate_dim=3).embed_query("cat")) == 3
    store = InMemoryVectorStore(made)
    store.add_texts(["the cat sat", "3.14 dog"])
    assert store.similarity_search("The cat!", k=1)[0].page_content == "the cat sat"
    with pytest.raises(InputError):
        SentenceEmbeddings("no-such-folder")
    with pytest.raises(TypeError, match="model_name"):  # at once, not with the first text
        SentenceEmbeddings(model_name="models/books")
    with pytest.raises(InputError, match=r"embed_documents got one text, 'a cat'; expected a list"):
        SentenceEmbeddings(small_model()).embed_documents("a cat")


# data frames


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns(library: str) -> None:
    module = pytest.importorskip(library)
    model = small_model()
    table = (module.table if library == "pyarrow" else module.DataFrame)({"text": TEXTS, "n": list(range(len(TEXTS)))})
    vectors = model.encode(TEXTS)
    np.testing.assert_array_equal(model.encode(table["text"]), vectors)
    added = with_vectors(model, table, "text")
    assert type(added) is type(table)
    assert list(getattr(table, "column_names", getattr(table, "columns", None))) == ["text", "n"]
    np.testing.assert_array_equal(as_matrix(added["vector"]), vectors)
    assert as_matrix(added["vector"]).dtype == np.float32
    short = with_vectors(model, added, "text", truncate_dim=2, normalize_embeddings=True)
    np.testing.assert_array_equal(
        as_matrix(short["vector"]), model.encode(TEXTS, truncate_dim=2, normalize_embeddings=True)
    )
    with pytest.raises(InputError, match="no column 'blorf'; expected one of text, n"):
        with_vectors(model, table, "blorf")


def test_columns_of_pandas_keep_their_index() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["the cat", "a dog"]}, index=[7, 3])
    added = with_vectors(small_model(), frame, "text")
    np.testing.assert_array_equal(added.loc[3, "vector"], small_model().encode("a dog"))
    with pytest.raises(InputError, match="text 1 is"):
        with_vectors(small_model(), pandas.DataFrame({"text": ["a", None]}), "text")


def test_columns_that_are_no_vectors() -> None:
    pa = pytest.importorskip("pyarrow")
    np.testing.assert_array_equal(as_matrix(pa.chunked_array([[[1.0, 2.0]], [[3.0, 4.0]]])), [[1, 2], [3, 4]])
    sliced = pa.array([[1.0], [2.0], [3.0]], pa.list_(pa.float32(), 1))[1:]
    np.testing.assert_array_equal(as_matrix(sliced), [[2], [3]])
    assert as_matrix(pa.array([], pa.list_(pa.float32(), 3))).shape == (0, 3)
    nan = float("nan")
    uneven = ([[1.0], [2.0, 3.0]], [None, [1.0]], [], pa.array([[1.0], None]), pa.array(["x"]), pa.array([1.0]))
    for wrong in (*uneven, ["x"], [[1.0, nan]], pa.array([[1.0], [nan]])):
        with pytest.raises(InputError, match="expected"):
            as_matrix(wrong)
    with pytest.raises(InputError, match="can't add a column to dict"):
        with_vectors(small_model(), {"text": ["a"]}, "text")
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match=r"LazyFrame; collect\(\) it first"):
        with_vectors(small_model(), polars.LazyFrame({"text": ["a"]}), "text")


# ONNX


def sessions(folder: Path, model: Model) -> Any:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from siamese_cbow.formats.onnx import write_onnx

    write_onnx(model, folder / "plain.onnx")
    write_onnx(model, folder / "unit.onnx", normalize=True)
    return [
        runtime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])
        for name in ("plain.onnx", "unit.onnx")
    ]


def test_onnx_gives_our_vectors(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    from siamese_cbow.formats.onnx import tokens_of

    model = small_model()
    for session, normalize in zip(sessions(tmp_path, model), (False, True), strict=True):
        about = session.get_modelmeta().custom_metadata_map  # the file alone is enough
        tokenizer = tokenizers.Tokenizer.from_str(about["tokenizer.json"])
        unknown = int(about["unknown_id"])
        for texts in (TEXTS, ["", ""], ["cat"], ["", "cat"], ["cat", ""]):
            ids, offsets = tokens_of([one.ids for one in tokenizer.encode_batch(texts)], unknown)
            [vectors] = session.run(["vectors"], {"ids": ids, "offsets": offsets})
            expected = model.encode(texts, normalize_embeddings=normalize)
            np.testing.assert_allclose(vectors, expected, atol=1e-6)
        nothing = np.empty(0, np.int64)
        assert session.run(None, {"ids": nothing, "offsets": nothing})[0].shape == (0, 16)


@given(sentences=st.lists(st.lists(st.integers(0, len(WORDS)), max_size=5), max_size=6))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_onnx_any_ids(tmp_path_factory: pytest.TempPathFactory, sentences: list[list[int]]) -> None:
    from siamese_cbow.formats.onnx import tokens_of

    if not hasattr(test_onnx_any_ids, "session"):
        test_onnx_any_ids.session = sessions(tmp_path_factory.mktemp("onnx"), small_model())[0]
    ids, offsets = tokens_of(sentences, len(WORDS))
    [vectors] = test_onnx_any_ids.session.run(None, {"ids": ids, "offsets": offsets})
    texts = [" ".join(WORDS[i] for i in sentence if i < len(WORDS)) for sentence in sentences]
    whole = Model(Vocabulary.of_words(WORDS), small_model().vectors, Tokenizer("whitespace", lowercase=False))
    np.testing.assert_allclose(vectors, whole.encode(texts), atol=1e-6)


# sentence-transformers and MTEB


def test_prompts_and_roles_change_nothing(tmp_path: Path) -> None:
    transformers = pytest.importorskip("sentence_transformers")
    small_model().save(tmp_path / "model")
    peer = transformers.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    expected = small_model().encode(TEXTS, normalize_embeddings=True)
    for encode in (peer.encode, peer.encode_query, peer.encode_document):
        np.testing.assert_allclose(encode(TEXTS), expected, atol=1e-6)
    assert not any(peer.prompts.values())
    assert peer.similarity_fn_name == "cosine"


@pytest.mark.slow
def test_mteb_runs_a_task_of_our_own(tmp_path: Path) -> None:
    mteb = pytest.importorskip("mteb")
    datasets = pytest.importorskip("datasets")
    transformers = pytest.importorskip("sentence_transformers")
    from scipy.stats import spearmanr

    a = ["the cat sat", "a dog", "the mat", "don't!", "3.14"]
    b = ["the cat", "the dog sat", "a cat", "on the mat", "1,000 cat"]
    gold = [5.0, 4.0, 2.0, 0.0, 1.0]

    class Tiny(mteb.abstasks.AbsTaskSTS):  # type: ignore[misc, name-defined]
        metadata = mteb.TaskMetadata(
            name="TinySTS", description="Five pairs.", dataset={"path": "local/tiny", "revision": "1"}, type="STS",
            category="t2t", eval_splits=["test"], eval_langs=["eng-Latn"], main_score="cosine_spearman",
        )  # fmt: skip
        min_score, max_score = 0, 5

        def load_data(self, **options: Any) -> None:
            rows = {"sentence1": a, "sentence2": b, "score": gold}
            self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows)})
            self.data_loaded = True

    small_model().save(tmp_path / "model")
    peer = transformers.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    result = mteb.evaluate(peer, tasks=[Tiny()], cache=None, show_progress_bar=False)
    expected = spearmanr(small_model().similarity_pairwise(a, b), gold).statistic
    assert result.task_results[0].scores["test"][0]["cosine_spearman"] == pytest.approx(expected)


# what is not installed


@pytest.mark.parametrize(
    ("library", "extra", "code"),
    [
        ("spacy", "spacy", "from siamese_cbow.formats.spacy_parts import to_spacy; to_spacy(model)"),
        ("sklearn", "sklearn", "import siamese_cbow.integrations.sklearn"),
        ("langchain_core", "langchain", "import siamese_cbow.integrations.langchain"),
        ("onnx", "onnx", "from siamese_cbow.formats.onnx import onnx_graph; onnx_graph(model)"),
        (
            "gensim",
            "baselines",
            "from siamese_cbow.integrations.gensim import to_keyed_vectors; to_keyed_vectors(model)",
        ),
        ("huggingface_hub", "hub", "model.push_to_hub('me/tiny')"),
        ("matplotlib", "plots", "model.plot_words(['the', 'cat', 'sat'])"),
        ("tokenizers", "interop", "from siamese_cbow.words.json_tokenizer import JsonTokenizer as J; J(json='{}')"),
    ],
)
def test_a_missing_library_says_what_to_type(
    library: str, extra: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [
        name
        for name in sys.modules
        if name.partition(".")[0] == library
        or name.startswith(("siamese_cbow.integrations", "siamese_cbow.formats.spacy_parts"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"the extra {extra} .*pip install .*\[{extra}\]'"):
        exec(code, {"model": small_model()})
