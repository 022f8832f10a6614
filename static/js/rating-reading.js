// Finding one's way in long texts: sections of one response or of both together, panes on a phone, words found.
(() => {
  const task = () => document.getElementById("task");
  const panes = () => [...document.querySelectorAll(".pane")];
  const inView = () => panes().filter((pane) => pane.offsetParent);
  const scrolls = (pane) => getComputedStyle(pane).overflowY === "auto";
  const headings = (pane) => [...pane.querySelectorAll(".block > :is(h3, h4, h5, h6)")];
  const active = () => document.activeElement?.closest(".pane") || panes().find((pane) => pane.dataset.pane === task().dataset.pane) || panes()[0];

  const show = (letter) => {
    task().dataset.pane = letter;
    for (const button of document.querySelectorAll("[data-show-pane]")) {
      button.setAttribute("aria-pressed", String(button.dataset.showPane === letter));
    }
  };
  // The text that the reading keys move: a response, or a long source beside it.
  const takeInHand = (place) => {
    const text = place.closest?.(".pane, .instruction");
    if (!text || !task()) return;
    task().dataset.source = text.matches(".is-beside .instruction") ? "1" : "";
    if (text.matches(".pane") && text.dataset.pane !== task().dataset.pane) show(text.dataset.pane);
  };
  // On a phone one response is shown at a time, each where it was left.
  const left = {};
  const turnTo = (letter, { restore = true } = {}) => {
    const from = task().dataset.pane;
    if (from === letter) return;
    left[from] = window.scrollY;
    show(letter);
    if (restore && panes().some((pane) => !pane.offsetParent)) window.scrollTo({ top: left[letter] ?? window.scrollY, behavior: "instant" });
  };

  const goTo = (pane, number) => {
    const heading = headings(pane)[number];
    if (!heading) return;
    if (!pane.offsetParent) turnTo(pane.dataset.pane, { restore: false });
    heading.scrollIntoView({ block: "start", behavior: "instant" });
  };
  const go = (link) => {
    const pane = link.closest(".pane");
    const menu = link.closest("details");
    if (menu) menu.open = false;
    const other = panes().find((one) => one !== pane);
    if (other?.offsetParent && link.dataset.counterpart !== undefined) goTo(other, Number(link.dataset.counterpart));
    goTo(pane, Number(link.dataset.section));
  };
  const step = (by) => {
    const pane = active();
    const all = headings(pane);
    if (!all.length) return;
    // Where a heading comes to stand when one goes to it.
    const own = scrolls(pane);
    const top = (own ? pane.getBoundingClientRect().top : 0) + parseFloat(getComputedStyle(all[0]).scrollMarginTop)
      + parseFloat(getComputedStyle(own ? pane : document.documentElement).scrollPaddingTop);
    const tops = all.map((heading) => heading.getBoundingClientRect().top - top);
    const at = by > 0 ? tops.findIndex((place) => place > 8) : tops.findLastIndex((place) => place < -8);
    const link = pane.querySelector(`[data-section="${at}"]`);
    if (link) go(link);
    else if (at >= 0) goTo(pane, at);
  };

  // Words are found across both responses; browsers without highlights select what is found.
  let hits = [];
  let hit = -1;
  const mark = (name, ranges) => {
    if (!window.CSS?.highlights) return;
    if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
    else CSS.highlights.delete(name);
  };
  const find = (words) => {
    hits = [];
    hit = -1;
    const wanted = words.toLocaleLowerCase();
    if (wanted) for (const prose of document.querySelectorAll(".pane .prose")) {
      const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
      let [text, nodes] = ["", []];
      while (walker.nextNode()) {
        nodes.push([text.length, walker.currentNode]);
        text += walker.currentNode.data;
      }
      const lower = text.toLocaleLowerCase();
      if (lower.length !== text.length) text = lower;
      let n = 0;
      const point = (offset) => {
        while (n + 1 < nodes.length && nodes[n + 1][0] <= offset) n += 1;
        return [nodes[n][1], Math.min(offset - nodes[n][0], nodes[n][1].length)];
      };
      for (let at = lower.indexOf(wanted); at >= 0 && hits.length < 2000; at = lower.indexOf(wanted, at + wanted.length)) {
        const range = document.createRange();
        range.setStart(...point(at));
        range.setEnd(...point(at + wanted.length - 1));
        range.setEnd(range.endContainer, Math.min(range.endOffset + 1, range.endContainer.length));
        hits.push(range);
      }
    }
    mark("found", hits);
  };
  const turn = (by) => {
    const box = document.querySelector(".find");
    const line = box.querySelector("[role=status]");
    line.textContent = hits.length ? "" : line.dataset.none;
    mark("found-now", []);
    if (!hits.length) return;
    hit = (hit + by + hits.length) % hits.length;
    const range = hits[hit];
    const place = range.startContainer.parentElement;
    const pane = place.closest(".pane");
    if (!pane.offsetParent) turnTo(pane.dataset.pane, { restore: false });
    else takeInHand(place);
    place.scrollIntoView({ block: "center", behavior: "instant" });
    mark("found-now", [range]);
    if (!window.CSS?.highlights) getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
    line.textContent = `${hit + 1} / ${hits.length}`;
  };
  const open = () => {
    const box = document.querySelector(".find");
    box.hidden = false;
    box.querySelector("input").select();
    box.querySelector("input").focus();
  };
  const close = () => {
    document.querySelector(".find").hidden = true;
    mark("found", []);
    mark("found-now", []);
    document.getElementById("reading").focus({ preventScroll: true });
  };

  document.addEventListener("input", (event) => { if (event.target.closest(".find")) { find(event.target.value.trim()); turn(1); } });
  document.addEventListener("submit", (event) => { if (event.target.matches(".find")) { event.preventDefault(); event.stopPropagation(); turn(1); } }, true);
  document.addEventListener("keydown", (event) => {
    if (!event.target.closest?.(".find") || event.isComposing) return;
    if (event.key === "Escape") { event.preventDefault(); close(); }
    if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); turn(-1); }
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-section]");
    if (link) { event.preventDefault(); go(link); }
    const button = event.target.closest("[data-show-pane]");
    if (button) turnTo(button.dataset.showPane);
    if (event.target.closest("[data-find-open]")) open();
    if (event.target.closest("[data-find-close]")) close();
  });
  // A pointer that moves takes the text in hand; text that scrolls under a resting one does not.
  document.addEventListener("pointermove", ({ target }) => { if (inView().length > 1 || task()?.matches(".is-beside")) takeInHand(target); }, { passive: true });
  document.addEventListener("focusin", ({ target }) => takeInHand(target));
  document.addEventListener("plumbline:task", () => { hits = []; for (const letter in left) delete left[letter]; });
  document.addEventListener("plumbline:do", ({ detail: action }) => {
    if (action === "section_next") step(1);
    if (action === "section_previous") step(-1);
    if (action === "find") open();
    if (action === "pane" && panes().length > 1) {
      const other = panes().find((pane) => pane.dataset.pane !== task().dataset.pane);
      turnTo(other.dataset.pane);
      if (scrolls(other)) other.focus({ preventScroll: true });
    }
  });
})();
