// Search in the user's own text, or in the index of the server, by exact words and meaning.

import { ask, at, clickables, counted, make, number, outdated, strangers, task, whole } from "./kit.js";

const MOST_SHOWN = 20;
const LINES_SHOWN = 200; // of a file, in the box

export function setUp(page) {
  let file = null; // {name, lines}

  const lines = () => file?.lines ?? at("search-lines").value.split("\n");
  const inIndex = () => at("search-where").value === "index";

  const { index } = page.settings;
  at("search-where-field").hidden = !index;
  if (index) at("search-where").append(make("option", { value: "index" }, `${index.name} (${counted(index.n_rows, "row")})`));
  at("search-where").addEventListener("change", () => {
    at("drop").hidden = inIndex();
    at("search-list").replaceChildren();
    search();
  });

  const search = task(async () => {
    const query = at("search-query").value.trim();
    if (!query) return null;
    if (!at("search-list").hasChildNodes()) at("search-list").append(make("p", { class: "quiet" }, "Searching …"));
    // In one request: scores depend on the whole collection. An index has its own model.
    const where = inIndex() ? {} : { texts: lines(), model: page.model };
    const found = await ask("/search", { query, k: MOST_SHOWN, mode: at("search-mode").value, ...where });
    return () => show(found, page.look);
  }, ["search-list"]);

  async function take(given) {
    if (!given) return;
    const text = await given.text();
    if (text.includes("\0")) {
      at("file-said").textContent = `${given.name} is not a text file.`;
      return;
    }
    // Empty lines stay: hits name the number of their line in the file.
    file = { name: given.name, lines: text.replace(/\r?\n$/, "").split(/\r?\n/) };
    at("file-said").textContent = `${given.name}: ${counted(file.lines.length, "line")}.`;
    at("search-lines").value = file.lines.slice(0, LINES_SHOWN).join("\n");
    search();
  }

  outdated("search-list", "search-query", "search-lines");
  at("search-lines").addEventListener("input", () => {
    const cut = file !== null && file.lines.length > LINES_SHOWN;
    at("file-said").textContent = cut ? `Edited: only the lines in the box are searched, not all of ${file.name}.` : "";
    file = null;
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
  at("search-mode").addEventListener("change", () => search());
  at("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  return { changed: search };
}

/** Why a line matches, as on the command line: "exact 2.1: bridge river; meaning 3.0", with words to click. */
function reason({ exact, meaning, words }, look) {
  const meant = meaning ? `; meaning ${number(meaning, Math.abs(meaning) >= 1 ? 1 : 2)}` : "";
  return words.length ? [`exact ${number(exact, 1)}: `, ...clickables(words, look, " "), meant] : [`no exact words${meant}`];
}

/** Where a line is: "line 3" of the user's own text, "notes.txt:3" in an index. */
const place = (hit) => ("index" in hit ? `line ${whole(hit.index + 1)}` : `${hit.source}:${hit.line ?? hit.record}`);

function show({ results, stale, unknown = [] }, look) {
  const highest = Math.max(1e-9, ...results.map((one) => Math.abs(one.score)));
  at("search-list").replaceChildren(...strangers(unknown), results.length
    ? make("ol", { class: "ranked texts", "aria-label": "Matching lines, best first" }, ...results.map((one) => make("li", {},
        make("span", { class: "name" }, make("span", { class: "place" }, place(one)), one.text),
        make("span", { class: one.score < 0 ? "bar less" : "bar", "aria-hidden": "true" }, make("i", { "--share": Math.abs(one.score) / highest })),
        make("span", { class: "number" }, number(one.score, 4)),
        make("small", { class: "why quiet" }, ...reason(one, look)))))
    : make("p", { class: "note" }, "No line contains a word of the query, or the model knows none of its words."));
  if (stale.length) {
    at("search-list").append(make("p", { class: "note" }, `Changed since the index was built: ${stale.join(", ")}`));
  }
}
