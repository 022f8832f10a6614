// A part of a page that is fetched anew leaves its reader where they were: focus on the same control, folds as they were.
(() => {
  const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
  const isChoice = (one) => /^(?:button|submit|radio|checkbox)$/.test(one.type ?? "");
  const sign = (one) => [
    one.id || one.tagName, one.getAttribute("href"), one.getAttribute("aria-label"), one.name, isChoice(one) ? one.value : "",
    one.matches("a, button, summary") ? one.textContent.trim() : "",
  ].join("\n");
  // By what each is and says; of several alike, by their order.
  const named = (ones) => {
    const times = {};
    return new Map(ones.map((one) => {
      const own = sign(one);
      times[own] = (times[own] ?? 0) + 1;
      return [`${own}\n${times[own]}`, one];
    }));
  };
  const controls = (place) => named([...place.querySelectorAll(CONTROLS)]);
  const folds = (place) => named([...place.querySelectorAll("details > summary:first-child")]);
  const kept = new Map();

  const keep = ({ detail: { target } }) => {
    const held = document.activeElement;
    const focus = target.contains(held) ? [...controls(target)].find(([, one]) => one === held)?.[0] : undefined;
    const open = new Map([...folds(target)].map(([name, one]) => [name, one.parentElement.open]));
    kept.set(target.id || target, { target, focus, open });
  };
  const restore = () => {
    for (const { target, focus, open } of kept.values()) {
      const place = target.isConnected ? target : document.getElementById(target.id);
      if (!place) continue;
      for (const [name, one] of folds(place)) one.parentElement.open = open.get(name) ?? one.parentElement.open;
      if (focus && [null, document.body].includes(document.activeElement)) controls(place).get(focus)?.focus({ preventScroll: true });
    }
    kept.clear();
  };
  document.addEventListener("htmx:beforeSwap", keep);
  document.addEventListener("htmx:oobBeforeSwap", keep);
  document.addEventListener("htmx:afterSettle", restore);
})();
