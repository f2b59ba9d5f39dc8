// Search in a text of the user's own, in as many requests as the limits of the server ask for.

import { ask, at, counted, make, number, task, whole } from "./kit.js";

const MOST_SHOWN = 20;

export function setUp(page) {
  let file = null; // {name, lines}
  const size = new TextEncoder();

  const lines = () => file?.lines ?? at("search-lines").value.split("\n");

  /** Parts that fit into a request: [{start, texts}]. */
  function parts(all) {
    const found = [];
    let start = 0, bytes = 0;
    for (let i = 0; i <= all.length; i++) {
      const more = i < all.length ? 2 * size.encode(all[i]).length + 8 : 0; // escapes take room
      const full = i - start >= page.settings.max_inputs || bytes + more > page.settings.max_bytes - 4096;
      if (i > start && (full || i === all.length)) {
        found.push({ start, texts: all.slice(start, i) });
        start = i;
        bytes = 0;
      }
      bytes += more;
    }
    return found;
  }

  const search = task(async () => {
    const query = at("search-query").value.trim();
    if (!query) return null;
    const results = [];
    for (const { start, texts } of parts(lines())) {
      const found = await ask("/search", { query, texts, k: MOST_SHOWN, model: page.model });
      results.push(...found.results.map((one) => ({ ...one, index: one.index + start })));
    }
    results.sort((one, other) => other.score - one.score);
    return () => show(results.slice(0, MOST_SHOWN));
  });

  async function take(given) {
    if (!given) return;
    const text = await given.text();
    if (text.includes("\0")) {
      at("file-said").textContent = `${given.name} is not a text file.`;
      return;
    }
    file = { name: given.name, lines: text.split(/\r?\n/).filter((line) => line.trim()) };
    at("file-said").textContent = `${given.name}: ${counted(file.lines.length, "line")}.`;
    at("search-lines").value = file.lines.slice(0, 200).join("\n");
    search();
  }

  at("search-lines").addEventListener("input", () => {
    file = null;
    at("file-said").textContent = "";
  });
  at("file").addEventListener("change", () => take(at("file").files[0]));
  const drop = at("drop");
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  at("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  return { changed: search };
}

function show(results) {
  at("search-list").replaceChildren(results.length
    ? make("ol", { class: "ranked texts", "aria-label": "Lines, the nearest first" }, ...results.map((one) => make("li", {},
        make("span", { class: "name" }, make("span", { class: "place" }, `line ${whole(one.index + 1)}`), one.text),
        make("span", { class: one.score < 0 ? "bar less" : "bar", "aria-hidden": "true" }, make("i", { "--share": Math.abs(one.score) })),
        make("span", { class: "number" }, number(one.score)))))
    : make("p", { class: "note" }, "No line has a word that the model knows."));
}
