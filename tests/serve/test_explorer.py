"""The page in a real browser: every view by mouse and keyboard, for screen readers, on a phone, and its pictures.

These tests also make the pictures of the docs, with models that are worth looking at:

    EXPLORER_IMAGES=docs/images EXPLORER_MODELS="wikipedia=DIR paper=DIR" pytest tests/serve/ -k pictures
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serve_world import WORDS, Running, running, toy_model
from siamese_cbow import Index, Model

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VIEWS = ["sentences", "words", "map", "compare", "norms", "search"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        if os.environ.get("BROWSER_TESTS") == "required":
            pytest.fail("no browser found, and this run requires one: apt-get install chromium")
        pytest.skip("no browser found: apt-get install chromium")
    sync_api.expect.set_options(timeout=60_000)  # for busy machines
    with sync_api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield one
        one.close()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(["toy", "other"], start=1):
        toy_model(seed).save(folder / name)
    return [folder / "toy", folder / "other"]


@pytest.fixture(scope="module")
def server(folders: list[Path]) -> Iterator[Running]:
    with running(*folders, "--max-inputs", "100") as one:
        yield one


@pytest.fixture
def page(browser: Any, server: Running) -> Iterator[Any]:
    """A fresh page; at the end, nothing may have failed or have been loaded from elsewhere."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    one = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    one.on("request", lambda request: asked.append(request.url))
    one.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    one.on("pageerror", lambda error: wrong.append(str(error)))
    yield one
    context.close()
    assert [url for url in asked if not url.startswith(server.url)] == []
    assert [text for text in wrong if "404 (Not Found)" not in text] == []  # an unknown word


@pytest.fixture(scope="module")
def model() -> Model:
    return toy_model()


def visit(page: Any, server: Running, view: str) -> None:
    page.goto("about:blank")
    page.goto(f"{server.url}/#{view}")
    sync_api.expect(page.locator(f"#{view}")).to_be_visible()
    page.wait_for_load_state("networkidle")


def texts(page: Any, selector: str) -> list[str]:
    sync_api.expect(page.locator(selector).first).to_be_visible()
    found: list[str] = page.locator(selector).all_inner_texts()
    return found


def test_sentences(page: Any, server: Running, model: Model) -> None:
    visit(page, server, "sentences")
    page.get_by_label("First sentence").fill("The cat purrs")
    page.get_by_label("Second sentence").fill("a dog blorf barks")
    sync_api.expect(page.locator(".heat tbody th[scope=row]").nth(1)).to_have_text("cat")
    similarity = model.similarity("The cat purrs", "a dog blorf barks")
    shown = f"{similarity:.2f}"
    sync_api.expect(page.locator("#similarity-number")).to_have_text(f"{similarity:.4f}")
    assert page.locator(".heat .cell").count() == 12
    assert page.locator(".heat .cell.none").count() == 3  # blorf is unknown
    assert page.locator(".heat tbody tr:last-child td.total").last.inner_text() == shown
    page.locator(".heat .cell").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator("#heat-reading").inner_text().startswith("cat and dog: ")
    page.locator(".heat .cell").nth(6).hover()
    assert page.locator("#heat-reading").inner_text() == "blorf is not in the vocabulary"
    sync_api.expect(page.locator("#unknown-words")).to_have_text("blorf: not in the vocabulary, ignored")
    page.get_by_role("button", name="Swap").click()
    sync_api.expect(page.locator(".heat tbody th[scope=row]").nth(1)).to_have_text("dog")
    page.get_by_label("First sentence").fill("blorf")
    sync_api.expect(page.locator("#strongest .note")).to_contain_text("the similarity is 0")


def test_words(page: Any, server: Running, model: Model) -> None:
    visit(page, server, "words")
    sync_api.expect(page.locator("#neighbours-list .name").first).to_have_text(model.neighbours("guitar", 1)[0][0])
    page.get_by_label("Word or text").fill("Cat")
    page.keyboard.press("Enter")
    near = [word for word, _ in model.neighbours("cat", 15)]
    sync_api.expect(page.locator("#neighbours-list .name").first).to_have_text(near[0])
    assert texts(page, "#neighbours-list .name") == near
    page.locator("#neighbours-list .name").nth(1).click()
    sync_api.expect(page.get_by_label("Word or text")).to_have_value(near[1])
    for field, word in zip("abc", ["man", "king", "woman"], strict=True):
        page.locator(f"#analogy-{field}").fill(word)
    page.locator("#analogy-form button").click()
    expected = [word for word, _ in model.most_similar(["king", "woman"], ["man"], topn=8, all_forms=False)]
    sync_api.expect(page.locator("#analogy-list .name").first).to_have_text(expected[0])
    assert texts(page, "#analogy-list .name") == expected
    page.get_by_label("Word or text").fill("blorf")
    page.keyboard.press("Enter")
    sync_api.expect(page.get_by_role("alert")).to_contain_text("blorf")


