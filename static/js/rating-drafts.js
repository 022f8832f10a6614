// Nothing is lost: each change goes to this browser at once and to the server soon after. The browser's copy
// is forgotten only when the server says that the answer is stored. How far one has read goes to the server, too.
(() => {
  const SOON = 700;
  const RESTED = 1_500;
  const AGAIN = 15_000;
  const ALIVE = 120_000;
  const FORGET_AFTER = 30 * 86_400_000;
  let timer = 0;
  let resting = 0;
  let sending = null;
  let placed = "";

  const task = () => document.getElementById("task");
  const form = () => document.getElementById("answers");
  const place = (assignment) => `plumbline:draft:${assignment}`;
  const kept = () => {
    try { return JSON.parse(localStorage.getItem(place(task().dataset.assignment))); } catch { return null; }
  };
  const isWaiting = () => {
    try { return Boolean(localStorage.getItem(`plumbline:outbox:${task().dataset.assignment}`)); } catch { return false; }
  };
  const say = (what) => {
    const line = form()?.querySelector(".saved");
    if (line) line.textContent = line.dataset[what];
  };
  const isAnswer = (name) => /^[cre]-/.test(name) || name === "note";
  const values = () => {
    const found = {};
    for (const [name, value] of new FormData(form())) if (isAnswer(name)) found[name] = value;
    return found;
  };
  // The first paragraph in view of each response, by number; where one is hidden, what it was.
  const paragraphs = (pane) => pane.querySelectorAll(".block > *");
  const paragraph = (pane) => {
    if (!pane.offsetParent) return Number(pane.dataset.paragraph);
    const own = pane.scrollHeight > pane.clientHeight + 4 && getComputedStyle(pane).overflowY !== "visible";
    const top = own ? pane.getBoundingClientRect().top + 60 : 80;
    const all = paragraphs(pane);
    let [low, high] = [0, all.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (all[middle].getBoundingClientRect().bottom > top) high = middle; else low = middle + 1;
    }
    pane.dataset.paragraph = Math.max(0, low);
    return Math.max(0, low);
  };
  const places = (body) => {
    const [a, b] = [...document.querySelectorAll(".pane")].map(paragraph);
    body.set("paragraph", a || 0);
    if (b !== undefined) body.set("paragraph_b", b);
    return `${a} ${b}`;
  };
  const post = (body, options = {}) => fetch(task().dataset.draftUrl, {
    method: "POST", body, headers: { "X-Requested-With": "fetch" }, ...options,
  });

  const send = async (last = false) => {
    clearTimeout(timer);
    if (!task() || !form()) return;
    const body = new FormData(form());
    body.set("serial", task().dataset.serial);
    placed = places(body);
    sending?.abort();
    sending = new AbortController();
    try {
      const reply = await post(body, { keepalive: last, signal: sending.signal });
      if (reply.ok) say("saved");
      else { say("kept"); if (reply.status >= 500) timer = setTimeout(send, AGAIN); }
    } catch (error) {
      if (error.name === "AbortError") return;
      say("kept");
      timer = setTimeout(send, AGAIN);
    }
  };
  const sendPlace = async (last = false) => {
    if (!task() || !form() || document.visibilityState === "hidden" && !last) return;
    const body = new FormData();
    body.set("csrfmiddlewaretoken", form().elements.csrfmiddlewaretoken.value);
    body.set("place", "1");
    const now = places(body);
    if (now === placed) return;
    placed = now;
    try { await post(body, { keepalive: last }); } catch { placed = ""; }
  };

  const change = () => {
    const serial = Date.now();
    task().dataset.serial = String(serial);
    try { localStorage.setItem(place(task().dataset.assignment), JSON.stringify({ serial, values: values() })); } catch { /* the server keeps it */ }
    say("saving");
    clearTimeout(timer);
    timer = setTimeout(send, SOON);
  };

  const fill = (entered) => {
    for (const field of form().querySelectorAll('[name^="e-"], [name^="r-"]')) field.value = entered[field.name] || "";
    for (const [name, value] of Object.entries(entered)) {
      const field = form().elements[name];
      if (field) field.value = value;
    }
    document.dispatchEvent(new CustomEvent("plumbline:filled"));
  };
  const adopt = (mine) => {
    if (!mine || mine.serial <= Number(task().dataset.serial)) return false;
    fill(mine.values);
    task().dataset.serial = String(mine.serial);
    return true;
  };
  const begin = () => {
    if (!task()) return;
    placed = "";
    if (adopt(kept())) {
      say(isWaiting() ? "away" : "restored");
      timer = setTimeout(send, SOON);
    }
    if (location.hash || window.scrollY > 10) return;
    for (const pane of document.querySelectorAll(".pane")) {
      const at = Number(pane.dataset.paragraph);
      const found = at > 0 && paragraphs(pane)[at];
      if (found) found.scrollIntoView({ block: "start", behavior: "instant" });
    }
  };

  document.addEventListener("input", (event) => { if (event.target.form === form() && form()) change(); });
  document.addEventListener("change", (event) => {
    if (form() && event.target.form === form() && !event.isTrusted) change();
  });
  document.addEventListener("scroll", () => { clearTimeout(resting); resting = setTimeout(sendPlace, RESTED); }, { passive: true, capture: true });
  document.addEventListener("submit", (event) => {
    if (!task() || !task().contains(event.target)) return;
    clearTimeout(timer);
    sending?.abort();
  }, true);
  document.addEventListener("plumbline:stored", (event) => {
    try { localStorage.removeItem(place(event.detail.assignment)); } catch { /* nothing was kept */ }
  });
  // Another tab with the same task: what is entered there stands here.
  window.addEventListener("storage", (event) => {
    if (!task() || event.key !== place(task().dataset.assignment) || !event.newValue) return;
    try { adopt(JSON.parse(event.newValue)); } catch { /* not a draft */ }
  });
  window.addEventListener("online", () => { if (task() && kept()) send(); });
  window.addEventListener("pagehide", () => { if (timer && task() && kept()) send(true); else sendPlace(true); });
  // A page that is open before somebody keeps its task from going to others, within the server's limits.
  const alive = async () => {
    if (!task()?.dataset.aliveUrl || document.visibilityState !== "visible") return;
    const body = new URLSearchParams({ csrfmiddlewaretoken: form().elements.csrfmiddlewaretoken.value });
    const of = task().dataset.assignment;
    try {
      const reply = await fetch(task().dataset.aliveUrl, { method: "POST", body });
      const late = document.querySelector("[data-late]");
      if (late && task().dataset.assignment === of) late.hidden = reply.status !== 409;
    } catch { /* without a network the lease runs on */ }
  };
  setInterval(alive, ALIVE);
  document.addEventListener("visibilitychange", alive);
  document.addEventListener("plumbline:task", begin);

  try {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith("plumbline:draft:")) continue;
      if ((JSON.parse(localStorage.getItem(key))?.serial || 0) < Date.now() - FORGET_AFTER) localStorage.removeItem(key);
    }
  } catch { /* storage is off: the server keeps drafts */ }
  begin();
})();
