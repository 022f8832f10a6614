// What is wider than its frame, a table most of all, is scrolled by key as well: the frame takes the focus, with a name.
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
  const watch = () => { for (const frame of document.querySelectorAll(".scroll-x, .chart, pre")) { sizes.observe(frame); see(frame); } };
  watch();
  document.addEventListener("htmx:afterSettle", watch);
})();
