// The map of words or of the user's own sentences.

import { ask, at, clickable, clickables, counted, dim, make, number, task, words } from "./kit.js";
import { Plane } from "./plane.js";

export function setUp(page) {
  const tip = at("plane-tip");
  let shown = null; // what the map was made of, so that coming back to it does not draw it anew

  const plane = new Plane(at("plane"), {
    hovered(point, spot) {
      tip.hidden = !point;
      if (!point) return;
      tip.textContent = point.norm == null ? point.label : `${point.label} · length ${number(point.norm)}`;
      const left = Math.min(spot[0] + 14, at("plane").clientWidth - tip.offsetWidth - 8);
      tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, spot[1] - 38)}px)`;
    },
    picked: (point) => pick(point),
  });

  const pick = task(async (point, centre) => {
    plane.choose(point, centre);
    if (!point) return () => say("");
    const found = await ask("/neighbours", { text: point.label, k: 6, model: page.model });
    const name = point.norm == null ? point.label : clickable(point.label, page.look);
    return () => say(name, " is near ", ...clickables(found.neighbours.map((one) => one.word), page.look));
  });
  const say = (...parts) => at("map-said").replaceChildren(...parts);

  const what = () => document.querySelector("#map-form [name=what]:checked").value;
  const update = task(async () => {
    const body = { model: page.model, method: at("map-method").value };
    if (what() === "texts") body.texts = at("map-texts").value.split("\n").map((line) => line.trim()).filter(Boolean);
    else Object.assign(body, { words: words(at("map-words").value), n_words: Number(at("map-count").value) });
    if (body.texts?.length === 0) throw new Error("No sentences to draw; write one per line.");
    const button = document.querySelector("#map-form button");
    button.disabled = true;
    say("Drawing …");
    try {
      let found = await ask("/explore/map", body);
      while (!found.points) {
        say("Drawing … The first UMAP map takes a while.");
        found = await ask("/explore/map", body);
      }
      return () => show(found, body);
    } finally {
      button.disabled = false;
    }
  }, ["plane"], () => {
    plane.set([]);
    shown = null;
    say("");
  });
  for (const id of ["map-words", "map-texts"]) at(id).addEventListener("input", () => {
    dim(["plane"], true);
    say("The map shows the earlier input. Press Draw to update it.");
  });

  function show(found, body) {
    shown = page.model;
    const groups = [...new Set(found.points.map((point) => point.group).filter(Boolean))];
    for (const point of found.points) {
      point.hue = point.group ? groups.indexOf(point.group) : body.texts ? 0 : null;
      point.head = point.label === point.group;
    }
    plane.set(found.points);
    const held = found.shares ? `the two axes explain ${Math.round(100 * (found.shares[0] + found.shares[1]))}% of the variance` : "by UMAP";
    const lost = found.lacking?.length ? `; not on the map: ${found.lacking.join(", ")}` : found.left_out ? `; ${found.left_out} without a known word skipped` : "";
    const points = counted(found.points.length, body.texts ? "sentence" : "word");
    say(`${points}, ${held}${lost}.`);
    at("plane").setAttribute("aria-label", `Map of ${points}`);
    at("map-labels").replaceChildren(...found.points.slice(0, 1000).map((point) => make("option", { value: point.label })));
    at("map-list").replaceChildren(...found.points.slice(0, 1000).map((point) => make("button", { type: "button", class: "word", click: () => pick(point, true) }, point.label)));
  }

  if (page.settings.methods.includes("umap")) at("map-method").append(make("option", { value: "umap" }, "UMAP"));
  at("map-form").addEventListener("submit", (event) => {
    event.preventDefault();
    update();
  });
  at("map-form").addEventListener("change", (event) => {
    const texts = what() === "texts";
    at("map-texts-field").hidden = !texts;
    at("map-words-field").hidden = at("map-count-field").hidden = texts;
    if (event.target.type === "radio" || event.target.tagName === "SELECT") update();
  });
  at("map-find").addEventListener("change", () => {
    const wanted = at("map-find").value.trim().toLowerCase();
    const point = plane.points.find((one) => one.label.toLowerCase() === wanted)
      ?? plane.points.find((one) => wanted && one.label.toLowerCase().includes(wanted));
    if (point) pick(point, true);
    else say(wanted ? `${wanted} is not on this map.` : "");
  });
  at("zoom-in").addEventListener("click", () => plane.zoomBy(1.5));
  at("zoom-out").addEventListener("click", () => plane.zoomBy(1 / 1.5));
  at("zoom-all").addEventListener("click", () => plane.all());
  return { changed: () => shown !== page.model && update(), repaint: () => plane.draw() };
}
