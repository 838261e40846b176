"use strict";
// The studio's page. What was entered is kept by the server, so that a reload goes on where it was.
(() => {
  const STEPS = ["table", "columns", "budget", "review", "release", "report"];
  const byId = (id) => document.getElementById(id), part = (step, what) => byId(step).querySelector(what);
  let known = null, reviewed = null;
  const draft = { step: "table", columns: [], rows_per_person: "", people: "", epsilon: "1", delta: "1e-6", width: "4", dataset: "" };

  // ---------------------------------------------------------------- asking the server
  async function ask(name, content) {
    const options = content === undefined ? {} : { keepalive: name === "draft", method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
    let answer;
    try { answer = await fetch(name, options); } catch { throw new Error("The studio does not answer: it was closed in the terminal. Nothing is lost that was released."); }
    const result = await answer.json().catch(() => ({ error: "The studio refused this page. Open the address that the terminal shows." }));
    if (!answer.ok) throw new Error(result.error || "The studio refused this.");
    return result;
  }
  const number = (text) => { const plain = String(text).trim().replace("\u2212", "-"); return plain === "" ? NaN : Number(/^[^.,]*,[^.,]*$/.test(plain) ? plain.replace(",", ".") : plain); };
  function fail(step, error) { part(step, ".error").textContent = error ? error.message : ""; }
  let keeping = 0;
  function keep() { if (!keeping) keeping = setTimeout(keepNow, 300); }
  function keepNow() {
    clearTimeout(keeping);
    if (keeping) ask("draft", { draft }).catch(() => {});
    keeping = 0;
  }
  addEventListener("pagehide", keepNow);

  // ---------------------------------------------------------------- steps
  function summaries() {
    const used = draft.columns.filter((c) => c.role === "number"), person = draft.columns.find((c) => c.role === "person");
    return {
      table: known.data ? `${known.data}: ${known.columns.length} columns. No value was read.` : "",
      columns: `${used.length} used, ${draft.columns.length - used.length} not; ` + (person ? `people are told apart by ${person.name}.` : `at most ${draft.rows_per_person} record${draft.rows_per_person === "1" ? "" : "s"} a person.`),
      budget: `ε = ${draft.epsilon}, δ = ${draft.delta}, charged to ${draft.dataset}.`,
      review: reviewed ? `Key ${reviewed.key}.` : "Reviewed.",
      release: known.job && known.job.state === "done" ? "Released." : "",
      report: "",
    };
  }
  function show(step, focus = true) {
    if (draft.step !== step) keep();
    draft.step = step;
    const place = STEPS.indexOf(step), said = summaries();
    STEPS.forEach((name, k) => {
      const section = byId(name);
      section.classList.toggle("now", k === place);
      section.classList.toggle("done", k < place);
      section.setAttribute("aria-current", k === place ? "step" : "false");
      part(name, ".summary").textContent = said[name];
      const change = part(name, ".change");
      if (change) change.hidden = known.job !== null && known.job.state === "running";
    });
    if (focus) { byId(`${step}-title`).focus({ preventScroll: true }); byId(step).scrollIntoView({ block: "start" }); }
    if (step === "budget") forecastSoon(0);
  }
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
    const found = await ask("table", { data: byId("path").value.trim() });
    const another = found.data !== known.data;
    known = found;
    if (another || !draft.columns.length) startColumns();
    show("columns");
  });
  function startColumns() {
    const before = new Map(draft.columns.map((c) => [c.name, c]));
    draft.columns = known.columns.map((c) => before.get(c.name) || { name: c.name, role: c.number ? "number" : "out", lower: "", upper: "", source: "" });
    drawColumns();
  }

  // ---------------------------------------------------------------- 2: the columns
  const ROLES = [["number", "number"], ["person", "person: whose record it is"], ["out", "left out"]];
  function drawColumns() {
    const numeric = new Map(known.columns.map((c) => [c.name, c.number]));
    byId("grid").tBodies[0].replaceChildren(...draft.columns.map((column) => {
      const row = document.createElement("tr"), head = document.createElement("th");
      head.scope = "row"; head.textContent = column.name; row.append(head);
      const role = document.createElement("select");
      role.setAttribute("aria-label", `Use ${column.name} as`);
      for (const [value, text] of ROLES) {
        if (value === "number" && !numeric.get(column.name)) continue;
        const option = new Option(text, value, false, column.role === value);
        role.append(option);
      }
      role.addEventListener("change", () => { column.role = role.value; dress(); keep(); });
      const cells = [role, ...[["lower", "Lower bound"], ["upper", "Upper bound"], ["source", "How do you know the bounds"]].map(([key, label]) => {
        const input = document.createElement("input");
        input.value = column[key]; input.autocomplete = "off"; input.setAttribute("aria-label", `${label} of ${column.name}`);
        if (key === "source") { input.setAttribute("list", "sources"); input.placeholder = "codebook, p. 12"; } else { input.inputMode = "decimal"; input.placeholder = key === "lower" ? "from" : "to"; }
        input.addEventListener("input", () => { column[key] = input.value; keep(); });
        return input;
      })];
      for (const cell of cells) { const td = document.createElement("td"); td.append(cell); row.append(td); }
      function dress() {
        const used = column.role === "number";
        row.classList.toggle("out", column.role === "out");
        for (const input of cells.slice(1)) input.disabled = !used;
        const person = draft.columns.some((c) => c.role === "person");
        byId("rows").disabled = person;
        byId("rows-why").textContent = person ? "(not needed: people are told apart by a column)" : "(several visits are several records)";
      }
      dress();
      return row;
    }));
    byId("rows").value = draft.rows_per_person;
  }
  byId("rows").addEventListener("input", () => { draft.rows_per_person = byId("rows").value.trim(); keep(); });
  function fill(lines) {
    const named = new Map(draft.columns.map((c) => [c.name.trim().toLowerCase(), c]));
    let found = 0;
    for (const line of lines) {
      const column = named.get(String(line.name).trim().toLowerCase());
      if (!column) continue;
      found += 1;
      Object.assign(column, { role: "number", lower: line.lower, upper: line.upper });
      if (line.source) column.source = line.source;
    }
    drawColumns(); keep();
    byId("filled").textContent = `${found} of ${lines.length} lines belong to columns of this table, and were filled in.`;
  }
  byId("fill").addEventListener("click", () => {
    const lines = byId("pasted").value.split(/\r?\n/).map((line) => line.split(/\t|;/).map((cell) => cell.trim())).filter((cells) => cells.length >= 3 && !Number.isNaN(number(cells[1])));
    fill(lines.map(([name, lower, upper, source]) => ({ name, lower, upper, source })));
  });
  byId("import").addEventListener("change", async (event) => {
    try {
      const read = await ask("import", { text: await event.target.files[0].text() });
      if (read.person) for (const column of draft.columns) if (column.name === read.person) column.role = "person";
      if (Number.isInteger(read.rows_per_person)) draft.rows_per_person = String(read.rows_per_person);
      fill(read.columns);
      fail("columns", null);
    } catch (error) { fail("columns", error); }
  });
  onNext("columns", async () => { await ask("columns", { draft }); show("budget"); });

  // ---------------------------------------------------------------- 3: the budget
  const slider = byId("slider"), epsilon = byId("epsilon");
  const two = (value) => value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(2)));
  const EPSILONS = [0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  slider.max = EPSILONS.length - 1;
  slider.addEventListener("input", () => { draft.epsilon = epsilon.value = String(EPSILONS[+slider.value]); forecastSoon(30); });
  epsilon.addEventListener("input", () => { draft.epsilon = epsilon.value.trim(); slide(); forecastSoon(250); });
  function slide() {
    const value = number(draft.epsilon);
    if (value > 0) slider.value = EPSILONS.reduce((best, e, k) => Math.abs(Math.log(e / value)) < Math.abs(Math.log(EPSILONS[best] / value)) ? k : best, 0);
    slider.setAttribute("aria-valuetext", `ε = ${draft.epsilon}`);
  }
  for (const name of ["people", "delta", "width"]) byId(name).addEventListener("input", () => { draft[name] = byId(name).value.trim(); forecastSoon(250); });
  let waiting = 0, asked = 0;
  function forecastSoon(delay) { clearTimeout(waiting); waiting = setTimeout(forecast, delay); keep(); }
  async function forecast() {
    slide();
    const turn = ++asked, used = draft.columns.filter((c) => c.role === "number").length;
    const person = draft.columns.some((c) => c.role === "person");
    const people = number(draft.people), facts = { people, columns: used, epsilon: number(draft.epsilon), delta: number(draft.delta), rows: person ? 1 : number(draft.rows_per_person), width: number(draft.width) };
    if (!(people >= 1)) { tell(null, "How many people are there, roughly? Then this page can say what ε buys."); return; }
    try {
      const made = await ask("forecast", facts);
      if (turn === asked) tell(made, "");
    } catch (error) { if (turn === asked) tell(null, error.message); }
  }
  function tell(made, why) {
    const put = (id, text) => { byId(id).textContent = text; };
    put("guess", made ? `${(Math.ceil(10 * made.guess) / 10).toFixed(1)}%` : "…");
    put("n-eff", made ? two(made.n_eff) : "…");
    put("smallest", !made ? "…" : made.smallest_edge === null ? "none" : two(made.smallest_edge));
    put("coefficient", !made ? "…" : made.coefficient_sd === null ? "none" : `±${two(made.coefficient_sd)}`);
    put("off", made ? `${two(100 * made.error)}%` : "…");
    const words = [why];
    if (made && made.careless) words.push("δ is at least one over the number of people: choose it well below.");
    if (made && !made.reliable) words.push("So little information is left that no connection could be told from noise.");
    if (made && made.smallest_edge !== null && made.needed) words.push(`To see partial correlations of 0.1 it takes about ${made.needed.toLocaleString("en")} people at this ε` + (made.epsilon_needed ? `, or ε = ${two(made.epsilon_needed)} with these.` : "."));
    put("needed", words.filter(Boolean).join(" "));
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
    const title = shape("title", { id: "picture-title" }, seen.length ? `Edges of partial correlation ${seen.join(", ")} would be seen, weaker ones would look like noise` : "No edge could be told from noise");
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
    const chosen = byId("dataset");
    byId("ledger").textContent = known.ledger;
    chosen.replaceChildren(...known.accounts.map((a) => new Option(a.dataset, a.dataset, false, a.dataset === draft.dataset)));
    if (!known.accounts.length) chosen.append(new Option("no account yet: open one below", ""));
    draft.dataset = chosen.value;
    byId("new-account").open = !known.accounts.length;
    sayLeft();
  }
  function sayLeft() {
    const account = known.accounts.find((a) => a.dataset === draft.dataset);
    byId("left").textContent = account ? `Left: ε = ${account.left} at δ = ${account.delta}, of ${account.total} in all.` : "";
  }
  byId("dataset").addEventListener("change", () => { draft.dataset = byId("dataset").value; sayLeft(); keep(); });
  byId("create").addEventListener("click", async () => {
    fail("budget", null);
    try {
      const name = byId("new-name").value.trim();
      known.accounts = (await ask("account", { dataset: name, epsilon: number(byId("new-epsilon").value), delta: number(byId("new-delta").value) })).accounts;
      draft.dataset = name; drawAccounts(); keep();
      byId("dataset").focus();
    } catch (error) { fail("budget", error); }
  });
  onNext("budget", async () => { await review(); show("review"); });

  // ---------------------------------------------------------------- 4: the review
  async function review() {
    reviewed = await ask("review", { draft });
    for (const name of ["command", "python", "bounds"]) byId(name).textContent = reviewed[name];
    byId("bounds-file").textContent = reviewed.bounds_file;
    const account = reviewed.account;
    byId("charge").textContent = reviewed.known
      ? `This very release has been made before, and is in the ledger: it comes back as it was, and nothing is charged. (Key ${reviewed.key}.)`
      : `This charges ε = ${draft.epsilon} at δ = ${draft.delta} to ${account.dataset}, of which ε = ${account.left} is left. It cannot be undone. The release is written to ${reviewed.release_file}.`;
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
    try { const saved = await ask("files", { draft }); byId("copied").textContent = `Saved ${saved.saved.join(" and ")} in ${saved.folder}.`; } catch (error) { fail("review", error); }
  });
  onNext("review", async () => { await review(); show("release"); byId("confirmation").value = ""; byId("confirmation").disabled = false; byId("go").disabled = true; });

  // ---------------------------------------------------------------- 5: the release
  byId("confirmation").addEventListener("input", () => { byId("go").disabled = byId("confirmation").value !== draft.dataset; });
  onNext("release", async () => {
    try { known.job = (await ask("release", { draft, confirmation: byId("confirmation").value })).job; } catch (error) { byId("go").disabled = false; throw error; }
    watch();
  });
  async function watch() {
    const job = known.job;
    byId("go").disabled = true;
    byId("confirmation").disabled = true;
    byId("working").hidden = job.state !== "running";
    show("release", false);
    if (job.state === "running") {
      byId("progress").value = Math.min(job.pass, 9.5);
      byId("doing").textContent = job.pass ? `Pass ${job.pass} over the records, of about nine.` : "Opening the records.";
      await new Promise((resolve) => { setTimeout(resolve, 200); });
      try { known.job = (await ask("job")).job; } catch (error) { fail("release", error); return; }
      watch();
    } else if (job.state === "done") {
      openReport();
    } else {
      byId("confirmation").disabled = false;
      fail("release", new Error(job.error));
      byId("go").disabled = byId("confirmation").value !== draft.dataset;
    }
  }

  // ---------------------------------------------------------------- 6: the report
  async function openReport() {
    show("report");
    byId("frame").src = "report";
    startRegression();
    if (!known.public) return;
    const pairs = (await ask("comparison")).pairs, signed = (v) => (v < 0 ? "\u2212" : "+") + Math.abs(v).toFixed(2);
    byId("beside").hidden = !pairs.length;
    byId("beside").querySelector("tbody").replaceChildren(...pairs.map((pair) => {
      const row = document.createElement("tr");
      for (const text of [pair.first, pair.second, signed(pair.released), pair.lower === null ? "none" : `${signed(pair.lower)} to ${signed(pair.upper)}`, signed(pair.exact)]) {
        const cell = document.createElement("td");
        if (row.cells.length > 1) cell.className = "number";
        cell.textContent = text; row.append(cell);
      }
      return row;
    }));
  }

  let variables = [];
  async function startRegression() {
    variables = (await ask("variables")).variables;
    byId("outcome").replaceChildren(...variables.map((name, k) => new Option(name, name, false, k === variables.length - 1)));
    byId("regressors").replaceChildren(...variables.map((name) => {
      const label = document.createElement("label"), box = document.createElement("input");
      box.type = "checkbox"; box.checked = true; box.value = name; box.addEventListener("change", regress);
      label.append(box, name);
      return label;
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
      const found = await ask("regression", { outcome, on });
      if (turn !== regressions) return;
      const digits = (v) => v === null ? "?" : Number(v.toPrecision(3)).toString().replace("-", "\u2212");
      body.replaceChildren(...found.terms.map((term) => {
        const row = document.createElement("tr");
        for (const text of [term.term, digits(term.coef), digits(term.std_err), `${digits(term.lower)} to ${digits(term.upper)}`, term.p_value === null ? "?" : term.p_value < 0.001 ? "< 0.001" : term.p_value.toFixed(3)]) {
          const cell = document.createElement(row.cells.length ? "td" : "th");
          if (row.cells.length) cell.className = "number"; else cell.scope = "row";
          cell.textContent = text; row.append(cell);
        }
        return row;
      }));
      byId("fit").textContent = [`R² = ${found.r_squared.toFixed(2)}.`, ...found.notes].join(" ");
    } catch (error) { if (turn === regressions) { body.replaceChildren(); byId("fit").textContent = error.message; } }
  }
  byId("outcome").addEventListener("change", regress);

  // ---------------------------------------------------------------- begin
  async function begin() {
    known = await ask("state");
    byId("no-script").hidden = true;
    if (known.only_report) {
      document.body.classList.add("only-report");
      byId("title").textContent = "A release";
      openReport();
      return;
    }
    Object.assign(draft, known.draft);
    byId("path").value = known.data || "";
    for (const name of ["people", "epsilon", "delta", "width"]) byId(name).value = draft[name];
    if (known.data) startColumns();
    drawAccounts();
    const step = !known.data ? "table" : draft.step === "table" ? "columns" : draft.step;
    if (known.job !== null) { await review().catch(() => {}); watch(); return; }
    if (["review", "release", "report"].includes(step)) {
      try { await review(); } catch { show("budget", false); return; }
    }
    show(step === "report" ? "release" : step, false);
  }
  begin().catch((error) => { byId("no-script").textContent = error.message; });
})();
