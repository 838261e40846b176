// What is wrong with the page for a reader with poor eyes, a screen reader or a finger.
() => {
  const seen = (e) => e.getClientRects().length > 0;
  const all = (what) => Array.from(document.querySelectorAll(what)).filter(seen);
  const wrong = [];

  const named = (e) => (e.labels && e.labels.length) || e.getAttribute("aria-label") || e.textContent.trim() || e.title;
  for (const e of all("button, input, select, textarea, iframe, progress")) {
    if (!named(e)) wrong.push("no name: " + e.id);
    const box = e.getBoundingClientRect();
    if (Math.min(box.width, box.height) < 15) wrong.push("too small to touch: " + e.id);
  }

  const ids = Array.from(document.querySelectorAll("[id]"), (e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("twice: " + id);
  for (const e of document.querySelectorAll("[aria-labelledby]")) {
    if (!document.getElementById(e.getAttribute("aria-labelledby"))) wrong.push("no label: " + e.id);
  }

  let level = 0;
  for (const e of all("h1, h2, h3")) {
    const now = +e.tagName[1];
    if (now > level + 1) wrong.push("heading: " + e.textContent);
    level = now;
  }

  const linear = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map((x) => linear(x / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!colour.endsWith(", 0)")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  for (const e of all("p, h1, h2, h3, label, button, span, b, td, th, summary, legend, pre, code, a, input, select")) {
    if (e.disabled || e.type === "range" || !(e.textContent.trim() || e.value)) continue;
    const pair = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(1)}: ${e.tagName} ${e.textContent.slice(0, 30)}`);
  }

  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) wrong.push("wider than the screen: " + wide);
  return wrong;
}
