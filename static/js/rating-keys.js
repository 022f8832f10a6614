// Everything by keyboard. Digits choose for the current question, wherever the focus is outside a text field.
(() => {
  const TWO_DIGITS_WITHIN = 900;
  let typed = { key: "", at: 0, item: null };

  const items = () => [...document.querySelectorAll("#answers .item")];
  const current = () => document.querySelector("#answers .item.is-current") || items()[0];
  const setCurrent = (item) => {
    for (const other of items()) other.classList.toggle("is-current", other === item);
  };
  const goTo = (item) => {
    if (!item) return;
    setCurrent(item);
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const all = items();
    goTo(all[Math.min(all.length - 1, Math.max(0, all.indexOf(current()) + by))]);
  };

  const task = () => document.getElementById("task");
  const form = () => document.getElementById("answers");
  const isSending = () => form().querySelector(".submit").disabled;
  const goesOnAtOnce = () => "oneKey" in task().dataset;

  const choose = (shortcut) => {
    if (isSending()) return false;
    const item = current();
    const wanted = CSS.escape(shortcut);
    const button = item?.querySelector(`input[data-shortcut="${wanted}"], input[data-letter="${wanted}"]`);
    if (!button) return false;
    button.checked = true;
    button.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  };
  // A verdict found unreasonable waits for its reason; all others go on to the next question.
  const chooseAndGoOn = (shortcut) => {
    const item = current();
    if (choose(shortcut) && !document.activeElement?.matches(".why textarea")) {
      if (goesOnAtOnce()) form().requestSubmit(); else step(1);
    } else if (item && document.activeElement?.matches(".why textarea")) setCurrent(item);
  };
  const digit = (key) => {
    const item = current();
    const now = performance.now();
    const joined = typed.key + key;
    const follows = typed.item === item && now - typed.at < TWO_DIGITS_WITHIN;
    if (follows && choose(joined)) typed = { key: "", at: 0, item: null };
    else if (choose(key)) {
      typed = { key, at: now, item };
      if (goesOnAtOnce()) form().requestSubmit();
      else if (document.activeElement?.matches(".why textarea")) setCurrent(item);
      else if (item.dataset.shape === "levels") step(1);
      else goTo(item);
    } else if (item?.dataset.shape === "number") {
      item.querySelector('input[type="number"]').focus();
      return false;
    } else return false;
    return true;
  };

  const isTyping = (target) =>
    target.matches?.('textarea, select, input:not([type="radio"], [type="checkbox"], [type="button"])') ||
    target.isContentEditable;

  // What a pointer chose is sent at once, too; on a phone the next question takes the place of the one answered.
  let pointed = -Infinity;
  const POINTED_WITHIN = 1_000;
  document.addEventListener("pointerup", (event) => {
    if (event.target.closest?.("#answers :is(.level, .not-applicable)")) pointed = event.timeStamp;
  }, true);
  document.addEventListener("change", (event) => {
    const item = event.target.closest?.("#answers .item");
    if (!item || event.target.type !== "radio" || !event.isTrusted || event.timeStamp - pointed > POINTED_WITHIN) return;
    pointed = -Infinity;
    setCurrent(item);
    if (document.activeElement?.matches(".why textarea")) return;
    if (goesOnAtOnce()) form().requestSubmit();
    else if (matchMedia("(max-width: 56rem)").matches && !document.querySelector("#rail.is-open")) {
      setCurrent(items().find((other) => !other.querySelector("input:checked")) || item);
    }
  });

  // A control that the keyboard reached keeps the keys that it needs itself; what a pointer pressed does not.
  let tabbed = false;
  document.addEventListener("keydown", (event) => { if (event.key === "Tab") tabbed = true; }, true);
  document.addEventListener("pointerdown", () => { tabbed = false; }, true);
  const needs = (event, kinds) => tabbed && event.target.matches?.(kinds);
  const inHand = () => {
    const { pane, source } = task().dataset;
    const own = document.querySelector(source ? ".is-beside .instruction" : `.pane[data-pane="${pane}"]`);
    return own && getComputedStyle(own).overflowY === "auto" ? own : document.scrollingElement;
  };
  const read = (event) => {
    if (event.key === " " && needs(event, "button, summary, input")) return false;
    if (/^Arrow/.test(event.key) && needs(event, "input")) return false;
    const own = event.target.closest?.(".instruction [tabindex]");
    const text = own && own.scrollHeight > own.clientHeight ? own : inHand();
    const page = text.clientHeight * 0.85;
    const way = {
      " ": event.shiftKey ? -page : page, PageDown: page, PageUp: -page, ArrowDown: 60, ArrowUp: -60,
      Home: -text.scrollHeight, End: text.scrollHeight,
    }[event.key];
    if (way === undefined) return false;
    text.scrollBy({ top: way, behavior: "instant" });
    return true;
  };

  const CHOOSES = { yes: "y", no: "n", not_applicable: "x", left: "a", right: "b", far_left: "A", far_right: "B", tie: "t", both_bad: "d" };
  const DOES = {
    next: () => step(1),
    previous: () => step(-1),
    help: () => document.getElementById("keys").showModal(),
    guideline: () => document.querySelector("[data-guideline]")?.click(),
    undo: () => document.querySelector("[data-previous]")?.click(),
    current: () => document.querySelector("[data-current]")?.click(),
    skip: () => {
      const menu = document.querySelector("details.skip");
      if (!menu) return;
      if (matchMedia("(max-width: 56rem)").matches) document.getElementById("rail").classList.add("is-open");
      menu.open = true;
      menu.querySelector("input[type=radio]").focus();
    },
  };
  const perform = (action) => {
    if (CHOOSES[action]) chooseAndGoOn(CHOOSES[action]);
    else if (DOES[action]) DOES[action]();
    else document.dispatchEvent(new CustomEvent("plumbline:do", { detail: action }));
  };

  // Which key does what: as the page says, or as this browser's user chose.
  const KEPT = "plumbline:keys";
  const buttons = () => [...document.querySelectorAll("#keys [data-action]")];
  for (const button of buttons()) button.dataset.usual = button.textContent;
  const chosen = () => { try { return JSON.parse(localStorage.getItem(KEPT)) || {}; } catch { return {}; } };
  const keyOf = (button) => chosen()[button.dataset.action] || button.dataset.usual;
  const showKeys = () => {
    for (const button of buttons()) {
      button.textContent = keyOf(button);
      for (const place of document.querySelectorAll(`[data-key="${button.dataset.action}"]`)) place.textContent = keyOf(button);
    }
  };
  let asked = null;
  const tell = (what) => {
    const line = document.querySelector("#keys [role=status]");
    line.hidden = !what;
    line.textContent = what ? line.dataset[what] : "";
  };
  const rebind = (event) => {
    if (["Shift", "Control", "Alt", "Meta", "Tab"].includes(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const button = asked;
    asked = null;
    button.removeAttribute("aria-pressed");
    if (event.key === "Escape") return tell("");
    const taken = buttons().some((other) => other !== button && keyOf(other) === event.key);
    if (taken || event.key.length > 1 || /[0-9 ]/.test(event.key)) return tell("taken");
    try { localStorage.setItem(KEPT, JSON.stringify({ ...chosen(), [button.dataset.action]: event.key })); } catch { /* not kept */ }
    tell("");
    showKeys();
    return undefined;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("#keys [data-action]");
    if (button) { asked = button; button.setAttribute("aria-pressed", "true"); tell("press"); }
    if (event.target.closest("[data-reset-keys]")) { try { localStorage.removeItem(KEPT); } catch { /* none kept */ } tell(""); showKeys(); }
  });
  document.addEventListener("keydown", (event) => { if (asked && !event.isComposing) rebind(event); }, true);

  const act = (event) => {
    if (/^[0-9]$/.test(event.key)) return event.repeat || digit(event.key);
    const button = buttons().find((one) => keyOf(one) === event.key);
    if (!button) return read(event);
    if (event.repeat && CHOOSES[button.dataset.action]) return true;
    perform(button.dataset.action);
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented) return;
    if (!form() || document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!event.repeat) form().requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") current()?.focus();
      return;
    }
    if (event.target.closest?.("details.menu[open]")) return;
    if (event.key === "Enter") {
      if (needs(event, "a, button, summary")) return;
      event.preventDefault();
      if (!event.repeat) form().requestSubmit();
      return;
    }
    if (act(event)) event.preventDefault();
  });

  document.addEventListener("focusin", (event) => {
    const item = event.target.closest?.("#answers .item");
    if (item) setCurrent(item);
  });
  const begin = () => setCurrent(items().find((item) => !item.querySelector("input:checked")) || items()[0]);
  document.addEventListener("plumbline:filled", begin);
  document.addEventListener("plumbline:task", () => { begin(); showKeys(); });
  begin();
  showKeys();
})();
