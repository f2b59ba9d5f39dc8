// Two models side by side: the neighbours of the same words in each, those that both find in colour.

import { ask, at, firstWords, make, outdated, ranked, strangers, task } from "./kit.js";

export function setUp(page) {
  const lists = [at("compare-left"), at("compare-right")];
  for (const [i, list] of lists.entries()) page.fill(list, page.models[Math.min(i, page.models.length - 1)].id);
  page.lists.push(...lists);
  at("compare-note").hidden = lists[0].options.length > 1;

  const compare = task(async () => {
    const models = new Set();
    for (const list of lists) models.add(await page.chosen(list));
    return sideBySide([...models]);
  }, ["compare-list"]);

  const sideBySide = async (models) => {
    const [asked, cut] = firstWords(at("compare-words").value);
    const k = Number(at("compare-k").value);
    const found = await Promise.all(asked.map((word) => Promise.all(models.map((model) => near(word, model, k)))));
    return () => at("compare-list").replaceChildren(make("div", { class: "pairings" },
      ...asked.map((word, i) => pairing(word, models, found[i], page.look))), ...(cut ? [make("p", { class: "quiet" }, `${cut}.`)] : []),
      ...(models.length < 2 && lists[0].options.length > 1 ? [make("p", { class: "note" }, "Both sides are the same model; choose another one to compare.")] : []));
  };
  outdated("compare-list", "compare-words");
  at("compare-form").addEventListener("submit", (event) => {
    event.preventDefault();
    compare();
  });
  at("compare-form").addEventListener("change", compare);
  return { changed: compare };
}

async function near(word, model, k) {
  try {
    return await ask("/neighbours", { text: word, k, model });
  } catch (error) {
    return error; // a word that one model lacks is no reason to show nothing of the other
  }
}

function pairing(word, models, lists, look) {
  const [left, right = []] = lists.map((list) => (list instanceof Error ? [] : list.neighbours.map((one) => one.word)));
  const both = new Set(left.filter((one) => right.includes(one)));
  return make("section", { class: "pairing", "aria-label": word }, make("h3", {}, word),
    make("div", { class: "two" }, ...lists.map((list, i) => make("div", {}, make("h4", {}, models[i]),
      ...(list instanceof Error ? [] : strangers(list.unknown ?? [])),
      list instanceof Error
        ? make("p", { class: "quiet" }, list.message)
        : ranked(list.neighbours.map((one) => ({ name: one.word, value: one.cosine, shared: both.has(one.word) })), `${word} in ${models[i]}`, look, 4)))));
}
