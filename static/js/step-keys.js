// Previous and next by keyboard: k or the left arrow, j or the right arrow, outside of fields.
(() => {
  const ways = { k: "prev", ArrowLeft: "prev", j: "next", ArrowRight: "next" };
  document.addEventListener("keydown", (event) => {
    const way = ways[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest?.("input, select, textarea, summary, .scroll-x, [contenteditable]")) return;
    const link = document.querySelector(`a[rel="${way}"]`);
    if (!link) return;
    event.preventDefault();
    link.click();
  });
})();
