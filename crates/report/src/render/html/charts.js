"use strict";

// The page's own scripts share these.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Three significant digits, whole from a thousand on, with commas between thousands. */
const number = (value) => Math.abs(value) >= 1000
  ? Math.round(value).toLocaleString("en")
  : Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 10 });

(() => {
  /** A phone, in pixels. */
  const NARROW = 600;
  const family = getComputedStyle(document.body).fontFamily;
  const canvas = document.createElement("canvas").getContext("2d");
  /** The width of a text, in pixels. */
  const widthOf = (text, size) => {
    canvas.font = `${size}px ${family}`;
    return canvas.measureText(text).width;
  };

  // ---- spreads: intervals and single blocks

  /** Values of a place from its third on, without those that are missing: single blocks, as small circles. */
  const blocks = (api, count, at, style) => Array.from({ length: count }, (_, block) => api.value(3 + block))
    .filter((value) => Number.isFinite(value))
    .map((value) => ({ type: "circle", shape: { cx: at(value)[0], cy: at(value)[1], r: 2 }, style }));

  /** The interval of a bar, its blocks, and beyond them the label of a horizontal bar, in the middle of the bar of the same name. */
  const whisker = ({ horizontal, blocks: count, labels }) => (params, api) => {
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
    const children = blocks(api, count, at, { stroke: ink("--ink"), lineWidth: 1, fill: ink("--paper") });
    const [low, high] = [api.value(1), api.value(2)];
    const middle = at(0)[along];
    const line = (a, b, c, d) => ({
      type: "line",
      shape: horizontal ? { x1: a, y1: b, x2: c, y2: d } : { x1: b, y1: a, x2: d, y2: c },
      style: { stroke: ink("--ink"), lineWidth: 1, fill: null },
    });
    if (Number.isFinite(low)) {
      const half = Math.min(4, layout.width / 3);
      const [from, to] = [at(low)[1 - along], at(high)[1 - along]];
      children.push(line(from, middle, to, middle), line(from, middle - half, from, middle + half), line(to, middle - half, to, middle + half));
    }
    if (labels) {
      // The mean is behind the blocks.
      const values = Array.from({ length: count + 3 }, (_, place) => api.value(1 + place));
      const [end] = at(Math.max(0, ...values.filter((value) => Number.isFinite(value))));
      children.push({ type: "text", style: {
        text: labels[params.dataIndex], x: end + 7, y: middle, fill: ink("--ink"), font: `11px ${family}`, verticalAlign: "middle",
      } });
    }
    return { type: "group", children };
  };

  /** The interval of a point of a line, a vertical line with two ends, and its blocks. */
  const range = ({ blocks: count }) => (params, api) => {
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

  const drawers = { whisker, range };

  // ---- words of the options that stand for functions

  /** 1 / (1 - q) as a percentile: 100 is 99 %. */
  const percentile = (oneIn) => `${Number((100 * (1 - 1 / oneIn)).toPrecision(7))} %`;
  /** For the labels of an axis, which have little space. */
  const short = (value) => (Math.abs(value) >= 1e6 ? `${number(value / 1e6)} M` : number(value));
  const formats = { percentile, second: (second) => `${second} s` };

  /** Lines of text as an element: a function that returned a string would return markup. */
  const lines = (texts) => {
    const made = document.createElement("div");
    made.className = "tip";
    made.textContent = texts.filter(Boolean).join("\n");
    return made;
  };

  const spread = (series, place) => {
    const ci = series.ci?.[place];
    return ci ? ` (95 % CI ${number(ci[0])} to ${number(ci[1])})` : "";
  };

  /** What a pointer over an item of a chart shows. */
  const tip = ({ unit = "", x, baseOption: { series } }) => (found) => {
    if (Array.isArray(found)) {
      const medians = found.filter((one) => Number.isFinite(one.value) && !series[one.seriesIndex].silent);
      return lines([`${found[0].axisValue} s`, ...medians.map((one) => `${one.seriesName}: ${number(one.value)}`)]);
    }
    const { seriesType, seriesName, seriesIndex, dataIndex, name, value } = found;
    if (seriesType === "boxplot") {
      const [min, lower, median, upper, max] = value.slice(1).map(number);
      return lines([name, `min ${min}, quartiles ${lower}, ${median} and ${upper}, max ${max} ${unit}`]);
    }
    const at = Array.isArray(value) && x ? (x === "percentile" ? percentile(value[0]) : `${number(value[0])} ${x}`) : name;
    const figure = Array.isArray(value) ? value[x ? 1 : 0] : value;
    return lines([at, `${seriesName}: ${number(figure)} ${unit}${spread(series[seriesIndex], dataIndex)}`]);
  };

  // ---- names at the ends of lines, in place of a legend

  const NAME = 12;
  const PITCH = 15;
  const DASH = 12;

  const named = (option) => option.baseOption.series
    .map((series, index) => ({ series, index }))
    .filter(({ series }) => series.type === "line" && series.name && !series.silent);

  /** The width that the names need right of the lines; undefined where a legend is better. */
  const margin = (option, width, height) => {
    if (!option.direct) return undefined;
    const all = named(option);
    const inGrid = (grid) => all.filter(({ series }) => (series.xAxisIndex ?? 0) === grid).length;
    const most = Math.max(0, ...[option.baseOption.grid].flat().map((_, grid) => inGrid(grid)));
    const longest = Math.max(0, ...all.map(({ series }) => widthOf(series.name, NAME)));
    const fits = most > 0 && most * PITCH <= height - 20 && longest + DASH + 12 <= 0.4 * width;
    return fits ? longest + DASH + 12 : undefined;
  };

  /** The last value of a line, in pixels. */
  const endOf = (drawn, { series, index }) => {
    const place = series.data.findLastIndex((point) => (Array.isArray(point) ? point[1] : point) !== null);
    if (place < 0) return undefined;
    const point = series.data[place];
    return drawn.convertToPixel({ seriesIndex: index }, Array.isArray(point) ? point : [place, point]);
  };

  /** Names one below the other, near the ends of their lines. */
  const settle = (names, bottom) => {
    names.sort((a, b) => a.y - b.y);
    names.forEach((name, n) => { name.at = n ? Math.max(name.y, names[n - 1].at + PITCH) : name.y; });
    for (let n = names.length - 1; n >= 0; n--) {
      const limit = n + 1 < names.length ? names[n + 1].at - PITCH : bottom;
      names[n].at = Math.min(names[n].at, limit);
    }
    return names;
  };

  const nameLines = (drawn, option, edge) => {
    const grids = new Map();
    for (const one of named(option)) {
      const end = endOf(drawn, one);
      if (!end) continue;
      const grid = one.series.xAxisIndex ?? 0;
      const rect = drawn.getModel().getComponent("grid", grid).coordinateSystem.getRect();
      if (!grids.has(grid)) grids.set(grid, { bottom: rect.y + rect.height, names: [] });
      grids.get(grid).names.push({ x: end[0], y: end[1], text: one.series.name, colour: one.series.color, dashed: one.series.lineStyle?.type === "dashed" });
    }
    const elements = [...grids.values()].flatMap(({ bottom, names }) => settle(names, bottom)).flatMap(({ x, y, at, text, colour, dashed }) => [
      { type: "polyline", silent: true, shape: { points: [[Math.min(x + 4, edge), y], [edge, y], [edge + 5, at], [edge + DASH, at]] },
        style: { stroke: colour, fill: "none", lineWidth: 1, opacity: 0.8, lineDash: dashed ? [3, 3] : null } },
      { type: "text", silent: true, x: edge + DASH + 4, y: at, style: { text, fill: ink("--ink"), font: `${NAME}px ${family}`, verticalAlign: "middle" } },
    ]);
    drawn.setOption({ graphic: elements });
  };

  // ---- the legend, as a list of buttons below the caption

  const swatch = (colour) => {
    const made = document.createElement("span");
    made.className = "swatch";
    made.style.background = colour;
    return made;
  };

  const legend = ({ place, drawn }, option, isShown) => {
    const list = place.parentElement.previousElementSibling;
    if (!list?.classList.contains("legend")) return;
    const { color, legend: { data, selected } } = option.baseOption;
    const button = (name, n) => {
      const made = document.createElement("button");
      made.type = "button";
      made.setAttribute("aria-pressed", selected?.[name] !== false);
      const own = option.baseOption.series.find((series) => series.name === name);
      made.append(swatch(own?.color ?? color[n % color.length]), name);
      made.addEventListener("click", () => {
        made.setAttribute("aria-pressed", made.getAttribute("aria-pressed") !== "true");
        drawn.dispatchAction({ type: "legendToggleSelect", name });
      });
      const item = document.createElement("li");
      item.append(made);
      return item;
    };
    list.hidden = !isShown;
    list.replaceChildren(...(isShown ? data.map(button) : []));
  };

  // ---- drawing

  const styled = (option, width, right) => {
    const base = structuredClone(option.baseOption);
    const text = { color: ink("--ink"), fontFamily: family };
    base.animation = false;
    base.textStyle = text;
    base.legend = { ...base.legend, show: false };
    base.tooltip = { ...base.tooltip, confine: true, backgroundColor: ink("--paper"), borderColor: ink("--rule"), textStyle: text, formatter: tip(option) };
    if (right) for (const grid of [base.grid].flat()) grid.right = right;
    for (const axis of [base.xAxis, base.yAxis].flat()) {
      axis.axisLabel = { ...axis.axisLabel, color: ink("--ink") };
      axis.axisLabel.formatter = formats[axis.axisLabel.formatter] ?? (axis.type === "category" ? undefined : short);
      axis.axisLine = { onZero: false, lineStyle: { color: ink("--quiet") } };
      axis.nameTextStyle = { ...axis.nameTextStyle, color: ink("--quiet") };
      axis.splitLine = { show: axis.type !== "category" && axis.show !== false, lineStyle: { color: ink("--rule") } };
      axis.axisTick = { show: false };
    }
    // Below the lowest label of the other axis, even where that one is at the corner.
    for (const axis of [base.xAxis].flat()) Object.assign(axis.axisLabel, { margin: 13, hideOverlap: true });
    // A name that is wider than its bars is cut; the tooltip has it whole.
    for (const axis of [base.xAxis].flat().filter(({ type, boundaryGap }) => type === "category" && boundaryGap !== false)) {
      const room = (width - 60) / axis.data.length;
      if (room >= 60) Object.assign(axis.axisLabel, { interval: 0, width: room - 12, overflow: "truncate" });
    }
    for (const series of base.series) {
      if (series.renderItem) series.renderItem = drawers[series.renderItem](series);
      for (const mark of [series.markArea, series.markLine]) {
        if (mark) mark.label = { ...mark.label, color: ink("--ink") };
      }
      // The remark below says what the colours of the areas mean.
      if (series.markArea && width < NARROW) series.markArea.label.show = false;
    }
    if (option.rows) rows(base, option.rows, width);
    return base;
  };

  /** The space of the categories of a chart of rows. */
  const labels = (width) => (width < NARROW ? 110 : 230);
  const rows = (base, { ends }, width) => {
    const labelsWidth = labels(width);
    const axis = [base.yAxis].flat()[0];
    axis.axisLabel = { ...axis.axisLabel, width: labelsWidth, overflow: "break", lineHeight: 14, interval: 0 };
    base.grid = { ...base.grid, left: labelsWidth + 10, right: Math.max(28, ...ends.map((end) => widthOf(end, 11) + 14)) };
  };
  /** How many lines a name takes that breaks between its words, and within a word that is longer than a line. */
  const linesOf = (name, width) => {
    let [count, used] = [1, 0];
    for (const word of name.split(" ")) {
      const own = widthOf(`${word} `, 12);
      if (used > 0 && used + own > width) [count, used] = [count + 1, 0];
      for (used += own; used > width; used -= width) count += 1;
    }
    return count;
  };
  /** Every category has as much height as the one with the longest name needs. */
  const heightOf = (option, width) => {
    if (!option.rows) return option.height;
    const names = [option.baseOption.yAxis].flat()[0].data;
    const most = Math.max(1, ...names.map((name) => linesOf(name, labels(width))));
    return option.height + names.length * Math.max(option.rows.band, 14 * most + 6);
  };

  const options = read("charts");
  const charts = [...document.querySelectorAll("[data-chart]")].filter((place) => place.dataset.chart in options)
    .map((place) => ({ place, drawn: echarts.init(place, null, { renderer: "svg", width: 600, height: 300 }) }));
  const drawOne = (chart) => {
    const { place, drawn } = chart;
    const option = options[place.dataset.chart];
    place.classList.toggle("wide", option.wide === true);
    const width = place.clientWidth;
    if (width === 0) return;
    const height = heightOf(option, width);
    place.style.height = `${height}px`;
    drawn.resize({ width, height });
    const right = margin(option, width, option.panel ?? height - 90);
    drawn.setOption(styled(option, width, right), true);
    if (right) nameLines(drawn, option, width - right);
    legend(chart, option, !right && !option.rows?.ends.length && option.baseOption.legend?.data.length > 1);
  };
  const draw = () => charts.forEach(drawOne);
  draw();

  // ---- one chart for many cells: its select says which

  for (const select of document.querySelectorAll("[data-chooses]")) {
    const chart = charts.find(({ place }) => place.id === `chart-${select.dataset.chooses}`);
    select.form.addEventListener("submit", (event) => event.preventDefault());
    select.addEventListener("input", () => { chart.place.dataset.chart = select.value; drawOne(chart); });
  }

  // ---- draw again where the colours or the space change

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) draw();
    width = innerWidth;
  });
  document.addEventListener("toggle", (event) => {
    for (const chart of charts) if (event.target.contains(chart.place)) drawOne(chart);
  }, true);

  // ---- print: what is open, in the colours and the width of paper, to which wide tables shrink. The class is set first, because the
  // page is measured and drawn before print styles apply

  const onPaper = (isPaper) => {
    document.documentElement.classList.toggle("paper", isPaper);
    for (const table of document.querySelectorAll("table")) table.style.zoom = "";
    if (isPaper) {
      for (const table of document.querySelectorAll("table")) {
        table.style.zoom = Math.min(1, table.parentElement.clientWidth / table.scrollWidth) || 1;
      }
    }
    draw();
  };
  addEventListener("beforeprint", () => onPaper(true));
  addEventListener("afterprint", () => onPaper(false));

  // ---- the contents bar shows where the reader is

  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -80% 0px" });
  for (const id of links.keys()) {
    const section = document.getElementById(id);
    if (section) seen.observe(section);
  }
})();