def inked(page: Any) -> int:
    """How many pixels of the map are not background."""
    script = """() => {
        const canvas = document.getElementById("plane"), {width, height} = canvas;
        const data = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
        return data.filter((pixel) => pixel !== 0).length;
    }"""
    found: int = page.evaluate(script)
    return found


def test_map_of_words(page: Any, server: Running, model: Model) -> None:
    visit(page, server, "map")
    sync_api.expect(page.locator("#map-said")).to_contain_text("of the variance")
    everything = inked(page)
    assert everything > 1000
    plane = page.locator("#plane")
    plane.focus()
    for key in ("+", "+", "+", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    assert inked(page) != everything
    page.keyboard.press("0")
    assert abs(inked(page) - everything) < everything / 5
    page.get_by_label("Find on the map").fill("kitten")
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#map-said")).to_contain_text("kitten is near")
    assert model.neighbours("kitten", 1)[0][0] in page.locator("#map-said").inner_text()
    box = plane.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)  # the word found is in the middle
    sync_api.expect(page.locator("#plane-tip")).to_contain_text("kitten · length")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 150, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    sync_api.expect(page.locator("#map-said")).to_contain_text("kitten")  # dragging selects nothing
    page.mouse.wheel(0, -400)
    page.get_by_role("button", name="Show everything").click()
    page.get_by_text("List of points").click()
    assert "kitten" in page.locator("#map-list").inner_text()
    page.get_by_label("Find on the map").fill("blorf")
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#map-said")).to_have_text("blorf is not on this map.")


def test_map_of_sentences(page: Any, server: Running) -> None:
    visit(page, server, "map")
    page.get_by_label("my sentences").check()
    page.get_by_label("Sentences, one per line").fill("the cat purrs\na dog barks\n\nblorf\na song")
    page.get_by_role("button", name="Draw").click()
    sync_api.expect(page.locator("#map-said")).to_contain_text("3 sentences")
    sync_api.expect(page.locator("#map-said")).to_contain_text("1 without a known word skipped")


def test_compare(page: Any, server: Running, model: Model) -> None:
    visit(page, server, "compare")
    sync_api.expect(page.locator(".pairing")).to_have_count(3)
    left, right = toy_model(1).neighbours("her", 8), toy_model(2).neighbours("her", 8)
    assert texts(page, ".pairing[aria-label=her] ol:not(div + div ol) .name") == [word for word, _ in left]
    assert texts(page, ".pairing[aria-label=her] div + div .name") == [word for word, _ in right]
    both = {word for word, _ in left} & {word for word, _ in right}
    assert set(texts(page, ".pairing[aria-label=her] .shared")) == both
    colour = "element => getComputedStyle(element).color"
    shared, own = (page.locator(f".pairing[aria-label=her] .name{kind}").first for kind in (".shared", ":not(.shared)"))
    assert shared.evaluate(colour) != own.evaluate(colour)  # as the text above them says
    page.get_by_role("textbox", name="Words").fill("cat, blorf")
    page.get_by_role("button", name="Compare").click()
    sync_api.expect(page.locator(".pairing")).to_have_count(2)
    sync_api.expect(page.locator(".pairing").nth(1)).to_contain_text("no word with a vector")
    page.get_by_role("textbox", name="Words").fill(", ".join([word for word in WORDS if word.isalpha()][:14]))
    page.get_by_role("button", name="Compare").click()
    sync_api.expect(page.locator(".pairing")).to_have_count(12)
    sync_api.expect(page.locator("#compare-list")).to_contain_text("only the first 12 of 14 words are shown.")


def test_norms(page: Any, server: Running, model: Model) -> None:
    visit(page, server, "norms")
    assert page.locator("#norms-chart .dot").count() == len(WORDS)
    assert 3 <= page.locator("#norms-chart line.axis").count() <= 9
    assert page.locator("#norms-chart .label").all_text_contents() == ["the", "of", "guitar"]
    sync_api.expect(page.locator("#norms-said")).to_contain_text("not in the vocabulary: physics")
    page.get_by_label("Find words").fill("the, The, of, " + ", ".join(f"blorf{i}" for i in range(10)))
    page.get_by_role("button", name="Show", exact=True).click()
    sync_api.expect(page.locator("#norms-said")).to_contain_text("not in the vocabulary: blorf0, blorf1,")
    sync_api.expect(page.locator("#norms-said")).to_contain_text("only the first 12 of 13 words are shown")
    assert len(texts(page, "#norms-shortest .name")) == 12
    assert texts(page, "#norms-longest .number")[0] > texts(page, "#norms-shortest .number")[0]


