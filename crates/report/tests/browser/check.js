// What is wrong with the layout of the page that this is evaluated in: a list of sentences. Every choice of every chart is drawn.
(() => {
  const problems = new Set();
  const report = (text) => problems.add(text);
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
  const where = (element) => element.closest("section, header, nav, footer")?.id || element.closest("header, nav, footer")?.tagName.toLowerCase();
  const words = (element) => element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);

  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll, pre, .contents"));
    report(`the page is ${page.scrollWidth} px wide, ${innerWidth} px are shown: ${wide.slice(0, 3).map((element) => `${element.tagName} "${words(element)}"`).join(", ")}`);
  }

  // ---- tables

  for (const table of document.querySelectorAll("table")) {
    if (!isShown(table)) continue;
    for (let around = table.parentElement; around !== document.body; around = around.parentElement) {
      const scrolls = ["auto", "scroll"].includes(getComputedStyle(around).overflowX);
      if (scrolls) break;
      if (table.getBoundingClientRect().right > around.getBoundingClientRect().right + 1) {
        report(`${where(table)}: a table is cut by its ${around.tagName.toLowerCase()}.${around.className}`);
      }
    }
    for (const cell of table.querySelectorAll("th, td")) {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const [text, box] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
      if (isShown(cell) && text.width > 0 && text.right > box.right + 1 && !cell.closest("thead")?.parentElement.matches(".cards")) {
        report(`${where(table)}: "${words(cell)}" leaves its cell`);
      }
    }
    // Every row of the body fills the columns of the head, with the cells that reach down from above.
    const columns = table.tHead?.rows[0]?.cells.length;
    let reaching = [];
    for (const row of table.tBodies[0]?.rows ?? []) {
      const filled = row.cells.length + reaching.length;
      if (columns && filled !== columns) report(`${where(table)}: the row "${words(row)}" has ${filled} cells for ${columns} columns`);
      reaching = [...reaching, ...[...row.cells].map((cell) => cell.rowSpan)].map((rows) => rows - 1).filter((rows) => rows > 0);
    }
    for (const head of table.querySelectorAll("th:not([scope])")) report(`${where(table)}: the head "${words(head)}" has no scope`);
  }

  // ---- charts

  const texts = (svg) => [...svg.querySelectorAll("text")]
    .filter((text) => text.textContent.trim() && isShown(text))
    .map((text) => ({ text: words(text), box: text.getBoundingClientRect() }));
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const chart = (svg, name) => {
    const all = texts(svg);
    const frame = svg.getBoundingClientRect();
    all.forEach(({ text, box }, n) => {
      const other = all.slice(n + 1).find((other) => overlap(box, other.box));
      if (other) report(`${name}: the labels "${text}" and "${other.text}" overlap`);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) report(`${name}: the label "${text}" is cut`);
    });
    if (frame.width > svg.parentElement.closest(".chart, td").getBoundingClientRect().width + 1) report(`${name}: the drawing is wider than its place`);
  };
  for (const place of document.querySelectorAll("[data-chart]")) {
    const choices = [...document.querySelectorAll("[data-chooses]")].filter((select) => `chart-${select.dataset.chooses}` === place.id);
    const names = choices.flatMap((select) => [...select.options].map((option) => option.value));
    for (const name of names.length ? names : [place.dataset.chart]) {
      for (const select of choices) {
        select.value = name;
        select.dispatchEvent(new Event("input"));
      }
      const svg = place.querySelector("svg");
      if (!svg || svg.querySelectorAll("path, polyline, polygon").length < 3) report(`${name}: the chart is empty`);
      else chart(svg, name);
    }
    if (!place.getAttribute("aria-label")) report(`${place.id} has no text alternative`);
  }
  for (const svg of document.querySelectorAll("svg.ratio")) {
    if (isShown(svg)) chart(svg, `ratio of ${words(svg.closest("tr"))}`);
    if (!svg.querySelector("title")?.textContent) report("a drawing has no title");
  }

  // ---- texts that are too pale to read (WCAG 2, AA)

  const channels = (colour) => colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
  const luminance = ([r, g, b]) => [r, g, b]
    .map((channel) => channel / 255)
    .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4))
    .reduce((sum, share, n) => sum + share * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (element) => {
    for (let around = element; around; around = around.parentElement) {
      const colour = channels(getComputedStyle(around).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("script, style, option, title") || !isShown(element)) continue;
    const style = getComputedStyle(element);
    const colour = channels(element.closest("svg") ? style.fill : style.color);
    const [a, b] = [luminance(colour), luminance(behind(element))].sort((a, b) => b - a);
    if ((a + 0.05) / (b + 0.05) < 4.5) report(`${where(element)}: "${words(element)}" has a contrast of ${((a + 0.05) / (b + 0.05)).toFixed(1)}`);
  }

  // ---- the contents bar

  for (const link of document.querySelectorAll(".contents a")) {
    if (!document.getElementById(link.hash.slice(1))) report(`the contents bar leads to ${link.hash}, which does not exist`);
  }
  return [...problems];
})()
