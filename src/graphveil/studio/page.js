"use strict";
// The studio's page. What a window holds is kept by the browser for this window, so that a reload goes on where it was;
// and by the server, for a window that is opened later. Every request names the table or the review that it is about.
(() => {
  const STEPS = ["table", "columns", "budget", "review", "release", "report"];
  const byId = (id) => document.getElementById(id), part = (step, what) => byId(step).querySelector(what);
  let known = null;  // of the studio: its ledger, its accounts
  let table = null;  // that this window shows: where it is, its columns, its version
  let reviewed = null, opened = [];  // what was shown to be confirmed, and files of releases that were opened besides
  const draft = { step: "table", columns: [], rows_per_person: "", neighbours: "replace", variation: "total", people: "", epsilon: "1", delta: "1e-6", width: "4", dataset: "" };

  // ---------------------------------------------------------------- asking the server
  async function ask(name, content) {
    const body = JSON.stringify(content), small = name === "window" && body.length < 20000;  // what a closed window may still send
    const options = content === undefined ? {} : { keepalive: small, method: "POST", headers: { "Content-Type": "application/json" }, body };
    let answer;
    try { answer = await fetch(name, options); } catch { throw new Error("The studio does not answer: it was closed in the terminal. No release is lost."); }
    const result = await answer.json().catch(() => ({ error: "The studio refused this page. Open the address that the terminal shows." }));
    if (!answer.ok) throw new Error(result.error || "The studio refused this.");
    return result;
  }
  const number = (text) => { const plain = String(text).trim().replace("\u2212", "-"); return plain === "" ? NaN : Number(/^[^.,]*,[^.,]*$/.test(plain) ? plain.replace(",", ".") : plain); };
  function fail(step, error) { part(step, ".body > .error").textContent = error ? error.message : ""; }
  let keeping = 0;
  function keep() { if (!keeping) keeping = setTimeout(keepNow, 300); }
  function keepNow() {
    clearTimeout(keeping);
    if (!keeping) return;
    keeping = 0;
    const held = { data: table && table.data, public: table && table.public, table: table && table.table, draft, opened };
    try { sessionStorage.setItem(location.pathname, JSON.stringify(held)); } catch { /* a browser that keeps nothing */ }
    ask("window", { window: held }).catch(() => {});
  }
  function recall() {
    try { return JSON.parse(sessionStorage.getItem(location.pathname)); } catch { return null; }
  }
  addEventListener("pagehide", keepNow);
  // A review holds for what was entered then, and for nothing that was entered since.
  const entered = () => JSON.stringify({ ...draft, step: "" });
  const isReviewed = () => reviewed !== null && reviewed.of === entered();

  // ---------------------------------------------------------------- steps
  function summaries() {
    const used = draft.columns.filter((c) => VARIABLES.includes(c.role)), out = draft.columns.filter((c) => c.role === "out");
    const named = (role) => draft.columns.find((c) => c.role === role), person = named("person"), group = named("group");
    return {
      table: table ? `${table.data}: ${table.columns.length} columns. No value was read.` + (table.public ? " These records are public." : "") : "",
      columns: `${used.length} used, ${out.length} not; ` + (group ? `one release for each ${group.name}; ` : "") + (person ? `people are identified by ${person.name}.` : `at most ${draft.rows_per_person} record${draft.rows_per_person === "1" ? "" : "s"} a person.`) + (named("weight") ? ` Weighted by ${named("weight").name}.` : "") + (draft.neighbours === "replace" ? "" : " Membership is secret too."),
      budget: `ε = ${draft.epsilon}, δ = ${draft.delta}, charged to ${draft.dataset}.`,
      review: isReviewed() ? `Key ${reviewed.key}.` : "",
      release: isReviewed() && reviewed.job && reviewed.job.state === "done" ? "Released." : "",
      report: "",
    };
  }
  const isRunning = () => reviewed !== null && reviewed.job !== null && reviewed.job.state === "running";
  function show(step, focus = true) {
    if (draft.step !== step) keep();
    if (!history.state || !focus) history.replaceState({ step }, "");  // nobody went there
    else if (history.state.step !== step) history.pushState({ step }, "");
    draft.step = step;
    const place = STEPS.indexOf(step), said = summaries();
    STEPS.forEach((name, k) => {
      const section = byId(name);
      section.classList.toggle("now", k === place);
      section.classList.toggle("done", k < place);
      section.setAttribute("aria-current", k === place ? "step" : "false");
      part(name, ".summary").textContent = said[name];
      const change = part(name, ".change");
      if (change) change.hidden = isRunning();
    });
    if (focus) { byId(`${step}-title`).focus({ preventScroll: true }); byId(step).scrollIntoView({ block: "start" }); }
    if (step === "budget") forecastSoon(0);
  }
  // The browser's Back and Forward go from step to step; to a review, and what follows, only while it holds.
  addEventListener("popstate", () => {
    const step = history.state ? history.state.step : draft.step, early = STEPS.indexOf(step) < STEPS.indexOf("review");
    if (!table || isRunning() || !(early || isReviewed())) return;
    show(early || step === "review" ? step : reviewed.job && reviewed.job.state === "done" ? "report" : "release");
  });
  for (const name of STEPS) {
    const change = part(name, ".change");
    if (change) change.addEventListener("click", () => show(name));
  }
  function onNext(step, action) {
    part(step, "form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = part(step, "button.next");
      if (button.disabled) return;
      button.disabled = true; fail(step, null);
      try { await action(); } catch (error) { fail(step, error); } finally { if (step !== "release") button.disabled = false; }
    });
  }

  // ---------------------------------------------------------------- 1: the table
  onNext("table", async () => {
    await openTable(byId("path").value.trim(), byId("public").checked);
    show("columns");
  });
  async function openTable(data, isPublic) {
    table = await ask("table", { data, public: isPublic });
    reviewed = null;
    startColumns();
    keep();
  }
  function startColumns() {
    const before = new Map(draft.columns.map((c) => [c.name, c]));
    draft.columns = table.columns.map((c) => ({ ...BLANK, name: c.name, role: ROLES.number.fits(c.type) ? "number" : "out", ...before.get(c.name) }));
    const texts = table.columns.filter((c) => !before.has(c.name) && c.type === "text").map((c) => c.name);
    byId("filled").textContent = texts.length ? `Text is left out until you say how to use it: ${texts.slice(0, 8).join(", ")}${texts.length > 8 ? " and others" : ""}.` : "";
    drawColumns();
  }

  // ---------------------------------------------------------------- 2: the columns
  const BLANK = { lower: "", upper: "", levels: "", scale: "linear", integer: "no", missing: "no", codes: "", largest: "", label: "", unit: "", source: "" };
  const numeric = (type) => type !== "text" && type !== "other", nameable = (type) => type !== "other", always = () => true;
  const ROLES = {
    number: { text: "number", fits: numeric },
    category: { text: "category", fits: nameable },
    ordinal: { text: "levels in order", fits: nameable },
    group: { text: "group: one release each", fits: nameable },
    person: { text: "person: whose record it is", fits: nameable },
    weight: { text: "survey weight", fits: numeric },
    out: { text: "left out", fits: always },
  };
  const VARIABLES = ["number", "category", "ordinal"];
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  const cell = (tag, text, number) => make(tag, { class: number ? "number" : null, scope: tag === "th" ? "row" : null }, text);
  function entry(column, key, label, hints = {}) {
    const input = make("input", { "aria-label": label.replace("…", column.name), autocomplete: "off", ...hints });
    input.value = column[key];
    input.addEventListener("input", () => { column[key] = input.value; keep(); });
    return input;
  }
  function choose(column, key, label, options, after = () => {}) {
    const select = make("select", { "aria-label": label }, ...options.map(([value, text]) => new Option(text, value, false, column[key] === value)));
    if (select.selectedIndex < 0) select.selectedIndex = 0;
    select.addEventListener("change", () => { column[key] = select.value; after(); keep(); });
    return select;
  }
  function drawColumns() {
    const types = new Map(table.columns.map((c) => [c.name, c.type]));
    byId("grid").tBodies[0].replaceChildren(...draft.columns.flatMap((column) => drawColumn(column, types.get(column.name))));
    byId("rows").value = draft.rows_per_person;
    byId("neighbours").value = draft.neighbours;
    byId("variation").value = draft.variation;
    drawPeople();
  }
  function drawColumn(column, type) {
    const roles = Object.entries(ROLES).filter(([, role]) => role.fits(type)).map(([value, role]) => [value, role.text]);
    const row = make("tr", { class: "main" }), rest = make("tr", { class: "rest" }), holds = make("td", { class: "holds" }), how = make("td"), more = make("td");
    const button = make("button", { type: "button", "aria-expanded": "false", "aria-label": `More about ${column.name}` }, "More");
    button.addEventListener("click", () => { rest.hidden = !rest.hidden; button.setAttribute("aria-expanded", String(!rest.hidden)); });
    more.append(button);
    row.append(cell("th", column.name), make("td", {}, choose(column, "role", `Use ${column.name} as`, roles, () => { dress(); drawPeople(); })), holds, how, more);
    function dress() {
      const role = column.role, levelled = ["category", "ordinal", "group"].includes(role), used = levelled || role === "number";
      row.classList.toggle("out", role === "out");
      rest.hidden = true;
      button.hidden = !VARIABLES.includes(role);
      button.setAttribute("aria-expanded", "false");
      holds.replaceChildren(...(role === "number" ? [make("div", { class: "ends" }, entry(column, "lower", "Lower bound of …", { inputmode: "decimal", placeholder: "from" }), entry(column, "upper", "Upper bound of …", { inputmode: "decimal", placeholder: "to" }))]
        : role === "weight" ? [entry(column, "largest", "Largest weight of …", { inputmode: "decimal", placeholder: "largest" })] : levelled ? [entry(column, "levels", "Levels of …", { placeholder: role === "ordinal" ? "never, sometimes, often" : "A, B, C" })] : []));
      how.replaceChildren(...(used ? [entry(column, "source", "How do you know what … can hold", { list: "sources", placeholder: "codebook, p. 12" })] : []));
      const missing = [["no", "not expected"], ["yes", "may be missing"], ...(role === "category" ? [["level", "a separate level"]] : [])];
      const details = [["Label", entry(column, "label", "Label of …", { placeholder: "name in reports" })], ["Missing values", choose(column, "missing", `Missing values of ${column.name}`, missing, () => { for (const code of rest.querySelectorAll(".codes")) code.hidden = column.missing !== "yes"; })]];
      if (role === "number") {
        details.splice(1, 0, ["Unit", entry(column, "unit", "Unit of …", { placeholder: "mmHg" })], ["Scale", choose(column, "scale", `Scale of ${column.name}`, [["linear", "as it is"], ["log", "logarithm"], ["sqrt", "square root"], ["rank", "rank"]])], ["Values", choose(column, "integer", `Values of ${column.name}`, [["no", "any number"], ["yes", "whole numbers"]])]);
        details.push(["Codes of missing values", entry(column, "codes", "Codes of missing values of …", { placeholder: "999, -1" })]);
      }
      if (role === "ordinal") details.splice(1, 0, ["Scale", choose(column, "scale", `Scale of ${column.name}`, [["scores", "scores of the levels"], ["rank", "rank"]])]);
      rest.replaceChildren(make("td", { colspan: 5 }, make("div", { class: "details" }, ...details.map(([text, input]) => make("label", { class: text.startsWith("Codes") ? "codes" : null }, text, input)))));
      for (const code of rest.querySelectorAll(".codes")) code.hidden = column.missing !== "yes";
    }
    dress();
    return [row, rest];
  }
  function drawPeople() {
    const person = draft.columns.some((c) => c.role === "person");
    byId("rows").disabled = person;
    byId("variation").parentElement.hidden = !person;
    byId("rows-why").textContent = person ? "(not needed: people are told apart by a column)" : "(several visits are several records)";
  }
  byId("rows").addEventListener("input", () => { draft.rows_per_person = byId("rows").value.trim(); keep(); });
  for (const name of ["neighbours", "variation"]) byId(name).addEventListener("change", () => { draft[name] = byId(name).value; keep(); });
  const bare = (name) => String(name).trim().toLowerCase();
  function fill(lines, more = "", blank = {}) {
    const exact = new Map(draft.columns.map((c) => [c.name, c])), alike = new Map(draft.columns.map((c) => [bare(c.name), c]));
    const others = [];
    for (const line of lines) {
      const column = exact.get(String(line.name)) || alike.get(bare(line.name));
      if (!column) { others.push(line.name); continue; }
      Object.assign(column, blank);
      for (const [key, value] of Object.entries(line)) if (key !== "name" && value) column[key] = value;
    }
    drawColumns(); keep();
    byId("filled").textContent = `${lines.length - others.length} of ${lines.length} lines belong to columns of this table, and were filled in.` + (others.length ? ` Not in this table: ${others.slice(0, 8).join(", ")}${others.length > 8 ? " and others" : ""}.` : "") + more;
  }
  // Words of people for the fields of a column, and for its kinds.
  const HEADINGS = { name: ["name", "column", "variable", "field"], role: ["kind", "use", "type"], lower: ["from", "low", "lower", "min", "minimum"], upper: ["to", "high", "upper", "max", "maximum"], levels: ["levels", "values", "codes"], scale: ["scale"], largest: ["largest"], missing: ["missing"], label: ["label", "title"], unit: ["unit", "units"], source: ["source", "how do you know?", "how you know it"] };
  const KINDS = { number: "number", category: "category", ordinal: "ordinal", ordered: "ordinal", "levels in order": "ordinal", group: "group", weight: "weight", person: "person", out: "out" };
  function readPasted(text) {
    const lines = text.split(/\r?\n/).filter((line) => line.trim()).map((line) => line.split(line.includes("\t") ? "\t" : ";").map((part) => part.trim()));
    const heads = (lines[0] || []).map((word) => Object.keys(HEADINGS).find((key) => HEADINGS[key].includes(word.toLowerCase())));
    if (heads.filter(Boolean).length >= 2 && heads.includes("name")) {
      const usual = ["name", "lower", "upper", "source"].map((key) => heads.includes(key) ? "" : key);  // where a column has no heading
      return lines.slice(1).map((line) => tidy(Object.fromEntries(line.map((part, k) => [heads[k] || usual[k] || "", part]))));
    }
    return lines.filter((line) => line.length >= 2).map(([name, second, third = "", fourth = ""]) => tidy(Number.isNaN(number(second)) ? { name, levels: second, source: third } : { name, lower: second, upper: third, source: fourth }));
  }
  function tidy(line) {
    const made = { ...line, role: KINDS[String(line.role || "").toLowerCase()] || (line.levels ? "category" : "number") };
    delete made[""];
    const missing = String(line.missing || "").toLowerCase();
    if (missing) Object.assign(made, ["no", "false"].includes(missing) ? { missing: "no" } : missing === "level" ? { missing } : ["yes", "true"].includes(missing) ? { missing: "yes" } : { missing: "yes", codes: line.missing });
    return made;
  }
  byId("fill").addEventListener("click", () => fill(readPasted(byId("pasted").value)));
  byId("import").addEventListener("change", async (event) => {
    try {
      const read = await ask("import", { text: await event.target.files[0].text() });
      const named = new Set([read.person, ...read.refused, ...read.columns.map((c) => c.name)].map(bare));
      const left = draft.columns.filter((c) => !named.has(bare(c.name)) && c.role !== "out" && (read.whole || VARIABLES.includes(c.role)));
      for (const column of left) column.role = "out";
      for (const column of draft.columns) if (column.name === read.person) column.role = "person";
      if (Number.isInteger(read.rows_per_person)) draft.rows_per_person = String(read.rows_per_person);
      for (const name of ["neighbours", "variation"]) if (read[name]) draft[name] = read[name];
      fill(read.columns, (read.refused.length ? ` Left for you, because the file does not say what they can hold: ${read.refused.join(", ")}.` : "") + (left.length ? ` Left out, because the file does not name them: ${left.map((c) => c.name).join(", ")}.` : ""), BLANK);
      fail("columns", null);
    } catch (error) { fail("columns", error); }
    event.target.value = "";
  });
  byId("save-codebook").addEventListener("click", async () => {
    fail("columns", null);
    try { const saved = await ask("codebook", { table: table.table, draft }); byId("filled").textContent = `Saved ${saved.saved[0]} in ${saved.folder}.`; } catch (error) { fail("columns", error); }
  });
  onNext("columns", async () => { await ask("columns", { table: table.table, draft }); show("budget"); });

  // ---------------------------------------------------------------- 3: the budget
  const slider = byId("slider"), epsilon = byId("epsilon");
  const two = (value) => value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(2)));
  const DECADES = 1000;  // bounds that span so much are those of amounts: most people have little, few have much
  const EPSILONS = [0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  slider.max = EPSILONS.length - 1;
  slider.addEventListener("input", () => { draft.epsilon = epsilon.value = String(EPSILONS[+slider.value]); keep(); forecastSoon(30); });
  epsilon.addEventListener("input", () => { draft.epsilon = epsilon.value.trim(); keep(); slide(); forecastSoon(250); });
  function slide() {
    const value = number(draft.epsilon);
    if (value > 0) slider.value = EPSILONS.reduce((best, e, k) => Math.abs(Math.log(e / value)) < Math.abs(Math.log(EPSILONS[best] / value)) ? k : best, 0);
    slider.setAttribute("aria-valuetext", `ε = ${draft.epsilon}`);
  }
  for (const name of ["people", "delta", "width"]) byId(name).addEventListener("input", () => { draft[name] = byId(name).value.trim(); keep(); forecastSoon(250); });
  let waiting = 0, asked = 0;
  function forecastSoon(delay) { clearTimeout(waiting); waiting = setTimeout(forecast, delay); }
  async function forecast() {
    slide();
    const turn = ++asked;
    warn();
    byId("rehearsed").textContent = "";
    if (!(number(draft.people) >= 1)) { tell(null, "About how many people are there? Then this page can forecast the accuracy."); return; }
    try {
      const made = await ask("forecast", { table: table.table, draft });
      if (turn === asked) tell(made, "");
    } catch (error) { if (turn === asked) tell(null, error.message); }
  }
  function warn() {
    const wide = draft.columns.filter((c) => c.role === "number" && c.scale === "linear" && number(c.upper) >= DECADES * Math.max(Math.abs(number(c.lower)), 1)).map((c) => c.name);
    const weight = draft.columns.find((c) => c.role === "weight"), words = [];
    if (weight) words.push(`The forecast does not account for weights: noise is larger by the largest weight, ${weight.largest}, over the mean weight.`);
    if (wide.length) words.push(`Can ${wide.slice(0, 5).join(", ")}${wide.length > 5 ? " and others" : ""} be very large for a few people, and small for most? Then the forecast is far too optimistic, and the logarithm (under “More” in the table of columns) does better.`);
    byId("caution").hidden = !words.length;
    byId("caution").textContent = words.join(" ");
  }
  byId("rehearse").addEventListener("click", () => { fail("budget", null); rehearse(asked, { table: table.table, draft: structuredClone(draft) }); });
  async function rehearse(turn, what) {
    const bar = byId("rehearsing");
    try {
      const rehearsal = await ask("rehearse", what), running = rehearsal.state === "running";
      bar.hidden = !running; bar.max = rehearsal.total; bar.value = rehearsal.done;
      byId("rehearse").disabled = running;
      if (running) { setTimeout(rehearse, 200, turn, what); return; }
      if (turn !== asked) return;  // something else was entered meanwhile
      if (rehearsal.error) throw new Error(rehearsal.error);
      const found = rehearsal.forecast;
      byId("rehearsed").textContent = `Rehearsed: as good as ${two(found.n_eff)} noise-free records, partial correlations of ${found.smallest_edge === null ? "no size" : two(found.smallest_edge)} detected, error ${two(100 * found.error)}%.`;
    } catch (error) { bar.hidden = true; byId("rehearse").disabled = false; fail("budget", error); }
  }
  function tell(made, why) {
    const put = (id, text) => { byId(id).textContent = text; };
    put("guess", made ? `${(Math.ceil(10 * made.guess) / 10).toFixed(1)}%` : "…");
    put("n-eff", made ? two(made.n_eff) : "…");
    put("smallest", !made ? "…" : made.smallest_edge === null ? "none" : two(made.smallest_edge));
    put("coefficient", !made ? "…" : made.coefficient_sd === null ? "none" : `±${two(made.coefficient_sd)}`);
    put("off", made ? `${two(100 * made.error)}%` : "…");
    const words = [why], group = draft.columns.find((c) => c.role === "group");
    if (made && group) words.push(`For each of the groups by ${group.name}, if they are equally large.`);
    if (made && made.careless) words.push("δ is at least one over the number of people: choose it well below.");
    if (made && !made.reliable) words.push("So little information is left that no edge could be distinguished from noise.");
    if (made && made.smallest_edge !== null && made.needed) words.push(`Detecting partial correlations of 0.1 takes about ${made.needed.toLocaleString("en")} people at this ε` + (made.epsilon_needed ? `, or ε = ${two(made.epsilon_needed)} with these.` : "."));
    put("needed", words.filter(Boolean).join(" "));
    byId("picture").toggleAttribute("hidden", !made);
    drawPicture(made ? made.smallest_edge : null);
  }
  const SVG = "http://www.w3.org/2000/svg";
  function shape(name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function drawPicture(smallest) {
    const strengths = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5], seen = strengths.filter((r) => smallest !== null && r >= smallest);
    const title = shape("title", { id: "picture-title" }, seen.length ? `Edges with partial correlations ${seen.join(", ")} would be detected, weaker ones would look like noise` : "No edge could be distinguished from noise");
    const across = byId("picture").parentElement.clientWidth < 500 ? 3 : 6;  // more would be too small to read
    byId("picture").setAttribute("viewBox", `0 0 ${105 * across} ${6 / across * 84}`);
    byId("picture").replaceChildren(title, ...strengths.flatMap((r, k) => {
      const x = 52 + 105 * (k % across), y = 20 + 84 * Math.floor(k / across), visible = seen.includes(r);
      return [
        shape("path", { class: visible ? "edge positive" : "edge unsure", d: `M${x - 30} ${y}H${x + 30}`, "stroke-width": visible ? 1.5 + 12 * r : 2 }),
        shape("circle", { cx: x - 32, cy: y, r: 7 }), shape("circle", { cx: x + 32, cy: y, r: 7 }),
        shape("text", { x, y: y + 29 }, r.toFixed(2)), shape("text", { x, y: y + 48, class: visible ? "" : "unseen-edge" }, visible ? "seen" : "like noise"),
      ];
    }));
  }
  function drawAccounts() {
    const chosen = byId("dataset"), accounts = known.accounts || [], none = known.accounts === null ? "reading the ledger …" : known.reason ? "the ledger cannot be used" : "no account yet: open one below";
    byId("ledger").textContent = known.ledger;
    chosen.replaceChildren(...accounts.map((a) => new Option(a.dataset, a.dataset, false, a.dataset === draft.dataset)));
    if (!accounts.length) chosen.append(new Option(none, ""));
    if (known.accounts === null) return;
    draft.dataset = chosen.value;
    byId("new-account").hidden = Boolean(known.reason);
    byId("new-account").open = !accounts.length;
    byId("damaged").textContent = known.reason || "";
    sayLeft();
  }
  function sayLeft() {
    const account = (known.accounts || []).find((a) => a.dataset === draft.dataset);
    byId("left").textContent = account ? `Left: ε = ${account.left} at δ = ${account.delta}, of ${account.total} in total${account.left === account.total ? "" : "; releases add up in μ², not in ε"}.` : "";
  }
  byId("dataset").addEventListener("change", () => { draft.dataset = byId("dataset").value; sayLeft(); keep(); });
  byId("create").addEventListener("click", async () => {
    fail("budget", null);
    try {
      const name = byId("new-name").value.trim();
      Object.assign(known, await ask("account", { dataset: name, epsilon: number(byId("new-epsilon").value), delta: number(byId("new-delta").value) }));
      draft.dataset = name; drawAccounts(); keep();
      byId("dataset").focus();
    } catch (error) { fail("budget", error); }
  });
  onNext("budget", async () => {
    Object.assign(known, await ask("accounts"));  // as the ledger is now
    drawAccounts();
    if (known.reason) throw new Error("The ledger cannot be used, for the reason above. No account can be opened in it.");
    if (!draft.dataset) throw new Error("Open an account in the ledger first, for these people.");
    await review();
    show("review");
  });

  // ---------------------------------------------------------------- 4: the review
  async function review() {
    const of = entered();
    reviewed = null;
    reviewed = { of, ...await ask("review", { table: table.table, draft }) };
    for (const name of ["command", "python", "codebook"]) byId(name).textContent = reviewed[name];
    byId("codebook-file").textContent = reviewed.codebook_file;
    const account = reviewed.account;
    byId("charge").textContent = reviewed.known
      ? `This release was made and charged on ${reviewed.known.slice(0, 19).replace("T", " at ")} (UTC): it is returned unchanged, and nothing is charged. (Key ${reviewed.key}.)`
      : `This charges ε = ${draft.epsilon} at δ = ${draft.delta} to ${account.dataset}, of which ε = ${account.left} is left. It cannot be undone. The release is written to ${reviewed.release_files.join(", ")}.`;
    byId("go").textContent = reviewed.known ? "Show it again" : "Release and charge";
  }
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", async () => {
    const text = byId(button.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(text); byId("copied").textContent = "Copied."; } catch {
      getSelection().selectAllChildren(byId(button.dataset.copy));
      byId("copied").textContent = "The browser does not allow copying: the text is selected, press Ctrl-C.";
    }
  });
  byId("save").addEventListener("click", async () => {
    fail("review", null);
    try { const saved = await ask("files", { review: reviewed.review }); byId("copied").textContent = `Saved ${saved.saved.join(" and ")} in ${saved.folder}.`; } catch (error) { fail("review", error); }
  });
  onNext("review", async () => { await review(); show("release"); byId("confirmation").value = ""; byId("confirmation").disabled = false; byId("go").disabled = true; });

  // ---------------------------------------------------------------- 5: the release
  const allow = () => { byId("go").disabled = !isReviewed() || byId("confirmation").value !== draft.dataset; };
  byId("confirmation").addEventListener("input", allow);
  onNext("release", async () => {
    if (!isReviewed()) throw new Error("Something was entered since the review. Review it again.");
    try { reviewed.job = (await ask("release", { review: reviewed.review, confirmation: byId("confirmation").value })).job; } catch (error) { allow(); throw error; }
    watch();
  });
  async function watch() {
    const mine = reviewed, job = mine.job;
    byId("go").disabled = true;
    byId("confirmation").disabled = true;
    byId("working").hidden = job.state !== "running";
    show("release", false);
    if (job.state === "running") {
      byId("progress").value = Math.min(job.pass, 9.5);
      byId("doing").textContent = job.pass ? `Pass ${job.pass} over the records, of about seven.` : "Opening the records.";
      await new Promise((resolve) => { setTimeout(resolve, 200); });
      try { mine.job = (await ask("job", { review: mine.review })).job; } catch (error) { fail("release", error); return; }
      if (mine === reviewed) watch();
    } else if (job.state === "done") {
      openReport();
    } else {
      byId("confirmation").disabled = false;
      fail("release", new Error(job.error));
      allow();
    }
  }

  // ---------------------------------------------------------------- 6: the report
  let releases = [];
  const signed = (v) => v === null ? "none" : (v < 0 ? "\u2212" : "+") + Math.abs(v).toFixed(2);
  const digits = (v) => v === null ? "?" : (v !== 0 && Math.abs(v) < 1e-4 ? v.toExponential(1) : Number(v.toPrecision(3)).toString()).replace(/^-/, "\u2212");
  const chance = (p) => p === null ? "?" : p < 0.001 ? "< 0.001" : p.toFixed(3);
  async function openReport() {
    show("report");
    listReleases();
  }
  function listReleases() {
    const made = reviewed ? reviewed.job.releases : [], groups = reviewed ? reviewed.job.groups : null;
    releases = [...made, ...opened.filter((one) => !made.some((other) => other.id === one.id))];
    byId("all").hidden = groups === null;
    if (groups !== null) byId("all").querySelector("a").href = `report-${groups}`;
    const ids = releases.map((r) => r.id), options = (chosen) => releases.map((r, k) => new Option(r.name, r.id, false, k === chosen));
    byId("which").replaceChildren(...options(Math.max(0, ids.indexOf(byId("which").value))));
    byId("first").replaceChildren(...options(0));
    byId("second").replaceChildren(...options(ids.length - 1));
    byId("choice").hidden = byId("pair").hidden = ids.length < 2;
    byId("differences").replaceChildren();
    byId("compared").textContent = "";
    chooseRelease();
    if (ids.length > 1) compareReleases();
  }
  function chooseRelease() {
    const chosen = releases[Math.max(0, byId("which").selectedIndex)];
    byId("frame").src = byId("open").href = `report-${chosen.id}`;
    startRegression(chosen);
    showBeside();
  }
  byId("which").addEventListener("change", chooseRelease);
  async function showBeside() {
    const release = byId("which").value;
    byId("beside").hidden = true;
    if (!reviewed || !table.public) return;
    const { pairs } = await ask("beside", { review: reviewed.review, release }).catch(() => ({ pairs: [] }));
    if (release !== byId("which").value) return;
    byId("beside").hidden = !pairs.length;
    byId("beside").querySelector("tbody").replaceChildren(...pairs.map((pair) => make("tr", {}, cell("td", pair.first), cell("td", pair.second), cell("td", signed(pair.released), true), cell("td", pair.lower === null ? "none" : `${signed(pair.lower)} to ${signed(pair.upper)}`, true), cell("td", signed(pair.exact), true))));
  }

  let labels = new Map();
  function startRegression({ variables, labels: shown }) {
    labels = new Map(variables.map((name, k) => [name, shown[k]]));
    byId("outcome").replaceChildren(...variables.map((name, k) => new Option(shown[k], name, false, k === variables.length - 1)));
    byId("regressors").replaceChildren(...variables.map((name) => {
      const box = make("input", { type: "checkbox", value: name });
      box.checked = true;
      box.addEventListener("change", regress);
      return make("label", {}, box, labels.get(name));
    }));
    regress();
  }
  let regressions = 0;
  async function regress() {
    const turn = ++regressions, outcome = byId("outcome").value, boxes = Array.from(byId("regressors").querySelectorAll("input"));
    for (const box of boxes) box.disabled = box.value === outcome;
    const on = boxes.filter((box) => box.checked && !box.disabled).map((box) => box.value), body = byId("regression").tBodies[0];
    try {
      if (!on.length) throw new Error("Check at least one column.");
      const found = await ask("regression", { release: byId("which").value, outcome, on });
      if (turn !== regressions) return;
      body.replaceChildren(...found.terms.map((term) => make("tr", {}, cell("th", labels.get(term.term) || term.term), ...[digits(term.coef), digits(term.std_err), `${digits(term.lower)} to ${digits(term.upper)}`, chance(term.p_value)].map((text) => cell("td", text, true)))));
      byId("fit").textContent = [found.determines_r_squared ? `R² = ${found.r_squared.toFixed(2)} (${found.r_squared_interval.map((end) => end.toFixed(2)).join(" to ")}).` : `R² is not determined (estimate: ${found.r_squared.toFixed(2)}).`, ...found.notes].join(" ");
    } catch (error) { if (turn === regressions) { body.replaceChildren(); byId("fit").textContent = error.message; } }
  }
  byId("outcome").addEventListener("change", regress);

  byId("opener").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const more = (await ask("open", { path: byId("second-path").value.trim() })).releases;
      opened = [...opened.filter((one) => !more.some((other) => other.id === one.id)), ...more];
      keep(); listReleases(); byId("second-path").value = "";
    } catch (error) { byId("compared").textContent = error.message; }
  });
  let comparisons = 0;
  async function compareReleases() {
    const turn = ++comparisons, first = byId("first").value, second = byId("second").value;
    byId("differences").replaceChildren();
    if (first === second) { byId("compared").textContent = "Choose two different releases."; return; }
    byId("compared").textContent = "Comparing …";
    try {
      const found = await ask("compare", { first, second, overlap: byId("overlap").checked });
      if (turn !== comparisons) return;
      byId("compared").textContent = [`Differences are ${found.names[1]} minus ${found.names[0]}. “Differs” is marked at a false discovery rate of ${100 * found.fdr}%.`, ...found.notes].join(" ");
      byId("differences").replaceChildren(...found.tables.map((one) => drawDifferences(one, found.names)));
    } catch (error) { if (turn === comparisons) byId("compared").textContent = error.message; }
  }
  function drawDifferences(found, names) {
    const title = `${found.differ} of ${found.compared} ${found.what}s ${found.differ === 1 ? "differs" : "differ"}`;
    const heads = ["", ...names, "difference", "95% interval", "p", ""];
    const head = make("thead", {}, make("tr", {}, ...heads.map((text, k) => make("th", { scope: "col", class: k && k < 6 ? "number" : null }, ...(text ? [text] : [make("span", { class: "unseen" }, k ? "verdict" : "of")])))));
    const rows = found.rows.map((r) => make("tr", { class: r.differs ? null : "unsure" }, cell("th", r.of), ...[...(r.difference === null ? ["", "", "", `${r.df} levels together`] : [digits(r.first), digits(r.second), digits(r.difference), `${digits(r.lower)} to ${digits(r.upper)}`]), chance(r.p_value)].map((text) => cell("td", text, true)), cell("td", r.differs ? "differs" : "")));
    return make("details", found.differ ? { open: "" } : {}, make("summary", {}, title), make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, make("table", { class: "plain", "aria-label": title }, head, make("tbody", {}, ...rows))));
  }
  for (const id of ["first", "second", "overlap"]) byId(id).addEventListener("change", compareReleases);

  // ---------------------------------------------------------------- begin
  async function begin() {
    known = { ...await ask("state"), accounts: null };
    byId("no-script").hidden = true;
    if (known.only_report) {
      document.body.classList.add("only-report");
      byId("title").textContent = "A release";
      show("report", false);
      byId("loading").textContent = "Reading the release …";
      const { releases: named } = await ask("start"), mine = recall();
      opened = [...named, ...(mine ? mine.opened : []).filter((one) => !named.some((other) => other.id === one.id))];
      await openReport();
      byId("loading").textContent = "";
      return;
    }
    show("table", false);
    drawAccounts();
    byId("path").value = (recall() || known.window).data || "";
    byId("reading").textContent = byId("path").value ? "Reading the names of the columns …" : "";
    const { window: latest } = await ask("start");  // the demo writes its table and opens its account now
    const mine = recall() || latest, step = mine.draft.step || "table";
    Object.assign(draft, mine.draft, { step: "table" });
    opened = mine.opened || [];
    for (const name of ["people", "epsilon", "delta", "width"]) byId(name).value = draft[name];
    byId("public").checked = mine.public;
    ask("accounts").then((found) => { Object.assign(known, found); drawAccounts(); }).catch((error) => fail("budget", error));
    if (!mine.data) return;
    try { await openTable(mine.data, mine.public); } catch (error) { fail("table", error); return; } finally { byId("reading").textContent = ""; }
    if (mine.table && mine.table !== table.table) {
      show("columns", false);
      fail("columns", new Error("The files of this table have changed since you saw them here. Check that the columns are still right."));
      return;
    }
    if (!["review", "release", "report"].includes(step)) { show(step === "table" ? "columns" : step, false); return; }
    try { await review(); } catch (error) { show("budget", false); fail("budget", error); return; }
    if (step !== "review" && reviewed.job) watch(); else show(step === "report" ? "release" : step, false);
  }
  begin().catch((error) => { byId("no-script").hidden = false; byId("no-script").textContent = error.message; });
})();