@pytest.mark.parametrize(("view", "word"), [
    ("norms", "#norms-longest .name"), ("norms", "#norms-said .word"), ("compare", ".pairing .name"),
    ("sentences", ".heat th .word"), ("sentences", "#strongest .word"), ("search", "#search-list .why .word"),
    ("map", "#map-said .word"),
])  # fmt: skip
def test_words_lead_to_their_neighbours(page: Any, server: Running, view: str, word: str) -> None:
    visit(page, server, view)
    if view == "sentences":
        page.get_by_label("First sentence").fill("cat dog")
        page.get_by_label("Second sentence").fill("cat")
        sync_api.expect(page.locator(".heat tbody th[scope=row]").nth(1)).to_have_text("dog")
        sync_api.expect(page.locator("#strongest li").first).to_contain_text("cat – cat")
    if view == "search":
        page.locator("#search-lines").fill("a cat\na dog")
        page.locator("#search-query").fill("cat")
        page.get_by_role("button", name="Search").click()
        sync_api.expect(page.locator("#search-list .why").first).to_have_text("exact 1.7: cat; meaning 7.0")
    if view == "map":
        page.get_by_label("Find on the map").fill("guitar")
        page.keyboard.press("Enter")
        sync_api.expect(page.locator("#map-said")).to_contain_text("guitar is near")
    if "norms-said" in word:
        page.get_by_label("Find words").fill("dog, cat")
        page.get_by_role("button", name="Show").click()
        sync_api.expect(page.locator(word)).to_have_text(["dog", "cat"])
    name = texts(page, word)[0]
    page.locator(word).first.click()
    sync_api.expect(page.get_by_label("Word or text")).to_have_value(name)
    sync_api.expect(page.get_by_role("tab", selected=True)).to_have_text("Words")


@pytest.mark.parametrize(("view", "field", "results"), [
    ("words", "#neighbours-text", "#neighbours-list li"), ("words", "#analogy-a", "#analogy-list li"),
    ("search", "#search-query", "#search-list li"), ("compare", "#compare-words", "#compare-list li"),
])  # fmt: skip
def test_results_go_when_the_question_changes(page: Any, server: Running, view: str, field: str, results: str) -> None:
    visit(page, server, view)
    if "analogy" in field:
        for name, word in zip("abc", ["man", "king", "woman"], strict=True):
            page.locator(f"#analogy-{name}").fill(word)
        page.locator("#analogy-form button").click()
    if view == "search":
        page.locator("#search-lines").fill("a cat\na dog")
        page.locator("#search-query").fill("cat")
        page.get_by_role("button", name="Search").click()
    sync_api.expect(page.locator(results).first).to_be_visible()
    page.locator(field).press("End")
    page.keyboard.type("s")
    sync_api.expect(page.locator(results)).to_have_count(0)


@pytest.mark.parametrize(("view", "field", "results"), [
    ("sentences", "#sentence-a", "#heat"), ("map", "#map-words", "#plane"), ("norms", "#norms-words", "#norms-said"),
])  # fmt: skip
def test_results_of_an_earlier_input_are_dimmed_or_gone(
    page: Any, server: Running, view: str, field: str, results: str
) -> None:
    visit(page, server, view)
    sync_api.expect(page.locator(results)).to_have_attribute("aria-busy", "false")
    page.route("**/similarity", lambda route: None)  # no answer comes
    page.locator(field).press("End")
    page.keyboard.type("s")
    if view == "norms":
        sync_api.expect(page.locator(results)).to_be_empty()
    else:
        sync_api.expect(page.locator(results)).to_have_attribute("aria-busy", "true")
        sync_api.expect(page.locator(results)).to_have_class(re.compile("old"))


def test_results_go_when_the_server_refuses(page: Any, server: Running) -> None:
    visit(page, server, "sentences")
    sync_api.expect(page.locator("#heat table")).to_be_visible()
    refusal = {"status": 404, "json": {"error": {"message": "no such model"}}}
    page.route("**/similarity", lambda route: route.fulfill(**refusal))
    page.locator("#sentence-a").fill("another sentence")
    sync_api.expect(page.get_by_role("alert")).to_contain_text("no such model")
    sync_api.expect(page.locator("#heat table")).to_have_count(0)
    sync_api.expect(page.locator("#similarity-number")).to_have_text("–")


