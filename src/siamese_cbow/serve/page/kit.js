// What all views share: asking the server, making elements, writing numbers.

const KEY = "siamese-cbow key";

/** The element with an id. */
export const at = (id) => document.getElementById(id);

/** make("li", {class: "x", "--share": .5}, "text", child): an element; names with -- become custom properties. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("--")) element.style.setProperty(key, value);
    else if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== false && value != null) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** number(-.0312) -> "−0.03"; with a true minus. */
export function number(value, digits = 2) {
  const shown = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(shown) !== 0 ? "−" : "") + shown;
}

export const whole = (value) => value.toLocaleString("en");

/** counted(1, "word") -> "1 word"; counted(2000, "word") -> "2,000 words" */
export const counted = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;

/** "a, b ,," -> ["a", "b"] */
export const words = (text) => text.split(/[,;\n]/).map((word) => word.trim()).filter(Boolean);

const MOST_WORDS = 12;

/** The words of a list that a view has room for, each once, and what to say of the others: [["a", "b"], ""] */
export function firstWords(text) {
  const all = [...new Set(words(text))];
  return [all.slice(0, MOST_WORDS), all.length > MOST_WORDS ? `only the first ${MOST_WORDS} of ${all.length} words are shown` : ""];
}

/** Asks the server; body null is a GET. Throws an Error with the server's own words. */
export async function ask(path, body = null) {
  const headers = {};
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  } catch {
    throw new Error("The server does not answer. Is it running?");
  }
  if (answer.status === 401) {
    await askForKey();
    return ask(path, body);
  }
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error.message);
  return content;
}

let waiting = null;
function askForKey() {
  waiting ??= new Promise((resolve) => {
    const dialog = at("key-dialog");
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEY, at("key").value);
      at("key").value = "";
      waiting = null;
      resolve();
    }, { once: true });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
  });
  return waiting;
}

/** Shows what went wrong, or with null that nothing did. */
export function problem(error) {
  at("problem").hidden = !error;
  at("problem").textContent = error ? error.message : "";
}

/** Dims results that belong to an earlier input, until new ones replace them. */
export function dim(results, isOld) {
  for (const id of results) {
    at(id).classList.toggle("old", isOld);
    at(id).setAttribute("aria-busy", String(isOld));
  }
}

const empty = (results) => results.forEach((id) => at(id).replaceChildren());

/**
 * A function that runs work and shows its error; of several calls at once only the last one counts. Earlier results, the
 * elements with these ids, are dimmed meanwhile, and after an error they are cleared.
 */
export function task(work, results = [], clear = empty) {
  let last = 0;
  return async (...parameters) => {
    const mine = ++last;
    dim(results, true);
    try {
      const show = await work(...parameters);
      if (mine !== last) return;
      problem(null);
      show?.();
    } catch (error) {
      if (mine !== last) return;
      clear(results);
      problem(error);
    }
    dim(results, false);
  };
}

/** A word to click, which leads to its neighbours. */
export const clickable = (word, look) => make("button", { type: "button", class: "word", click: () => look(word) }, word);

/** Words to click, with a mark between them: "a, b" */
export const clickables = (list, look, mark = ", ") => list.flatMap((word, i) => [...(i ? [mark] : []), clickable(word, look)]);

/** What stands in for a word outside the vocabulary, in words; null for a known one. */
export function origin({ norm, counts_as, made_of }) {
  if (norm === null) return "not in the vocabulary, ignored";
  if (counts_as) return `not in the vocabulary; ${counts_as} stands in`;
  return made_of ? `not in the vocabulary; ${made_of}` : null;
}

/** A paragraph about the unknown words among some, each once; nothing if all are known. */
export function strangers(list, id = null) {
  const lines = new Map(list.filter(origin).map((one) => [one.word, `${one.word}: ${origin(one)}`]));
  return lines.size ? [make("p", { class: "quiet strangers", id }, [...lines.values()].join(" · "))] : [];
}

/** Empties a list of results as soon as one of the inputs changes: it never stands under a question it does not answer. */
export function outdated(list, ...inputs) {
  for (const id of inputs) at(id).addEventListener("input", () => at(list).replaceChildren());
}

/** The same function, called once typing has paused. */
export function later(work, wait = 180) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, wait);
  };
}

/** A list with bars: rows are {name, value, share, shared}; pick is called with the name that was clicked. */
export function ranked(rows, label, pick, digits = 2) {
  return make("ol", { class: "ranked", "aria-label": label }, ...rows.map((row) => make("li", {},
    make("button", { type: "button", class: row.shared ? "name shared" : "name", click: () => pick(row.name) }, row.name),
    make("span", { class: row.value < 0 ? "bar less" : "bar", "aria-hidden": "true" },
      make("i", { "--share": Math.min(1, Math.abs(row.share ?? row.value)) })),
    make("span", { class: "number" }, number(row.value, digits)))));
}
