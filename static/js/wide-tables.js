// What is wider than its frame, a table most of all, is scrolled by key as well: the frame takes the focus, with a name.
// A list's cells know the head of their column, which stands before them on a phone; they stay a table for who listens.
(() => {
  const nameOf = (frame) => {
    const table = frame.querySelector("table");
    const own = table?.getAttribute("aria-label") || table?.caption?.textContent;
    return (own || frame.closest("section, details, main")?.querySelector("h1, h2, h3, h4, summary")?.textContent || "").trim();
  };
  const see = (frame) => {
    const wide = frame.scrollWidth > frame.clientWidth + 1 || frame.scrollHeight > frame.clientHeight + 1;
    if (wide === frame.hasAttribute("tabindex")) return;
    if (!wide) { for (const name of ["tabindex", "role", "aria-label"]) frame.removeAttribute(name); return; }
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", nameOf(frame) || document.title);
  };
  const sizes = new ResizeObserver((entries) => { for (const { target } of entries) see(target); });
  // The head of its column stands before what a cell says, without the white space that begins the cell.
  const tighten = (cell) => {
    for (let one = cell.firstChild; one;) {
      if (one.nodeType === Node.TEXT_NODE) one.data = one.data.trimStart();
      one = one.nodeType === Node.TEXT_NODE ? !one.data && one.nextSibling : one.firstChild;
    }
  };
  const say = (table) => {
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent.trim());
    const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
    for (const one of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) {
      one.setAttribute("role", roles[one.tagName] ?? (one.scope === "row" ? "rowheader" : "columnheader"));
    }
    for (const row of table.tBodies[0]?.rows ?? []) {
      let place = 0;
      for (const cell of row.cells) {
        if (cell.tagName === "TD" && cell.colSpan === 1 && heads[place]) {
          cell.dataset.head = heads[place];
          tighten(cell);
        }
        cell.toggleAttribute("data-none", ["", "–"].includes(cell.textContent.trim()) && !cell.children.length);
        place += cell.colSpan;
      }
    }
  };
  const watch = () => {
    for (const table of document.querySelectorAll("table.list")) say(table);
    for (const frame of document.querySelectorAll(".scroll-x, .chart, pre")) { sizes.observe(frame); see(frame); }
  };
  watch();
  document.addEventListener("htmx:afterSettle", watch);
})();