def test_search_in_a_file(page: Any, server: Running, tmp_path: Path) -> None:
    visit(page, server, "search")
    lines = [f"the song of the band {i}" for i in range(250)]  # more than one request may contain
    lines[180] = "a kitten"
    (tmp_path / "lines.txt").write_text("\n".join(lines), "utf-8")
    page.get_by_label("Query").fill("cat")
    page.locator("#file").set_input_files(tmp_path / "lines.txt")
    sync_api.expect(page.locator("#file-said")).to_have_text("lines.txt: 250 lines.")
    sync_api.expect(page.locator("#search-list .name").first).to_have_text("line 181\na kitten", use_inner_text=True)
    drop = """([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        const options = {dataTransfer: data, bubbles: true, cancelable: true};
        for (const kind of ["dragover", "drop"])
            document.getElementById("drop").dispatchEvent(new DragEvent(kind, options));
    }"""
    page.evaluate(drop, ["dropped.txt", "a guitar\nmy puppy"])
    sync_api.expect(page.locator("#search-list .name").first).to_have_text("line 2\nmy puppy", use_inner_text=True)
    page.evaluate(drop, ["gaps.txt", "a guitar\n\n\nmy puppy\n"])
    sync_api.expect(page.locator("#file-said")).to_have_text("gaps.txt: 4 lines.")
    sync_api.expect(page.locator("#search-list .name").first).to_have_text("line 4\nmy puppy", use_inner_text=True)
    page.evaluate(drop, ["long.txt", "\n".join(lines)])
    sync_api.expect(page.locator("#file-said")).to_have_text("long.txt: 250 lines.")
    page.locator("#search-lines").fill("a guitar")
    sync_api.expect(page.locator("#file-said")).to_contain_text(
        "only the lines in the box are searched, not all of long.txt"
    )
    page.evaluate(drop, ["picture.png", "\x89PNG\0\0"])
    sync_api.expect(page.locator("#file-said")).to_have_text("picture.png is not a text file.")


def test_tabs_theme_and_model(page: Any, server: Running) -> None:
    visit(page, server, "sentences")
    page.get_by_role("tab", name="Sentences").focus()
    for name in ["Words", "Map"]:
        page.keyboard.press("ArrowRight")
        sync_api.expect(page.get_by_role("tab", name=name)).to_be_focused()
        assert page.get_by_role("tab", selected=True).inner_text() == name
        sync_api.expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    page.keyboard.press("End")
    sync_api.expect(page.get_by_role("tabpanel", name="Search")).to_be_visible()
    paper = "getComputedStyle(document.body).backgroundColor"
    page.get_by_role("button", name="Theme").click()
    light = page.evaluate(paper)
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate(paper) != light
    visit(page, server, "words")
    assert page.evaluate(paper) != light  # the choice is remembered
    page.locator("#model").select_option("other")
    expected = toy_model(2).neighbours("guitar", 1)[0][0]
    sync_api.expect(page.locator("#neighbours-list .name").first).to_have_text(expected)


def test_a_model_is_loaded_and_an_index_searched(browser: Any, folders: list[Path], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a kitten\nthe song of the band\na concert\n")
    Index.update(tmp_path / "notes", tmp_path / "notes.txt", model=toy_model())
    with running(folders[0], "--models", folders[0].parent, "--index", tmp_path / "notes") as server:
        page = browser.new_context().new_page()
        visit(page, server, "words")
        assert page.locator("#model option").all_inner_texts() == ["toy", "other"]
        page.locator("#model").select_option("other")
        sync_api.expect(page.locator("#model optgroup")).to_have_count(0)  # nothing is left to load
        sync_api.expect(page.locator("#about")).to_contain_text(f"{len(WORDS)} words")
        expected = toy_model(2).neighbours("guitar", 1)[0][0]
        sync_api.expect(page.locator("#neighbours-list .name").first).to_have_text(expected)
        page.get_by_role("tab", name="Search").click()
        page.get_by_label("Query").fill("cat")
        page.locator("#search-where").select_option("notes (3 rows)")
        hit = page.locator("#search-list .name").first
        sync_api.expect(hit).to_contain_text("notes.txt:1")
        sync_api.expect(hit).to_contain_text("a kitten")
        sync_api.expect(page.locator("#drop")).to_be_hidden()
        page.locator("#search-where").select_option("these lines")
        sync_api.expect(page.locator("#drop")).to_be_visible()
        page.context.close()


def test_a_model_is_loaded_to_compare(browser: Any, folders: list[Path]) -> None:
    with running(folders[0], "--models", folders[0].parent) as server:
        page = browser.new_context().new_page()
        visit(page, server, "compare")
        page.get_by_label("Right").select_option("other")
        right = [word for word, _ in toy_model(2).neighbours("her", 8)]
        sync_api.expect(page.locator(".pairing[aria-label=her] h4")).to_have_text(["toy", "other"])
        assert texts(page, ".pairing[aria-label=her] div + div .name") == right
        page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(browser: Any, server: Running, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 740})
    page = context.new_page()
    for view in VIEWS:
        visit(page, server, view)
        found = Axe().run(page).response
        assert len(found["passes"]) > 20
        assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found["violations"]] == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, f"{view} is too wide for a phone"
    context.close()


