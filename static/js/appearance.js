// The reader's choice of light or dark and of serif or sans, kept in this browser. Runs before the first paint.
(() => {
  const root = document.documentElement;
  const defaults = { theme: "system", face: "serif" };
  const kept = (name) => {
    try { return localStorage.getItem(`plumbline:${name}`) || defaults[name]; } catch { return defaults[name]; }
  };
  const apply = (name, value) => {
    if (value === defaults[name]) delete root.dataset[name];
    else root.dataset[name] = value;
    for (const button of document.querySelectorAll(`[data-choose="${name}"]`)) {
      button.setAttribute("aria-pressed", String(button.value === value));
    }
  };
  root.classList.add("js");
  for (const name in defaults) apply(name, kept(name));
  document.addEventListener("DOMContentLoaded", () => {
    for (const name in defaults) apply(name, kept(name));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-choose]");
    if (button) {
      apply(button.dataset.choose, button.value);
      try { localStorage.setItem(`plumbline:${button.dataset.choose}`, button.value); } catch { /* kept for this page only */ }
    }
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = event.target.closest?.("details.menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });
})();
