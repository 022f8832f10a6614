// The tab of the current page is in view where the row of tabs is wider than the window.
(() => {
  const show = () => {
    for (const row of document.querySelectorAll(".tabs")) {
      const tab = row.querySelector("[aria-current]");
      if (!tab) continue;
      const [outer, inner] = [row.getBoundingClientRect(), tab.getBoundingClientRect()];
      if (inner.left < outer.left || inner.right > outer.right) {
        row.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
      }
    }
  };
  show();
  document.addEventListener("htmx:afterSettle", show);
})();
