// A plane of labelled points on a canvas: move, zoom, point at. As many labels as there is room for.

const FAR = 14; // pixels within which a point is meant

export class Plane {
  constructor(canvas, { hovered, picked }) {
    Object.assign(this, { canvas, hovered, picked, points: [], zoom: 1, x: 0, y: 0, chosen: null, over: null });
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.listen();
  }

  set(points) {
    const [wide, high] = ["x", "y"].map((axis) => Math.max(1e-9, ...points.map((point) => Math.abs(point[axis]))));
    this.points = points.map((point) => ({ ...point, x: point.x / wide, y: point.y / high })); // fills the board either way
    this.chosen = this.over = null;
    this.all();
  }

  all() {
    Object.assign(this, { zoom: 1, x: 0, y: 0 });
    this.draw();
  }

  /** Where a point is, in pixels of the element. */
  place(point) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return [width / 2 + (point.x - this.x) * this.zoom * width * 0.44, height / 2 - (point.y - this.y) * this.zoom * height * 0.44];
  }

  zoomBy(factor, at = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const zoom = Math.min(80, Math.max(0.5, this.zoom * factor));
    const gain = (1 / this.zoom - 1 / zoom) / 0.44;
    this.x += ((at[0] - width / 2) / width) * gain;
    this.y -= ((at[1] - height / 2) / height) * gain;
    this.zoom = zoom;
    this.draw();
  }

  moveBy(dx, dy) {
    this.x -= dx / (this.zoom * this.canvas.clientWidth * 0.44);
    this.y += dy / (this.zoom * this.canvas.clientHeight * 0.44);
    this.draw();
  }

  choose(point, centre = false) {
    this.chosen = point;
    if (centre && point) Object.assign(this, { x: point.x, y: point.y, zoom: Math.max(this.zoom, 3) });
    this.draw();
  }

  near(x, y) {
    let best = null, least = FAR;
    for (const point of this.points) {
      const [px, py] = this.place(point);
      const away = Math.hypot(px - x, py - y);
      if (away < least) [best, least] = [point, away];
    }
    return best;
  }

  draw() {
    const { canvas } = this;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(canvas);
    const probe = (name) => colour(canvas, name);
    const look = { ink: probe("--ink"), soft: probe("--soft"), sheet: probe("--sheet"), accent: probe("--accent"),
      groups: [0, 1, 2, 3, 4, 5].map((i) => probe(`--c${i}`)), serif: style.getPropertyValue("--serif") };
    const inside = [];
    for (const point of this.points) {
      const [x, y] = this.place(point);
      if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
      inside.push({ point, x, y });
    }
    const labels = this.labels(pen, inside, look, width);
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeStyle = look.sheet;
    for (const { text, font, left, y } of labels) {
      pen.font = font;
      pen.strokeText(text, left, y + 4);
    }
    for (const { point, x, y } of inside) {
      pen.globalAlpha = point.hue == null ? 0.45 : 1;
      pen.fillStyle = point.hue == null ? look.soft : look.groups[point.hue % 6];
      pen.beginPath();
      pen.arc(x, y, point === this.chosen ? 6 : point.hue == null ? 2.4 : 3.6, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
    for (const { text, font, colour, left, y } of labels) {
      pen.font = font;
      pen.fillStyle = colour;
      pen.fillText(text, left, y + 4);
    }
  }

  /** Labels in order of importance; one that would cover another is left out. */
  labels(pen, inside, look, width) {
    const rank = ({ point }) => (point === this.chosen || point === this.over ? 0 : point.head ? 1 : point.hue != null ? 2 : 3);
    const taken = [], labels = [];
    for (const { point, x, y } of inside.sort((a, b) => rank(a) - rank(b))) {
      const strong = rank({ point }) < 2;
      const font = (pen.font = `${strong ? "600 16px" : "14px"} ${look.serif}`);
      const text = point.label.length > 42 ? `${point.label.slice(0, 40)}…` : point.label;
      const long = pen.measureText(text).width;
      const left = x + 8 + long > width ? x - 8 - long : x + 7;
      const box = [left - 2, y - 10, left + long + 2, y + 8];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      const colour = point.hue == null ? (strong ? look.ink : look.soft) : look.groups[point.hue % 6];
      labels.push({ text, font, colour, left, y });
    }
    return labels;
  }

  listen() {
    const { canvas } = this;
    const down = new Map(); // pointers on the canvas: one moves, two zoom
    let moved = 0;
    const spot = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, spot(event));
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = down.get(event.pointerId), now = spot(event);
      if (!before) {
        this.over = this.near(...now);
        this.hovered(this.over, now);
        return;
      }
      down.set(event.pointerId, now);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
      if (!other) this.moveBy(now[0] - before[0], now[1] - before[1]);
      else this.zoomBy(Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.hypot(before[0] - other[0], before[1] - other[1]), other);
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => down.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.hovered((this.over = null), null));
    canvas.addEventListener("click", (event) => moved < 6 && this.picked(this.near(...spot(event))));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * 0.0016), spot(event));
    }, { passive: false });
    const keys = { ArrowLeft: () => this.moveBy(40, 0), ArrowRight: () => this.moveBy(-40, 0), ArrowUp: () => this.moveBy(0, 40),
      ArrowDown: () => this.moveBy(0, -40), "+": () => this.zoomBy(1.3), "=": () => this.zoomBy(1.3), "-": () => this.zoomBy(1 / 1.3),
      0: () => this.all() };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}

/** What a custom property comes to: a canvas does not understand light-dark(). */
function colour(element, name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  element.parentElement.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
