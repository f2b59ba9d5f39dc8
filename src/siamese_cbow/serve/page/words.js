// Neighbours of a word or a text, and analogies.

import { ask, at, make, outdated, ranked, strangers, task } from "./kit.js";

export function setUp(page) {
  const rows = (found) => found.neighbours.map(({ word, cosine }) => ({ name: word, value: cosine }));

  const near = task(async () => {
    const text = at("neighbours-text").value.trim();
    if (!text) return null;
    const found = await ask("/neighbours", { text, k: 15, model: page.model });
    return () => at("neighbours-list").replaceChildren(...strangers(found.unknown ?? []), ranked(rows(found), `Words nearest to ${text}`, look, 4));
  }, ["neighbours-list"]);
  const look = (word) => {
    at("neighbours-text").value = word;
    at("neighbours-text").focus();
    near();
  };
  const alike = task(async () => {
    const [a, b, c] = ["a", "b", "c"].map((name) => at(`analogy-${name}`).value.trim());
    if (!a || !b || !c) return null;
    const found = await ask("/neighbours", { positive: [b, c], negative: [a], k: 8, model: page.model });
    return () => at("analogy-list").replaceChildren(...strangers(found.unknown ?? []), ranked(rows(found), `What is to ${c} as ${b} is to ${a}`, look, 4));
  }, ["analogy-list"]);

  outdated("neighbours-list", "neighbours-text");
  outdated("analogy-list", "analogy-a", "analogy-b", "analogy-c");
  at("neighbours-form").addEventListener("submit", (event) => {
    event.preventDefault();
    near();
  });
  at("analogy-form").addEventListener("submit", (event) => {
    event.preventDefault();
    alike();
  });
  // The two share one place for problems, so the second waits for the first and adds to it what it has to say.
  const both = async () => {
    at("neighbours-list").replaceChildren();
    at("analogy-list").replaceChildren(make("p", { class: "quiet" }, "Press Find."));
    await near();
    const words = ["a", "b", "c"].map((name) => at(`analogy-${name}`).value.trim());
    const known = await ask("/similarity", { a: words.join(" "), b: words.join(" "), explain: true, model: page.model });
    if (known.a.every((one) => one.norm !== null && !one.counts_as && !one.made_of)) await alike();
  };
  return { changed: both };
}
