"use strict";

// ---- counters of any two rows

(() => {
  const form = document.getElementById("counter-choice");
  if (!form) return;
  const { rows, meanings, doubled } = read("counters");
  const body = form.parentElement.querySelector("tbody");
  const names = [...form.elements.A.options].map((option) => option.text);
  const chosen = form.parentElement.querySelectorAll("dd");

  // As the tables that the page comes with.
  const count = (value) => {
    if (value === undefined) return "absent";
    const size = Math.abs(value);
    const digits = Number.isInteger(value) || size >= 999.95 ? 0 : size < 1 ? 4 : size < 10 ? 2 : 1;
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };
  const ratio = (a, b) => {
    if (a === undefined || b === undefined || b === 0) return "-";
    const value = a / b;
    return value >= 100 ? count(Math.round(value)) : value >= 10 ? value.toFixed(1) : value >= 0.1 || value === 0 ? value.toFixed(2) : value.toFixed(4);
  };
  const distance = (a, b) => {
    if (a === undefined || b === undefined) return -1;
    if (a <= 0 || b <= 0) return a === b ? 0 : 50;
    return Math.abs(Math.log(a / b));
  };
  const cell = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const means = (name, A, B, round) => {
    const twice = doubled.counters.includes(name) && [["A", A], ["B", B]].filter(([, place]) => doubled.rows[place].includes(round));
    const warning = twice && twice.length ? `counts each row twice under MRR, which ${twice.length > 1 ? "both" : twice[0][0]} used: no more work` : "";
    return [meanings[name], warning].filter(Boolean).join("; ");
  };
  const line = ({ name, a, b, says }) => {
    const row = document.createElement("tr");
    const head = cell("th", "", "words");
    head.scope = "row";
    head.append(cell("code", name), ...(says ? [cell("p", says, "quiet")] : []));
    row.append(head, cell("td", count(a), "n"), cell("td", count(b), "n"), cell("td", ratio(a, b), "n"));
    return row;
  };
  const compare = () => {
    const { A, B, round, filter } = Object.fromEntries(new FormData(form));
    const [of, to] = [rows[A][round] ?? {}, rows[B][round] ?? {}];
    const all = [...new Set([...Object.keys(of), ...Object.keys(to)])].map((name) => ({ name, a: of[name], b: to[name], says: means(name, A, B, round) }));
    const shown = all.filter(({ name, a, b }) => (a || b) && name.toLowerCase().includes(filter.toLowerCase()));
    const known = ({ name }) => (name in meanings ? 1 : 0);
    shown.sort((x, y) => known(y) - known(x) || distance(y.a, y.b) - distance(x.a, x.b) || x.name.localeCompare(y.name));
    body.replaceChildren(...shown.map(line));
    [chosen[0].textContent, chosen[1].textContent] = [names[A], names[B]];
  };
  form.addEventListener("input", compare);
  form.addEventListener("submit", (event) => event.preventDefault());
})();
