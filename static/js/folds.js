// An anchor opens the fold that it leads into, and a printed page has all folds open.
(() => {
  const open = () => {
    let named = null;
    try { named = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (!named) return;
    for (let fold = named.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) {
      fold.open = true;
    }
    named.scrollIntoView();
  };
  let printed = [];
  addEventListener("hashchange", open);
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.("a[href^='#']");
    if (link && link.hash === location.hash) open();
  });
  addEventListener("beforeprint", () => {
    printed = [...document.querySelectorAll("main details:not([open])")];
    for (const fold of printed) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of printed) fold.open = false; });
  if (location.hash) open();
})();
