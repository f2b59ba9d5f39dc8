// The frame: models, theme, tabs. Each view is set up when it is first seen.

import { ask, at, make, problem, whole } from "./kit.js";

const VIEWS = ["sentences", "words", "map", "compare", "norms", "search"];
const THEMES = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" };
const page = { models: [], settings: {}, model: null, lists: [] };
const views = {};

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  at("theme").textContent = THEMES[name];
  at("theme").setAttribute("aria-label", `Theme: ${name}; switch`);
  localStorage.setItem("theme", name);
  for (const view of Object.values(views)) view.repaint?.();
}

async function show(name, focus = false) {
  for (const other of VIEWS) {
    const tab = at(`tab-${other}`);
    tab.setAttribute("aria-selected", String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    at(other).hidden = other !== name;
  }
  at("chosen").hidden = name === "compare"; // which has two of its own
  if (focus) at(`tab-${name}`).focus();
  at(`tab-${name}`).scrollIntoView({ block: "nearest", inline: "nearest" });
  problem(null);
  history.replaceState(null, "", `#${name}`);
  if (!views[name]) {
    const view = await import(`./${name}.js`);
    views[name] = view.setUp(page) ?? {};
  }
  views[name].changed?.();
}

function current() {
  const name = location.hash.slice(1);
  return VIEWS.includes(name) ? name : VIEWS[0];
}

function setUpTabs() {
  for (const [i, name] of VIEWS.entries()) {
    at(`tab-${name}`).addEventListener("click", () => show(name));
    at(`tab-${name}`).addEventListener("keydown", (event) => {
      const steps = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: VIEWS.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      show(VIEWS[(steps[event.key] + VIEWS.length) % VIEWS.length], true);
    });
  }
  addEventListener("hashchange", () => show(current()));
}

function choose(name) {
  page.model = name;
  const { n_words, dim, recipe } = page.models.find((model) => model.id === name);
  at("about").textContent = [`${whole(n_words)} words`, `${dim} dimensions`, recipe].filter(Boolean).join(" · ");
}

/** Fills a list of models; those that the server can load come last. */
page.fill = (list, chosen) => {
  const loadable = page.settings.loadable.map((name) => make("option", { value: name, "data-load": true }, name));
  list.replaceChildren(...page.models.map((model) => make("option", { value: model.id }, model.id)),
    ...(loadable.length ? [make("optgroup", { label: "Load" }, ...loadable)] : []));
  list.value = chosen;
};

/** The model chosen in a list, which the server loads first if need be. */
page.chosen = async (list) => {
  const name = list.value;
  if (!("load" in list.selectedOptions[0].dataset)) return name;
  at("about").textContent = `Loading ${name} …`;
  list.disabled = true;
  try {
    page.models = (await ask("/explore/load", { name })).data;
    page.settings = await ask("/explore/settings");
  } finally {
    list.disabled = false;
    choose(page.model);
  }
  const loaded = page.models.find((model) => model.id === name || model.id.startsWith(`${name}/`)).id;
  for (const other of page.lists) page.fill(other, other === list ? loaded : other.value);
  return loaded;
};

/** Shows the neighbours of a word that was clicked in another view. */
page.look = (word) => {
  at("neighbours-text").value = word;
  return show("words", true);
};

async function start() {
  setTheme(localStorage.getItem("theme") in THEMES ? localStorage.getItem("theme") : "auto");
  at("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    setTheme(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(localStorage.getItem("theme")));
  setUpTabs();
  try {
    page.models = (await ask("/v1/models")).data;
    page.settings = await ask("/explore/settings");
  } catch (error) {
    problem(error);
    return;
  }
  page.lists.push(at("model"));
  page.fill(at("model"), page.models[0].id);
  at("model").addEventListener("change", async () => {
    try {
      choose(await page.chosen(at("model")));
    } catch (error) {
      at("model").value = page.model;
      problem(error);
      return;
    }
    views[current()]?.changed?.();
  });
  choose(page.models[0].id);
  await show(current());
}

start();
