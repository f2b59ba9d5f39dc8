// Two sentences: their similarity, and the share of each pair of words in it as a heat map.

import { ask, at, clickables, dim, later, make, number, origin, strangers, task } from "./kit.js";

const RESULTS = ["similarity", "heat", "strongest"];
const LITTLE = 0.005; // would be written as .00, which is noise

export function setUp(page) {
  const update = task(async () => {
    const [a, b] = [at("sentence-a").value.trim(), at("sentence-b").value.trim()];
    if (!a || !b) return () => show(null);
    const found = await ask("/similarity", { a, b, model: page.model, explain: true });
    return () => show(found, page.look);
  }, RESULTS, () => show(null));
  for (const id of ["sentence-a", "sentence-b"]) {
    at(id).addEventListener("input", () => dim(RESULTS, true));
    at(id).addEventListener("input", later(update));
  }
  at("swap").addEventListener("click", () => {
    [at("sentence-a").value, at("sentence-b").value] = [at("sentence-b").value, at("sentence-a").value];
    update();
  });
  return { changed: update };
}

function show(found, look) {
  const value = found ? found.similarity : 0;
  at("similarity-number").textContent = found ? number(value, 4) : "–";
  at("similarity-mark").className = value < 0 ? "less" : "";
  at("similarity-mark").style.left = `${50 + Math.min(0, value) * 50}%`;
  at("similarity-mark").style.width = `${Math.abs(value) * 50}%`;
  at("heat-reading").textContent = "";
  at("heat").replaceChildren(...(found ? [heat(found, look), legend(), ...strangers([...found.a, ...found.b], "unknown-words")] : []));
  at("strongest").replaceChildren(...(found ? [strongest(found, look)] : []));
}

function heat({ a, b, shares }, look) {
  const most = Math.max(1e-9, ...shares.flat().map(Math.abs));
  const longest = Math.max(1e-9, ...[...a, ...b].map((one) => one.norm ?? 0));
  const rowTotals = shares.map((row) => row.reduce((sum, share) => sum + share, 0));
  const columnTotals = b.map((_, j) => shares.reduce((sum, row) => sum + row[j], 0));
  const long = b.length > 5;
  const word = (one, up) => make("span", { class: `${one.norm === null ? "ignored" : origin(one) ? "unknown" : ""} ${up ? "up" : ""}`, title: origin(one) },
    make("button", { type: "button", class: "word", tabindex: "-1", click: () => look(one.word) }, one.word));

  const table = make("table", { class: b.length > 9 ? "heat many" : "heat", role: "grid", "aria-label": "Share of each pair of words in the similarity" },
    make("thead", {},
      make("tr", {}, make("td", {}), make("td", {}), ...b.map((one) => make("td", { class: "norm" },
        make("span", {}, one.norm === null ? "" : number(one.norm, 1)), make("i", { class: "stem", "--long": (one.norm ?? 0) / longest })))),
      make("tr", {}, make("td", {}), make("th", { class: "total", scope: "col" }, "length"),
        ...b.map((one) => make("th", { scope: "col" }, word(one, long))), make("th", { class: "total", scope: "col" }, "sum"))),
    make("tbody", {}, ...a.map((one, i) => make("tr", {},
      make("th", { scope: "row" }, word(one)),
      make("td", { class: "norm" }, make("div", {}, make("span", {}, one.norm === null ? "" : number(one.norm, 1)),
        make("i", { class: "limb", "--long": (one.norm ?? 0) / longest }))),
      ...b.map((other, j) => cell(one, other, shares[i][j], most)),
      make("td", { class: "total" }, number(rowTotals[i])))),
      make("tr", {}, make("td", {}), make("th", { class: "total", scope: "row" }, "sum"),
        ...columnTotals.map((total) => make("td", { class: "total" }, number(total))),
        make("td", { class: "total" }, number(rowTotals.reduce((sum, total) => sum + total, 0))))));
  follow(table);
  return table;
}

function cell(one, other, share, most) {
  const known = one.norm !== null && other.norm !== null;
  const strong = known ? Math.abs(share) / most : 0;
  const reading = known
    ? `${one.word} and ${other.word}: ${number(share, 3)} of the similarity`
    : `${one.norm === null ? one.word : other.word} is not in the vocabulary`;
  return make("td", { class: known ? "cell" : "cell none", tabindex: "-1", "data-reading": reading,
    "aria-label": reading, "--strong": strong, "--hue": share < 0 ? "var(--unlike)" : "var(--like)" },
    known && Math.abs(share) >= LITTLE ? number(share) : "");
}

/** Reads the pair under the pointer or the focus, and lets the arrow keys go from pair to pair. */
function follow(table) {
  const rows = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll(".cell")]).filter((row) => row.length);
  const heads = table.tHead.rows[1].cells;
  if (rows.length) rows[0][0].tabIndex = 0;
  const here = (cell) => {
    table.querySelectorAll(".here").forEach((head) => head.classList.remove("here"));
    cell?.parentElement.cells[0].classList.add("here");
    if (cell) heads[cell.cellIndex].classList.add("here");
    at("heat-reading").textContent = cell?.dataset.reading ?? "";
  };
  table.addEventListener("pointerover", (event) => here(event.target.closest(".cell")));
  table.addEventListener("pointerleave", () => here(null));
  table.addEventListener("focusin", (event) => here(event.target.closest(".cell")));
  table.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const i = rows.findIndex((row) => row.includes(event.target));
    const next = step && rows[i + step[0]]?.[rows[i].indexOf(event.target) + step[1]];
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

function legend() {
  return make("p", { class: "legend quiet" }, "dissimilar", make("i", {}), "similar",
    make("span", {}, "grey bars: vector length"));
}

function strongest({ a, b, shares }, look) {
  const pairs = shares.flatMap((row, i) => row.map((share, j) => ({ words: [a[i].word, b[j].word], value: share })));
  pairs.sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  const first = pairs.slice(0, 6).filter((pair) => pair.value !== 0);
  if (!first.length) return make("p", { class: "note" }, "One of the sentences has no known word, so the similarity is 0.");
  const most = Math.abs(first[0].value);
  const list = make("ol", { class: "ranked", "aria-label": "Pairs with the largest shares" }, ...first.map((pair) => make("li", {},
    make("span", { class: "name" }, ...clickables(pair.words, look, " – ")),
    make("span", { class: pair.value < 0 ? "bar less" : "bar", "aria-hidden": "true" }, make("i", { "--share": Math.abs(pair.value) / most })),
    make("span", { class: "number" }, number(pair.value, 3)))));
  return make("div", {}, make("h3", {}, "Pairs that contribute most"), list);
}
