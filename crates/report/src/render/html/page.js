"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // ---- charts

  /** The values of a place from its third on, without those that are missing: single blocks, as small circles. */
  const blocks = (api, count, at, style) => Array.from({ length: count }, (_, block) => api.value(3 + block))
    .filter((value) => Number.isFinite(value))
    .map((value) => ({ type: "circle", shape: { cx: at(value)[0], cy: at(value)[1], r: 2 }, style }));

  /** The interval of a bar, a line with two ends, and its blocks, in the middle of the bar of the same name. */
  const whisker = (horizontal, count) => (params, api) => {
    const visible = api.currentSeriesIndices();
    const bars = visible.length / 2;
    const place = visible.slice(bars).indexOf(params.seriesIndex);
    const layout = api.barLayout({ barGap: "12%", barCategoryGap: "28%", count: bars })[place];
    if (!layout) return null;
    const along = horizontal ? 1 : 0;
    const at = (value) => {
      const point = api.coord(horizontal ? [value, api.value(0)] : [api.value(0), value]);
      point[along] += layout.offsetCenter;
      return point;
    };
    const circles = blocks(api, count, at, { stroke: ink("--ink"), lineWidth: 1, fill: ink("--paper") });
    const [low, high] = [api.value(1), api.value(2)];
    if (!Number.isFinite(low)) return { type: "group", children: circles };
    const middle = at(low)[along];
    const half = Math.min(4, layout.width / 3);
    const line = (a, b, c, d) => ({
      type: "line",
      shape: horizontal ? { x1: a, y1: b, x2: c, y2: d } : { x1: b, y1: a, x2: d, y2: c },
      style: { stroke: ink("--ink"), lineWidth: 1, fill: null },
    });
    const [from, to] = [at(low)[1 - along], at(high)[1 - along]];
    return { type: "group", children: [
      line(from, middle, to, middle),
      line(from, middle - half, from, middle + half),
      line(to, middle - half, to, middle + half),
      ...circles,
    ] };
  };

  /** The interval of a point of a line, a vertical line with two ends, and its blocks. */
  const range = (count) => (params, api) => {
    const at = (value) => api.coord([api.value(0), value]);
    const colour = api.visual("color");
    const circles = blocks(api, count, at, { stroke: colour, lineWidth: 1, fill: "none" });
    if (!Number.isFinite(api.value(1))) return { type: "group", children: circles };
    const [low, high] = [at(api.value(1)), at(api.value(2))];
    const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: 1 } });
    return { type: "group", children: [
      line(low[0], low[1], high[0], high[1]),
      line(low[0] - 3, low[1], low[0] + 3, low[1]),
      line(high[0] - 3, high[1], high[0] + 3, high[1]),
      ...circles,
    ] };
  };

  /** 1 / (1 - q) as a percentile: 100 is 99 %. */
  const percentile = (oneIn) => `${Number((100 * (1 - 1 / oneIn)).toPrecision(7))} %`;

  const styled = (option) => {
    const base = structuredClone(option.baseOption);
    const text = { color: ink("--ink"), fontFamily: getComputedStyle(document.body).fontFamily };
    base.animation = false;
    base.textStyle = text;
    base.legend = { ...base.legend, textStyle: text, pageTextStyle: text, pageIconColor: ink("--ink"), inactiveColor: ink("--rule") };
    base.tooltip = { ...base.tooltip, confine: true, backgroundColor: ink("--paper"), borderColor: ink("--rule"), textStyle: text };
    if (base.title) base.title.textStyle = { ...base.title.textStyle, ...text };
    for (const axis of [base.xAxis, base.yAxis].flat()) {
      axis.axisLabel = { ...axis.axisLabel, color: ink("--ink") };
      if (axis.axisLabel.formatter === "percentile") axis.axisLabel.formatter = percentile;
      axis.axisLine = { lineStyle: { color: ink("--quiet") } };
      axis.nameTextStyle = { ...axis.nameTextStyle, color: ink("--quiet") };
      axis.splitLine = { show: axis.type !== "category", lineStyle: { color: ink("--rule") } };
      axis.axisTick = { show: false };
    }
    for (const series of base.series) {
      if (series.renderItem === "whisker") series.renderItem = whisker(series.horizontal, series.blocks);
      if (series.renderItem === "range") series.renderItem = range(series.blocks);
      for (const mark of [series.markArea, series.markLine]) {
        if (mark) mark.label = { ...mark.label, color: ink("--ink") };
      }
    }
    return option.media ? { baseOption: base, media: option.media } : base;
  };

  const options = read("charts");
  const charts = [...document.querySelectorAll("[data-chart]")].filter((place) => place.dataset.chart in options)
    .map((place) => ({ place, drawn: echarts.init(place, null, { renderer: "svg", height: 300 }) }));
  const drawOne = ({ place, drawn }) => {
    const option = options[place.dataset.chart];
    place.style.height = `${option.height}px`;
    place.classList.toggle("wide", option.wide === true);
    drawn.resize({ height: "auto" });
    drawn.setOption(styled(option), true);
  };
  const draw = () => charts.forEach(drawOne);
  draw();

  // ---- one chart for many cells: its select says which

  for (const select of document.querySelectorAll("[data-chooses]")) {
    const chart = charts.find(({ place }) => place.id === `chart-${select.dataset.chooses}`);
    select.form.addEventListener("submit", (event) => event.preventDefault());
    select.addEventListener("input", () => { chart.place.dataset.chart = select.value; drawOne(chart); });
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("resize", () => charts.forEach(({ drawn }) => drawn.resize()));

  // ---- print: everything open, in the colours of paper. The class is set first, because charts read the colours before print styles apply

  const closed = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) { details.open = true; closed.push(details); }
    document.documentElement.classList.add("paper");
    draw();
  });
  addEventListener("afterprint", () => {
    for (const details of closed.splice(0)) details.open = false;
    document.documentElement.classList.remove("paper");
    draw();
  });

  // ---- counters of any two rows

  const form = document.getElementById("counter-choice");
  if (!form) return;
  const { rows, meanings, doubled } = read("counters");
  const body = form.parentElement.querySelector("tbody");
  const names = [...form.elements.A.options].map((option) => option.text);
  const chosen = form.parentElement.querySelectorAll("dd");

  const count = (value) => {
    if (value === undefined) return "absent";
    const digits = Math.abs(value) < 1000 ? 1 : 0;
    return value.toLocaleString("en", { maximumFractionDigits: digits });
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
