// Quotations: what is selected goes with the next answer. Positions count the code points of the shown text that
// are not white space, from the response's beginning, as the server does.
(() => {
  const LONGEST_CHIP = 70;
  const panes = () => [...document.querySelectorAll(".pane")];
  const prose = (letter) => document.querySelector(`.pane[data-pane="${letter}"] .prose`);
  const current = () => document.querySelector("#answers .item.is-current") || document.querySelector("#answers .item");
  const field = (item) => item.querySelector("[data-evidence]");
  const pieces = (item) => { try { return JSON.parse(field(item).value) || []; } catch { return []; } };
  const count = (text) => { let n = 0; for (const sign of text) if (sign.trim()) n += 1; return n; };
  let picked = null;

  const before = (root, node, offset) => {
    const range = document.createRange();
    range.setStart(root, 0);
    range.setEnd(node, offset);
    return count(range.toString());
  };
  const rangeOf = ({ pane, start, end }) => {
    const walker = document.createTreeWalker(prose(pane), NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    let n = 0;
    while (walker.nextNode()) {
      const node = walker.currentNode;
      let offset = 0;
      for (const sign of node.data) {
        if (sign.trim()) {
          if (n === start) range.setStart(node, offset);
          n += 1;
          if (n === end) { range.setEnd(node, offset + sign.length); return range; }
        }
        offset += sign.length;
      }
    }
    return range;
  };
  const words = (piece) => rangeOf(piece).toString().replace(/\s+/g, " ").trim();
  const short = (text) => { const signs = [...text]; return signs.length > LONGEST_CHIP ? `${signs.slice(0, LONGEST_CHIP - 1).join("")}…` : text; };

  const pick = (piece) => {
    picked = piece && piece.end > piece.start ? piece : null;
    const box = document.querySelector("[data-picked]");
    if (!box) return;
    box.hidden = !picked;
    if (picked) box.querySelector("q").textContent = short(words(picked));
  };
  // A selection that ends within a word takes all of it; Chinese and Japanese are quoted by the character.
  const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
  const segmenter = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;
  const wordAt = (node, offset) => {
    if (!segmenter || node.nodeType !== Node.TEXT_NODE) return null;
    const found = segmenter.segment(node.data).containing(offset);
    return found?.isWordLike && !UNSPACED.test(found.segment) ? found : null;
  };
  const snapped = (range) => {
    const whole = range.cloneRange();
    const [first, last] = [wordAt(range.startContainer, range.startOffset), wordAt(range.endContainer, range.endOffset - 1)];
    if (first) whole.setStart(range.startContainer, first.index);
    if (last) whole.setEnd(range.endContainer, last.index + last.segment.length);
    return whole;
  };
  const fromRange = (selected) => {
    const range = selected.collapsed ? selected : snapped(selected);
    const root = panes().map((pane) => pane.querySelector(".prose")).find((one) => one?.contains(range.startContainer));
    if (!root) return null;
    const end = root.contains(range.endContainer) ? [range.endContainer, range.endOffset] : [root, root.childNodes.length];
    return { pane: root.closest(".pane").dataset.pane, start: before(root, range.startContainer, range.startOffset), end: before(root, ...end) };
  };

  const mark = () => {
    if (!window.CSS?.highlights) return;
    const ranges = [...document.querySelectorAll("#answers .item")].flatMap((item) => pieces(item).map(rangeOf));
    if (ranges.length) CSS.highlights.set("quoted", new Highlight(...ranges));
    else CSS.highlights.delete("quoted");
  };
  const draw = (item) => {
    const list = item.querySelector(".chips");
    const all = pieces(item);
    list.hidden = all.length === 0;
    list.replaceChildren(...all.map((piece, index) => {
      const line = document.createElement("li");
      const [look, drop] = [document.createElement("button"), document.createElement("button")];
      look.type = drop.type = "button";
      look.dataset.look = drop.dataset.remove = index;
      look.dir = "auto";
      look.textContent = short(words(piece));
      drop.textContent = "×";
      drop.setAttribute("aria-label", `${document.querySelector("[data-drop]").getAttribute("aria-label")}: ${look.textContent}`);
      line.append(look, drop);
      return line;
    }));
  };
  const keep = (item, all) => {
    field(item).value = all.length ? JSON.stringify(all) : "";
    draw(item);
    mark();
    field(item).dispatchEvent(new Event("change", { bubbles: true }));
  };
  const attach = (item) => {
    if (!picked || !item) return;
    const piece = picked;
    pick(null);
    getSelection().removeAllRanges();
    const same = (one) => one.pane === piece.pane && one.start === piece.start && one.end === piece.end;
    if (!pieces(item).some(same)) keep(item, [...pieces(item), piece]);
  };

  // By key: the paragraph at the top of what is being read, then the ones after or before it.
  const quote = (by) => {
    const task = document.getElementById("task");
    const pane = panes().find((one) => one.dataset.pane === task.dataset.pane && one.offsetParent) || panes()[0];
    const all = [...pane.querySelectorAll(".block > *")];
    let at = picked && all.findIndex((one) => one === pane.quoted) + by;
    if (!picked || at < 0) {
      const top = getComputedStyle(pane).overflowY === "auto" ? pane.getBoundingClientRect().top + 50 : 70;
      at = all.findIndex((one) => one.getBoundingClientRect().top >= top);
    }
    const paragraph = all[Math.min(Math.max(at, 0), all.length - 1)];
    if (!paragraph) return;
    pane.quoted = paragraph;
    paragraph.scrollIntoView({ block: "nearest", behavior: "instant" });
    const range = document.createRange();
    range.selectNodeContents(paragraph);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    pick(fromRange(range));
  };

  document.addEventListener("selectionchange", () => {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return;
    const piece = fromRange(selection.getRangeAt(0));
    if (piece) pick(piece);
  });
  document.addEventListener("change", (event) => {
    const item = event.target.closest?.("#answers .item");
    if (item && event.target.matches("input[type=radio], input[type=number]")) attach(item);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-attach]")) attach(current());
    if (event.target.closest("[data-drop]")) { getSelection().removeAllRanges(); pick(null); }
    const [look, remove] = [event.target.closest("[data-look]"), event.target.closest("[data-remove]")];
    const item = event.target.closest(".item");
    if (remove) { keep(item, pieces(item).filter((_, index) => index !== Number(remove.dataset.remove))); item.focus(); }
    if (look) {
      const piece = pieces(item)[Number(look.dataset.look)];
      document.querySelector(`[data-show-pane="${piece.pane}"]`)?.click();
      rangeOf(piece).startContainer.parentElement.scrollIntoView({ block: "center", behavior: "instant" });
    }
  });
  document.addEventListener("plumbline:do", ({ detail: action }) => {
    if (action === "quote") quote(1);
    if (action === "quote_before") quote(-1);
    if (action === "attach") attach(current());
  });
  const begin = () => {
    pick(null);
    for (const item of document.querySelectorAll("#answers .item")) if (field(item).value || item.querySelector(".chips li")) draw(item);
    mark();
  };
  document.addEventListener("plumbline:filled", begin);
  document.addEventListener("plumbline:task", begin);
  begin();
})();
