// The report: network, table and matrix from the numbers in #data; no library, no request.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const { names, order, units } = data;
  const p = names.length;
  const MINUS = "\u2212", PAGE = 25, SHORT = 22;
  const MOST_HITS = 900, MOST_LABELS = 40, MOST_VALUES = 24, MOST_DRAWN = 2500;

  // ---------------------------------------------------------------- numbers
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const words = (text, Kind) => { const raw = bytes(text); return new Kind(raw.buffer, 0, raw.length / 2); };
  const correlations = (text) => text === null ? null : Float32Array.from(words(text, Int16Array), (v) => v === data.none ? NaN : v / units);
  const estimate = correlations(data.estimate), lower = correlations(data.lower), upper = correlations(data.upper);
  const evidence = data.evidence === null ? null : words(data.evidence, Uint16Array);
  const sureBits = bytes(data.sure);
  const pairOf = (i, j) => i < j ? i * (2 * p - i - 1) / 2 + j - i - 1 : pairOf(j, i);
  // The edges of a category of several columns have no sign.
  const unsigned = new Uint8Array(p * (p - 1) / 2);
  for (let i = 0; i < p; i += 1) for (let j = i + 1; j < p; j += 1) unsigned[pairOf(i, j)] = data.widths[i] > 1 || data.widths[j] > 1 ? 1 : 0;
  const isSure = (k) => (sureBits[k >> 3] >> (k & 7) & 1) === 1;
  const path = data.path.map((point) => {
    const i = words(point.i, Uint16Array), j = words(point.j, Uint16Array), r = correlations(point.r);
    return Array.from(i, (a, k) => ({ i: a, j: j[k], r: r[k], pair: pairOf(a, j[k]) }));
  });
  const signed = (v, digits = 2) => (v < 0 ? MINUS : "+") + Math.abs(v).toFixed(digits);
  const shownAs = (v, pair) => unsigned[pair] ? v.toFixed(2) : signed(v);
  const plain = (v) => v.toFixed(4);
  const short = (name) => { const c = Array.from(name); return c.length > SHORT ? c.slice(0, SHORT - 1).join("") + "\u2026" : name; };
  const interval = (k) => lower === null || Number.isNaN(lower[k]) ? "no interval" : shownAs(lower[k], k) + " to " + shownAs(upper[k], k);
  const chance = (k) => lower === null || Number.isNaN(lower[k]) ? "" : evidence[k] > 64999 ? ", p < 1e-65" : evidence[k] < 3000 ? `, p = ${(10 ** (-evidence[k] / 1000)).toFixed(3)}` : `, p = ${(10 ** (-evidence[k] / 1000)).toExponential(1)}`;
  const noise = (k) => isSure(k) ? "unlikely" : "could be";
  const doubt = (k) => isSure(k) ? "" : ", could be noise";

  // ---------------------------------------------------------------- state
  const anySure = path[data.chosen].some((e) => isSure(e.pair));  // where none is, hiding the rest would leave nothing to see
  const state = { point: data.chosen, least: 0, onlySure: anySure, main: true, held: -1, allPairs: false, find: "", sort: "noise", up: true, page: 0 };
  const main = new Set(data.main);
  const isDrawn = (e) => Math.abs(e.r) >= state.least && (!state.onlySure || isSure(e.pair));
  const shown = () => path[state.point].filter(isDrawn);
  const drawable = () => state.main && state.onlySure ? shown().filter((e) => main.has(e.pair)) : shown();

  // ---------------------------------------------------------------- the network
  const svg = byId("network"), stage = byId("stage"), tip = byId("tip");
  const NS = "http://www.w3.org/2000/svg";
  const make = (tag, parent, attributes = {}) => {
    const element = document.createElementNS(NS, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  };
  const lines = make("g", svg, { "aria-hidden": "true" }), values = make("g", svg, { "aria-hidden": "true" }), dots = make("g", svg);
  const RADIUS = 7, LINE = 15;
  let drawn = [], layout = null, places = [], moved = new Set(), zoom = 1, counted = "";

  const nodes = order.map((k, rank) => {
    const g = make("g", dots, { class: "node", tabindex: rank ? "-1" : "0", role: "button", "aria-pressed": "false" });
    make("circle", g, { class: "ring", r: RADIUS + 5 });
    make("circle", g, { r: RADIUS });
    make("text", g);
    g.dataset.column = k;
    return g;
  });
  const nodeOf = [];
  nodes.forEach((g) => { nodeOf[g.dataset.column] = g; });

  // Python has laid out the network for two widths: nodes, names and the bends of lines (graphveil/_graph_layout.py).
  function lay(next) {
    layout = next;
    places = layout.nodes.map((place) => place.slice());
    moved = new Set();
    svg.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    for (let k = 0; k < p; k += 1) {
      const text = nodeOf[k].lastElementChild, [x, y] = layout.names[k], [cx, cy] = layout.nodes[k], rows = layout.lines[k];
      text.replaceChildren(...rows.map((row, at) => {
        const span = document.createElementNS(NS, "tspan");
        span.setAttribute("x", (x - cx).toFixed(1));
        span.setAttribute("y", (y - cy + LINE * (at + 0.5 - rows.length / 2) + 4.5).toFixed(1));
        span.textContent = row;
        return span;
      }));
      putNode(k);
    }
  }
  function putNode(k) {
    nodeOf[k].setAttribute("transform", `translate(${places[k][0].toFixed(1)} ${places[k][1].toFixed(1)})`);
  }
  function putEdge(e) {
    const [x1, y1] = places[e.i], [x2, y2] = places[e.j];
    const bend = moved.has(e.i) || moved.has(e.j) ? 0 : layout.bends[`${e.i},${e.j}`] || 0;
    const [mx, my] = [(x1 + x2) / 2 + bend * (y1 - y2), (y1 + y2) / 2 + bend * (x2 - x1)];
    const [qx, qy] = [2 * mx - (x1 + x2) / 2, 2 * my - (y1 + y2) / 2];
    const d = `M${x1.toFixed(1)} ${y1.toFixed(1)}${bend ? `Q${qx.toFixed(1)} ${qy.toFixed(1)} ` : "L"}${x2.toFixed(1)} ${y2.toFixed(1)}`;
    e.line.setAttribute("d", d);
    if (e.hit) e.hit.setAttribute("d", d);
    if (e.value) { e.value.setAttribute("x", mx.toFixed(1)); e.value.setAttribute("y", (my + 4).toFixed(1)); }
  }
  // A number stands on its line, where no other number and no name is.
  function putValues(edges) {
    const taken = layout.names.map(([x, y]) => [x, y, 60, 16]);
    for (const e of edges) if (e.value) {
      const length = e.line.getTotalLength();
      const spots = [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73].map((part) => e.line.getPointAtLength(part * length));
      const spot = spots.find((at) => taken.every(([x, y, wide, high]) => Math.abs(at.x - x) > wide || Math.abs(at.y - y) > high));
      if (!spot) { e.value.remove(); e.value = null; continue; }
      taken.push([spot.x, spot.y, 36, 14]);
      e.value.setAttribute("x", spot.x.toFixed(1)); e.value.setAttribute("y", (spot.y + 4).toFixed(1));
    }
  }
  function neighbours(k) {
    return drawn.filter((e) => e.i === k || e.j === k).sort((a, b) => Math.abs(b.r) - Math.abs(a.r)).map((e) => [e.i === k ? e.j : e.i, e]);
  }
  function said(k) {
    const near = neighbours(k);
    const list = near.slice(0, 8).map(([other, e]) => `${names[other]} ${shownAs(e.r, e.pair)}${doubt(e.pair)}`);
    const more = near.length > 8 ? `, and ${near.length - 8} more` : "";
    return `${names[k]}: ${near.length} ${near.length === 1 ? "edge" : "edges"}${near.length ? ": " : ""}${list.join("; ")}${more}`;
  }
  function drawNetwork() {
    const edges = drawable().sort((a, b) => Math.abs(a.r) - Math.abs(b.r)).slice(-MOST_DRAWN), thin = edges.length > 200 ? 0.6 : 1;
    lines.replaceChildren(); values.replaceChildren();
    drawn = edges.map((e) => {
      const sure = isSure(e.pair), strength = Math.min(Math.abs(e.r), 1);
      const kind = !sure ? "unsure" : unsigned[e.pair] ? "joint" : e.r < 0 ? "negative" : "positive";
      const line = make("path", lines, { class: "edge " + kind, "stroke-width": (thin * (sure ? 1.2 + 9 * strength : 1.4 + 3 * strength)).toFixed(2) });
      return { ...e, line };
    });
    for (const e of drawn) if (drawn.length <= MOST_HITS) {
      e.hit = make("path", lines, { class: "hit" });
      e.hit.addEventListener("pointerenter", (event) => showTip(`${names[e.i]} \u2014 ${names[e.j]}\nin the network ${shownAs(e.r, e.pair)}\nestimate ${shownAs(estimate[e.pair], e.pair)}, ${interval(e.pair)}${doubt(e.pair)}`, event));
      e.hit.addEventListener("pointerleave", hideTip);
    }
    const room = drawn.filter((e) => isSure(e.pair));
    if (room.length <= MOST_VALUES && layout === data.layouts.wide) for (const e of room) {
      e.value = make("text", values, { class: "value" });
      e.value.textContent = shownAs(estimate[e.pair], e.pair);
    }
    drawn.forEach(putEdge);
    putValues(room);
    const degree = new Array(p).fill(0);
    for (const e of drawn) { degree[e.i] += 1; degree[e.j] += 1; }
    nodes.forEach((g) => {
      const k = +g.dataset.column;
      g.setAttribute("aria-label", said(k));
      g.classList.toggle("alone", degree[k] === 0);
    });
    const all = path[state.point].length, unsure = path[state.point].filter((e) => !isSure(e.pair)).length;
    const cut = drawn.length < shown().length ? `; the strongest ${drawn.length} are drawn` : "";
    counted = `${shown().length} of ${all} ${all === 1 ? "edge" : "edges"} at this penalty shown; ${unsure} ${state.onlySure ? "that could be noise hidden" : "could be noise"}${cut}.`;
    byId("more").hidden = !state.onlySure || path[data.chosen].filter((e) => isSure(e.pair)).length <= main.size;
    byId("more").textContent = state.main ? "Show more" : "Show the strongest";
    highlight();
  }
  function highlight() {
    byId("count").textContent = state.held < 0 ? counted : said(state.held);
    const near = new Set(state.held < 0 ? [] : [state.held, ...neighbours(state.held).map(([other]) => other)]);
    nodes.forEach((g) => {
      const k = +g.dataset.column;
      g.classList.toggle("dim", near.size > 0 && !near.has(k));
      g.classList.toggle("near", near.size > 0 && near.has(k));
      g.classList.toggle("held", k === state.held);
      g.setAttribute("aria-pressed", String(k === state.held));
    });
    for (const e of drawn) {
      const dim = state.held >= 0 && e.i !== state.held && e.j !== state.held;
      e.line.classList.toggle("dim", dim);
      if (e.value) e.value.classList.toggle("dim", dim);
    }
  }
  function showTip(text, event) {
    tip.textContent = text;
    tip.hidden = false;
    const box = stage.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const left = Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 4));
    const top = y + 18 + tip.offsetHeight > box.height ? Math.max(4, y - tip.offsetHeight - 10) : y + 18;
    tip.style.transform = `translate(${left}px, ${top}px)`;
  }
  function hideTip() { tip.hidden = true; }
  function moveNode(k, x, y) {
    places[k] = [Math.min(layout.width - 8, Math.max(8, x)), Math.min(layout.height - 8, Math.max(8, y))];
    moved.add(k);
    putNode(k);
    drawn.filter((e) => e.i === k || e.j === k).forEach(putEdge);
  }
  function hold(k) { state.held = state.held === k ? -1 : k; highlight(); }
  nodes.forEach((g, rank) => {
    const k = +g.dataset.column;
    let from = null;
    g.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY, false]; g.setPointerCapture(event.pointerId); hideTip(); });
    g.addEventListener("pointermove", (event) => {
      if (!from) { showTip(said(k).replace(": ", "\n").replaceAll("; ", "\n"), event); return; }
      if (Math.hypot(event.clientX - from[0], event.clientY - from[1]) > 3) from[2] = true;
      if (!from[2]) return;
      const box = svg.getBoundingClientRect(), scale = layout.width / box.width;
      moveNode(k, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    });
    g.addEventListener("pointerup", () => { if (from && !from[2]) hold(k); from = null; });
    g.addEventListener("pointercancel", () => { from = null; });
    g.addEventListener("pointerleave", hideTip);
    g.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (step && event.shiftKey) { moveNode(k, places[k][0] + 14 * step[0], places[k][1] + 14 * step[1]); }
      else if (step) {
        const next = nodes[(rank + (step[0] + step[1] > 0 ? 1 : p - 1)) % p];
        g.setAttribute("tabindex", "-1"); next.setAttribute("tabindex", "0"); next.focus();
      } else if (event.key === "Enter" || event.key === " ") hold(k);
      else if (event.key === "Escape") { state.held = -1; highlight(); }
      else return;
      event.preventDefault();
    });
  });
  svg.addEventListener("pointerdown", (event) => { if (event.target === svg) { state.held = -1; highlight(); } });

  // ---------------------------------------------------------------- the table
  const table = byId("edges"), head = table.tHead.rows[0], body = table.tBodies[0];
  const end = (values) => {
    const given = (e, known, none) => Number.isNaN(values[e.pair]) ? none : known(values[e.pair], e.pair);
    return { of: (e) => given(e, (v) => v, -Infinity), text: (e) => given(e, shownAs, "\u2013"), csv: (e) => given(e, plain, ""), kind: "number" };
  };
  const columns = [
    { key: "first", title: "Variable", of: (e) => names[e.i], kind: "name" },
    { key: "second", title: "and", of: (e) => names[e.j], kind: "name" },
    { key: "size", title: "Estimate", of: (e) => Math.abs(estimate[e.pair]), text: (e) => shownAs(estimate[e.pair], e.pair), csv: (e) => plain(estimate[e.pair]), kind: "number" },
    { key: "noise", title: "Noise?", of: (e) => (isSure(e.pair) ? -100000 : 0) - (evidence === null ? 0 : evidence[e.pair]), text: (e) => noise(e.pair) + chance(e.pair), csv: (e) => noise(e.pair), kind: "word" },
    ...(lower === null ? [] : [
      { key: "lower", title: "from", ...end(lower) }, { key: "upper", title: "to", ...end(upper) }]),
    { key: "network", title: "In the network", of: (e) => Math.abs(e.r), text: (e) => e.apart ? "\u2013" : shownAs(e.r, e.pair), csv: (e) => plain(e.r), kind: "number" },
  ];
  const collator = new Intl.Collator(undefined, { numeric: true });
  for (const column of columns) {
    const cell = document.createElement("th"), button = document.createElement("button");
    cell.scope = "col"; cell.className = column.kind; cell.dataset.key = column.key; cell.setAttribute("role", "columnheader"); button.type = "button"; button.textContent = column.title;
    button.addEventListener("click", () => {
      state.up = state.sort === column.key ? !state.up : column.kind === "name" || column.key === "noise";
      state.sort = column.key; state.page = 0; drawTable();
    });
    cell.append(button); head.append(cell);
  }
  function listed() {
    let edges = shown();
    if (state.allPairs) {
      const found = new Map(edges.map((e) => [e.pair, e]));
      edges = [];
      for (let i = 0; i < p; i += 1) for (let j = i + 1; j < p; j += 1) {
        const pair = pairOf(i, j);
        edges.push(found.get(pair) || { i, j, r: 0, pair, apart: true });
      }
    }
    if (state.find) {
      const wanted = state.find.toLowerCase(), fits = names.map((name) => name.toLowerCase().includes(wanted));
      edges = edges.filter((e) => fits[e.i] || fits[e.j]);
    }
    const column = columns.find((c) => c.key === state.sort), way = state.up ? 1 : -1;
    const compare = column.kind === "name" ? (a, b) => collator.compare(column.of(a), column.of(b)) : (a, b) => column.of(a) - column.of(b);
    return edges.sort((a, b) => way * compare(a, b) || Math.abs(estimate[b.pair]) - Math.abs(estimate[a.pair]));
  }
  function drawTable(rows = PAGE) {
    const edges = listed(), pages = Math.max(1, Math.ceil(edges.length / rows));
    state.page = Math.min(state.page, pages - 1);
    columns.forEach((column, k) => {
      if (column.key === state.sort) head.cells[k].setAttribute("aria-sort", state.up ? "ascending" : "descending");
      else head.cells[k].removeAttribute("aria-sort");
    });
    body.replaceChildren(...edges.slice(state.page * rows, (state.page + 1) * rows).map((e) => {
      const row = document.createElement("tr");
      row.setAttribute("role", "row");
      if (!isSure(e.pair)) row.className = "unsure";
      for (const column of columns) {
        const cell = document.createElement("td");
        cell.className = column.kind; cell.dataset.key = column.key; cell.setAttribute("role", "cell");
        const text = (column.text || column.of)(e);
        if (column.kind === "name") {
          const clipped = document.createElement("div");  // a name of three hundred letters must not fill the page
          clipped.textContent = text; clipped.title = text; cell.append(clipped);
        } else cell.textContent = text;
        row.append(cell);
      }
      return row;
    }));
    byId("where").textContent = edges.length ? `${state.page * rows + 1} to ${Math.min((state.page + 1) * rows, edges.length)} of ${edges.length}` : "no edges";
    byId("back").disabled = state.page === 0;
    byId("next").disabled = state.page >= pages - 1;
  }
  // An apostrophe goes before what a spreadsheet would take for a formula, wherever a cell could begin; see escaping.py.
  const harmless = (text) => text.replace(/[\t\r=+\-@\uff1d\uff0b\uff0d\uff20]/g, (sign, k) => k === 0 || '\t\n\r",;|'.includes(text[k - 1]) ? "'" + sign : sign);
  const quoted = (text) => `"${harmless(String(text)).replaceAll('"', '""')}"`;
  function csv() {
    const rows = listed().map((e) => columns.map((c) => c.kind === "name" ? quoted(c.of(e)) : c.csv ? c.csv(e) : c.text(e)).join(","));
    return ["variable,and," + columns.slice(2).map((c) => c.title.toLowerCase().replace("?", "").replaceAll(" ", "_")).join(","), ...rows].join("\n") + "\n";
  }
  async function copy() {
    const text = csv(), count = listed().length;
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch { /* a file has no clipboard in some browsers */ }
    if (!done) {
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select();
      done = document.execCommand("copy"); area.remove();
    }
    byId("copied").textContent = done ? `${count} ${count === 1 ? "edge" : "edges"} copied` : "The browser does not allow copying";
  }

  // ---------------------------------------------------------------- the matrix
  const canvas = byId("matrix"), cursor = { row: Math.min(1, p - 1), column: 0, on: false };
  const LABEL = "12px system-ui, sans-serif";
  let cellSize = 1, labelRoom = 0;
  const strongest = Math.max(0.05, estimate.reduce((most, v) => Math.max(most, Math.abs(v)), 0));
  byId("scale-low").textContent = signed(-strongest); byId("scale-high").textContent = signed(strongest);
  function colours() {
    const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
    return { plus: of("--plus"), minus: of("--minus"), joint: of("--joint"), faint: of("--faint"), ink: of("--ink"), soft: of("--soft"), accent: of("--accent"), panel: of("--panel") };
  }
  function drawMatrix() {
    const room = canvas.parentElement.clientWidth - 40, ratio = window.devicePixelRatio || 1;
    const context = canvas.getContext("2d"), colour = colours();
    context.font = LABEL;
    const longest = Math.max(...names.map((name) => context.measureText(name).width));
    labelRoom = p <= 40 ? Math.min(140, room * 0.28, longest + 12) : 0;
    cellSize = Math.max((Math.min(room, 680) - labelRoom) / p, 0.5);
    const side = labelRoom + cellSize * p;
    canvas.width = Math.round(side * ratio); canvas.height = Math.round(side * ratio);
    canvas.style.width = side + "px"; canvas.style.height = side + "px";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const network = new Map(shown().map((e) => [e.pair, e.r]));
    context.font = `${Math.min(12, Math.max(8, cellSize * 0.36))}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    for (let row = 0; row < p; row += 1) for (let column = 0; column < p; column += 1) {
      const x = labelRoom + column * cellSize, y = labelRoom + row * cellSize, gap = cellSize > 6 ? 1 : 0;
      context.globalAlpha = 1;
      if (row === column) { context.fillStyle = colour.faint; context.fillRect(x, y, cellSize - gap, cellSize - gap); continue; }
      const pair = pairOf(order[row], order[column]), value = row > column ? estimate[pair] : network.get(pair) || 0;
      if (gap) { context.globalAlpha = 0.35; context.fillStyle = colour.faint; context.fillRect(x, y, cellSize - gap, cellSize - gap); }
      context.globalAlpha = Math.min(1, Math.abs(value) / strongest);
      context.fillStyle = unsigned[pair] ? colour.joint : value < 0 ? colour.minus : colour.plus;
      context.fillRect(x, y, cellSize - gap, cellSize - gap);
      if (value < 0 && cellSize >= 7) {
        context.globalAlpha = 0.55; context.strokeStyle = colour.ink; context.lineWidth = 1;
        context.beginPath(); context.moveTo(x + cellSize * 0.12, y + cellSize * 0.88); context.lineTo(x + cellSize * 0.34, y + cellSize * 0.66); context.stroke();
      }
      if (cellSize >= 34 && value !== 0) {
        context.globalAlpha = 1; context.textAlign = "center";
        context.fillStyle = Math.abs(value) > 0.6 * strongest ? colour.panel : colour.ink;
        context.fillText(Math.abs(value) < 0.005 ? "\u00b7" : shownAs(value, pair).replace("0.", "."), x + cellSize / 2, y + cellSize / 2);
      }
    }
    context.globalAlpha = 1; context.fillStyle = colour.soft;
    if (cellSize >= 12) context.font = LABEL;
    if (labelRoom) for (let k = 0; k < p; k += 1) {
      const middle = labelRoom + (k + 0.5) * cellSize, text = fitted(context, names[order[k]], labelRoom - 8);
      context.textAlign = "right"; context.fillText(text, labelRoom - 6, middle);
      context.save(); context.translate(middle, labelRoom - 6); context.rotate(-Math.PI / 2); context.textAlign = "left"; context.fillText(text, 0, 0); context.restore();
    }
    if (cursor.on) {
      context.strokeStyle = colour.accent; context.lineWidth = 2;
      context.strokeRect(labelRoom + cursor.column * cellSize - 1, labelRoom + cursor.row * cellSize - 1, Math.max(cellSize, 4) + 1, Math.max(cellSize, 4) + 1);
    }
  }
  function fitted(context, text, room) {
    const letters = Array.from(text).slice(0, 60);
    if (context.measureText(text).width <= room) return text;
    while (letters.length > 1 && context.measureText(letters.join("") + "\u2026").width > room) letters.pop();
    return letters.join("") + "\u2026";
  }
  function sayCell() {
    const a = order[cursor.row], b = order[cursor.column], k = a === b ? -1 : pairOf(a, b);
    const edge = path[state.point].find((e) => e.pair === k);
    byId("cell").textContent = k < 0 ? names[a] : `${names[a]} \u2014 ${names[b]}: estimate ${shownAs(estimate[k], k)}, ${interval(k)}${doubt(k)}; ${edge ? "in the network " + shownAs(edge.r, k) : "no edge"}.`;
  }
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - labelRoom) / cellSize), row = Math.floor((event.clientY - box.top - labelRoom) / cellSize);
    if (row < 0 || column < 0 || row >= p || column >= p) return;
    cursor.row = row; cursor.column = column; sayCell();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    cursor.row = Math.min(p - 1, Math.max(0, cursor.row + step[0])); cursor.column = Math.min(p - 1, Math.max(0, cursor.column + step[1]));
    event.preventDefault(); drawMatrix(); sayCell();
  });
  canvas.addEventListener("focus", () => { cursor.on = canvas.matches(":focus-visible"); drawMatrix(); if (cursor.on) sayCell(); });
  canvas.addEventListener("blur", () => { cursor.on = false; drawMatrix(); });

  // ---------------------------------------------------------------- regressions
  const outcome = byId("outcome");
  if (outcome) {
    const numbers = (text) => { const raw = bytes(text); return new Float32Array(raw.buffer, 0, raw.length / 4); };
    const { coef, lower: low, upper: high, standard, fit, tests } = Object.fromEntries(Object.entries(data.regressions).map(([k, v]) => [k, numbers(v)]));
    const digits = (v) => Number.isFinite(v) ? (v < 0 ? MINUS : "") + Math.abs(v).toPrecision(3) : "\u2013";
    const { columns: terms, widths } = data, q = terms.length;
    const first = widths.map((_, k) => widths.slice(0, k).reduce((sum, width) => sum + width, 0));
    const line = (cells, unsure) => {
      const row = document.createElement("tr");
      if (unsure) row.className = "unsure";
      cells.forEach((text, place) => {
        const cell = document.createElement(place ? "td" : "th");
        if (place) cell.className = "number"; else cell.scope = "row";
        cell.textContent = text; row.append(cell);
      });
      return row;
    };
    terms.forEach((name, k) => { const option = document.createElement("option"); option.value = k; option.textContent = short(name); outcome.append(option); });
    const fill = () => {
      const y = +outcome.value, size = (k) => Math.abs(standard[y * q + k]);
      const groups = order.filter((v) => y < first[v] || y >= first[v] + widths[v]).map((v) => [v, Array.from({ length: widths[v] }, (_, k) => first[v] + k)]);
      const largest = ([, group]) => Math.max(...group.map(size));
      byId("fit-said").textContent = `${terms[y]} on all other variables: R\u00b2 ` + (Number.isFinite(fit[3 * y + 1]) ? `= ${fit[3 * y].toFixed(3)} (${fit[3 * y + 1].toFixed(3)} to ${fit[3 * y + 2].toFixed(3)})` : `not determined (estimate: ${fit[3 * y].toFixed(2)})`);
      byId("regression").tBodies[0].replaceChildren(...groups.sort((a, b) => largest(b) - largest(a)).flatMap(([v, group]) => {
        const at = (k) => y * q + k, rows = group.map((k) => line([terms[k], coef, low, high, standard].map((of, place) => place ? digits(of[at(k)]) : of), !(low[at(k)] > 0 || high[at(k)] < 0)));
        if (group.length === 1) return rows;
        const [chi2, chance] = [0, 1].map((k) => tests[2 * (y * p + v) + k]);
        const said = Number.isFinite(chi2) ? `\u03c7\u00b2(${group.length}) = ${chi2.toFixed(1)}, p ${chance < 0.001 ? "< 0.001" : "= " + chance.toFixed(3)}` : "no test";
        const joint = line([names[v], said], !(chance < 0.05));
        joint.classList.add("joint");
        joint.lastElementChild.colSpan = 4;
        for (const row of rows) row.classList.add("level");
        return [joint, ...rows];
      }));
    };
    outcome.addEventListener("change", fill);
    fill();
  }

  // ---------------------------------------------------------------- controls
  const penalty = byId("penalty"), least = byId("least"), onlySure = byId("only-sure");
  penalty.max = path.length - 1;
  penalty.disabled = path.length < 2;
  function draw() {
    const scale = data.scales[state.point], chosen = state.point === data.chosen;
    const words_ = chosen ? "(as chosen on the release)" : `(penalty ${scale < 10 ? scale.toFixed(2) : Math.round(scale)} times the chosen)`;
    byId("penalty-said").textContent = words_;
    penalty.setAttribute("aria-valuetext", `${words_}, ${path[state.point].length} edges`);
    byId("least-said").textContent = state.least.toFixed(2);
    least.setAttribute("aria-valuetext", state.least.toFixed(2));
    drawNetwork(); drawTable(); drawMatrix();
  }
  function reset() {
    Object.assign(state, { point: data.chosen, least: 0, onlySure: anySure, main: true, held: -1, page: 0 });
    penalty.value = data.chosen; least.value = 0; onlySure.checked = anySure;
    byId("seek").value = "";
    setZoom(1);
    lay(layout);
    draw();
  }
  penalty.addEventListener("input", () => { state.point = +penalty.value; state.page = 0; draw(); });
  least.addEventListener("input", () => { state.least = +least.value; state.page = 0; draw(); });
  onlySure.addEventListener("change", () => { state.onlySure = onlySure.checked; state.page = 0; draw(); });
  byId("reset").addEventListener("click", reset);
  byId("all-pairs").addEventListener("change", (event) => { state.allPairs = event.target.checked; state.page = 0; drawTable(); });
  byId("find").addEventListener("input", (event) => { state.find = event.target.value.trim(); state.page = 0; drawTable(); });
  byId("copy").addEventListener("click", copy);
  byId("back").addEventListener("click", () => { state.page -= 1; drawTable(); });
  byId("next").addEventListener("click", () => { state.page += 1; drawTable(); });
  function setZoom(next) {
    zoom = Math.min(4, Math.max(1, next));
    svg.style.width = `${100 * zoom}%`;
    byId("nearer").disabled = zoom === 4; byId("farther").disabled = zoom === 1;
  }
  byId("nearer").addEventListener("click", () => setZoom(zoom * 1.5));
  byId("farther").addEventListener("click", () => setZoom(zoom / 1.5));
  byId("more").addEventListener("click", () => { state.main = !state.main; draw(); });
  byId("seek").addEventListener("input", (event) => {
    const text = event.target.value.trim().toLowerCase();
    const found = text === "" ? -1 : order.find((k) => names[k].toLowerCase().includes(text)) ?? -1;
    state.held = found;
    highlight();
    if (found >= 0) nodeOf[found].scrollIntoView({ block: "nearest", inline: "center" });
    if (found < 0 && text !== "") byId("count").textContent = "No variable of this name.";
  });
  let wide = 0;
  function resize() {
    wide = stage.clientWidth;
    const next = wide < 600 && data.layouts.narrow ? data.layouts.narrow : data.layouts.wide;
    svg.style.minWidth = next === data.layouts.wide && wide < 600 ? "46rem" : "";
    if (next !== layout) lay(next);
    draw();
  }
  new ResizeObserver(() => { if (stage.clientWidth !== wide) resize(); }).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMatrix);
  // On paper there is no next page to click to: print the edges up to five hundred.
  addEventListener("beforeprint", () => { state.page = 0; drawTable(500); for (const part of document.querySelectorAll("details")) part.open = true; });
  addEventListener("afterprint", () => drawTable());
  byId("no-script").hidden = true;
  document.documentElement.classList.add("scripted");
  resize();
  reset();
})();
