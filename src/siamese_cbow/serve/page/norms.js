// Lengths of vectors by frequency: a band from the tenth to the ninth of ten words, the middle, some words as dots.

import { ask, at, clickable, firstWords, number, ranked, task } from "./kit.js";

const SVG = "http://www.w3.org/2000/svg";
const short = (value) => value.toLocaleString("en", { notation: "compact" });
const EDGE = { left: 44, right: 14, top: 14, bottom: 40 };

function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text != null) element.textContent = text;
  return element;
}

export function setUp(page) {
  let found = null;
  const paint = () => found && chart(found);

  const update = task(async () => {
    const [asked, cut] = firstWords(at("norms-words").value);
    const query = new URLSearchParams([["model", page.model], ...asked.map((word) => ["word", word])]);
    const answer = await ask(`/explore/norms?${query}`);
    return () => {
      found = answer;
      paint();
      for (const end of ["shortest", "longest"]) {
        const rows = found[end].map(({ word, norm }) => ({ name: word, value: norm, share: norm / found.longest[0].norm }));
        at(`norms-${end}`).replaceChildren(ranked(rows, `Words with the ${end} vectors`, page.look));
      }
      const known = new Set(found.found.map((one) => one.word.toLowerCase()));
      const lacking = asked.filter((word) => !known.has(word.toLowerCase()));
      const said = found.found.map((one) => [clickable(one.word, page.look), ` ${number(one.norm)}`]);
      if (lacking.length) said.push([`not in the vocabulary: ${lacking.join(", ")}`]);
      if (cut) said.push([cut]);
      at("norms-said").replaceChildren(...said.flatMap((parts, i) => (i ? [" · ", ...parts] : parts)));
    };
  }, ["norms-chart", "norms-said", "norms-shortest", "norms-longest"], (results) => {
    found = null;
    for (const id of results) at(id).replaceChildren();
  });
  at("norms-words").addEventListener("input", () => {
    at("norms-said").replaceChildren();
    if (found) found.found = []; // their dots and names go, the others stay true
    paint();
  });
  at("norms-form").addEventListener("submit", (event) => {
    event.preventDefault();
    update();
  });
  new ResizeObserver(paint).observe(at("norms-chart"));
  return { changed: update };
}

function chart({ axis, dots, bins, found }) {
  const box = at("norms-chart");
  const width = Math.max(300, box.clientWidth - 16), height = Math.max(260, Math.min(420, width * 0.5));
  const [low, high] = [Math.min(...dots.map((dot) => dot.at)), Math.max(...dots.map((dot) => dot.at), 2)];
  const top = Math.max(1e-6, ...dots.map((dot) => dot.norm), ...found.map((dot) => dot.norm)) * 1.06;
  const flip = axis === "rank" ? 1 : 0; // frequent words stand on the right, whatever the axis
  const x = (value) => {
    const share = Math.log(value / low) / Math.log(high / low);
    return EDGE.left + (width - EDGE.left - EDGE.right) * (flip ? 1 - share : share);
  };
  const y = (value) => height - EDGE.bottom - (height - EDGE.top - EDGE.bottom) * (value / top);
  const line = (points) => points.map(([h, v]) => `${x(h).toFixed(1)},${y(v).toFixed(1)}`).join(" L");

  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Vector length by ${axis}; the median goes from ${number(bins[0].middle)} to ${number(bins.at(-1).middle)}` });
  const step = roundStep(top / 7);
  for (let i = 0; i * step <= top; i += 1) {
    const tick = i * step;
    svg.append(draw("line", { class: "axis", x1: EDGE.left, x2: width - EDGE.right, y1: y(tick), y2: y(tick) }),
      draw("text", { x: EDGE.left - 8, y: y(tick) + 4, "text-anchor": "end" }, tick ? number(tick, step < 1 ? Math.ceil(-Math.log10(step)) : 0) : "0"));
  }
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power++) {
    svg.append(draw("text", { x: x(10 ** power), y: height - EDGE.bottom + 18, "text-anchor": "middle" }, short(10 ** power)));
  }
  svg.append(draw("text", { x: width - EDGE.right, y: height - 6, "text-anchor": "end" },
    axis === "count" ? "occurrences in the corpus →" : "← rank in the vocabulary"));
  for (const dot of dots) svg.append(titled(draw("circle", { class: "dot", cx: x(dot.at), cy: y(dot.norm), r: 2.2 }), dot));
  const up = bins.map((bin) => [bin.at, bin.high]), down = bins.map((bin) => [bin.at, bin.low]).reverse();
  svg.append(draw("path", { class: "band", d: `M${line([...up, ...down])}Z` }),
    draw("path", { class: "middle", d: `M${line(bins.map((bin) => [bin.at, bin.middle]))}` }));
  for (const dot of found) svg.append(titled(draw("circle", { class: "found", cx: x(dot.at), cy: y(dot.norm), r: 5.5 }), dot));
  const written = []; // one label above the other where they would meet
  for (const dot of found) {
    const right = x(dot.at) > width - 110;
    let level = y(dot.norm) + 5;
    while (written.some(([h, v]) => Math.abs(h - x(dot.at)) < 80 && Math.abs(v - level) < 15)) level -= 15;
    written.push([x(dot.at), level]);
    svg.append(
      draw("text", { class: "label", x: x(dot.at) + (right ? -9 : 9), y: level, "text-anchor": right ? "end" : "start" }, dot.word));
  }
  box.replaceChildren(svg);
}

function titled(element, dot) {
  element.append(draw("title", {}, `${dot.word}: length ${number(dot.norm)}`));
  return element;
}

/** The next of 1, 2, 5, 10, ... (and .1, .2, .5, ...): about seven lines, whatever the lengths. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((one) => one * power >= least);
}