def test_a_key_is_asked_for_and_a_server_that_is_gone_is_noticed(browser: Any, folders: list[Path]) -> None:
    with running(folders[0], SIAMESE_CBOW_API_KEY="secret") as server:
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.url)
        for key in ("wrong", "secret"):
            page.get_by_label("API key").fill(key)
            page.get_by_role("button", name="Continue").click()
        sync_api.expect(page.locator(".heat .cell").first).to_be_visible()
        server.stop()
        page.get_by_label("First sentence").fill("a cat")
        sync_api.expect(page.get_by_role("alert")).to_contain_text("does not answer")
        context.close()


def picture(page: Any, path: Path, *, height: int) -> None:
    """Reduces a picture to few colours: a third of the size, and it looks the same."""
    from PIL import Image

    page.mouse.move(0, 0)
    size = page.viewport_size
    raw = page.screenshot(clip={"x": 0, "y": 0, "width": size["width"], "height": height}, full_page=True)
    Image.open(io.BytesIO(raw)).convert("RGB").quantize(
        160, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    ).save(path, optimize=True)
    assert path.stat().st_size < 150_000


@pytest.mark.slow
def test_pictures(browser: Any, folders: list[Path], tmp_path: Path) -> None:
    target = Path(os.environ.get("EXPLORER_IMAGES", tmp_path)).resolve()
    target.mkdir(exist_ok=True, parents=True)
    models = os.environ.get("EXPLORER_MODELS", " ".join(map(str, folders))).split()
    light = [view for view in VIEWS if view != "map"]
    pictures = [("light", 1100, light), ("dark", 1100, ["sentences", "map"]), ("light", 390, ["sentences"])]
    if target == tmp_path:  # two are enough to show that they can be made
        pictures = [("light", 1100, ["map"]), ("dark", 390, ["sentences"])]
    heights = {"sentences": 1060, "words": 900, "map": 1010, "compare": 1110, "norms": 1250, "search": 1300}
    with running(*models) as server:
        for scheme, width, views in pictures:
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
            page = context.new_page()
            for view in views:
                visit(page, server, view)
                page.wait_for_timeout(300)  # bars grow
                kind = "-phone" if width < 500 else "-dark" if scheme == "dark" else ""
                height = 1180 if width < 500 else heights[view]
                picture(page, target / f"explorer-{view}{kind}.png", height=height)
            context.close()
    assert len(list(target.glob("explorer-*.png"))) >= sum(len(views) for *_, views in pictures)


def test_unknown_words_are_explained_in_every_view(browser: Any, tmp_path: Path) -> None:
    toy_model().with_fallback("ngrams").save(tmp_path / "toy")
    with running(tmp_path / "toy") as one:
        page = browser.new_page()
        visit(page, one, "words")
        page.get_by_label("Word or text").fill("blorf")
        page.keyboard.press("Enter")
        made = "blorf: not in the vocabulary; built from its letters"
        sync_api.expect(page.locator("#neighbours-list .strangers")).to_contain_text(made)
        visit(page, one, "compare")
        page.locator("#compare-words").fill("cat, blorf")
        page.keyboard.press("Enter")
        sync_api.expect(page.locator("#compare-list .strangers")).to_contain_text(made)
        visit(page, one, "map")
        page.get_by_label("Words to highlight, with their neighbours").fill("cat, blorf")
        page.keyboard.press("Enter")
        sync_api.expect(page.locator("#map-said")).to_contain_text("not on the map: blorf")
        page.close()
