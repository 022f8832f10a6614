// Answers go out and tasks come in. The next task is held ready before it is needed; an answer given without a
// network waits in this browser and is sent when the network is back. Nothing is forgotten before it is stored.
(() => {
  const AGAIN = 15_000;
  const HOLD_AFTER = 12_000;
  const task = () => document.getElementById("task");
  const answers = () => document.getElementById("answers");
  const current = () => task()?.dataset.assignment;
  const announce = (name, detail = {}) => document.dispatchEvent(new CustomEvent(`plumbline:${name}`, { detail }));
  const tabs = "BroadcastChannel" in window ? new BroadcastChannel("plumbline") : null;
  const token = () => document.querySelector("input[name=csrfmiddlewaretoken]").value;
  const say = (what) => {
    const line = answers()?.querySelector(".saved");
    if (line) line.textContent = line.dataset[what];
  };
  let busy = false;
  let held = null;
  let holding = null;
  let path = location.pathname;

  // What waits for the network: one entry a task, the latest answer to it.
  const BOX = "plumbline:outbox:";
  const read = (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
  const waiting = () => {
    try { return Object.keys(localStorage).filter((key) => key.startsWith(BOX)).map(read).filter(Boolean); } catch { return []; }
  };
  const keep = (entry) => { try { localStorage.setItem(BOX + entry.id, JSON.stringify(entry)); return true; } catch { return false; } };
  const forget = (id) => { try { localStorage.removeItem(BOX + id); } catch { /* nothing was kept */ } };
  const showWaiting = (signIn = false) => {
    const line = document.getElementById("outbox");
    const all = waiting().filter((entry) => entry.id !== current());
    const refused = all.find((entry) => entry.refused);
    line.hidden = all.length === 0;
    if (!all.length) return;
    line.textContent = `${line.dataset[signIn ? "signIn" : refused ? "refused" : "waiting"]} `;
    const one = refused || (signIn && all[0]);
    if (!one) { line.append(String(all.length)); return; }
    const link = document.createElement("a");
    link.href = one.url;
    link.textContent = line.dataset.open;
    line.append(link);
  };

  const put = (html, { push = true } = {}) => {
    const made = document.createElement("template");
    made.innerHTML = html;
    const next = made.content.querySelector("#task");
    task().replaceWith(next);
    if (push && next.dataset.url !== location.pathname) history.pushState(null, "", next.dataset.url);
    path = location.pathname;
    held = null;
    window.scrollTo({ top: 0, behavior: "instant" });
    announce("task");
    document.getElementById("reading").focus({ preventScroll: true });
    hold(HOLD_AFTER);
    showWaiting();
  };

  const fetchHeld = async () => {
    const of = current();
    const url = task()?.dataset.holdUrl;
    if (!url || held || !navigator.onLine) return;
    try {
      const reply = await fetch(url, { method: "POST", headers: { "HX-Request": "true", "X-CSRFToken": token() } });
      if (reply.status !== 200 || reply.redirected) return;
      const html = await reply.text();
      const id = html.match(/data-assignment="([^"]+)"/)?.[1];
      if (current() === of && id) { held = { id, html }; task().dataset.held = id; }
    } catch { /* without a network there is nothing to hold */ }
  };
  let timer = 0;
  const hold = (after) => {
    clearTimeout(timer);
    timer = setTimeout(() => { holding = fetchHeld().finally(() => { holding = null; }); }, after);
  };

  const stored = (detail) => {
    forget(detail.assignment);
    announce("stored", detail);
    tabs?.postMessage(detail.assignment);
    showWaiting();
  };
  const take = async (reply) => {
    const told = reply.headers.get("HX-Trigger");
    const detail = told ? JSON.parse(told)["plumbline:stored"] : null;
    if (detail) stored(detail);
    const address = reply.headers.get("HX-Redirect") || (reply.redirected && reply.url);
    if (address) location.assign(address);
    else if (detail?.next && held?.id === detail.next) put(held.html);
    else if (detail?.next) location.assign(task().dataset.url.replace(detail.assignment, detail.next));
    else if (reply.ok || reply.status === 422) put(await reply.text());
    else say("trouble");
  };

  const offline = (body) => {
    const kept = keep({ id: current(), url: task().dataset.url, body: body.toString(), at: Date.now() });
    if (!kept) { say("trouble"); return; }
    if (held) put(held.html);
    else say("failed");
    showWaiting();
    setTimeout(flush, AGAIN);
  };
  const send = async (form) => {
    if (busy) return;
    busy = true;
    const button = answers().querySelector(".submit");
    button.disabled = true;
    clearTimeout(timer);
    await holding;
    const body = new URLSearchParams(new FormData(form));
    if (held) body.set("held", held.id);
    try {
      await take(await fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" } }));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      if (form === answers()) offline(body);
      else say("trouble");
    } finally {
      busy = false;
      button.disabled = false;
    }
  };

  // An answer waiting is sent by itself; that of the task on the screen as if it were submitted now.
  const flush = async () => {
    if (busy) return;
    // In the order given, that of the screen last: what it brings next depends on the others.
    const order = (entry) => (entry.id === current() ? Infinity : entry.at);
    for (const entry of waiting().sort((a, b) => (order(a) > order(b) ? 1 : -1))) {
      if (entry.refused) continue;
      const body = new URLSearchParams(entry.body);
      body.set("csrfmiddlewaretoken", token());
      body.delete("held");
      const here = entry.id === current();
      if (!here) body.set("alone", "1");
      try {
        const reply = await fetch(entry.url, { method: "POST", body, headers: here ? { "HX-Request": "true" } : {} });
        if (reply.redirected && reply.url.includes("sign-in")) { showWaiting(true); return; }
        if (here && (reply.ok || reply.status === 422)) { if (reply.status === 422) forget(entry.id); await take(reply); return; }
        if (reply.ok) stored({ assignment: entry.id });
        else if (reply.status === 404) forget(entry.id);
        else if (reply.status === 422) keep({ ...entry, refused: true });
      } catch {
        setTimeout(flush, AGAIN);
        return;
      }
    }
    showWaiting();
  };

  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || !task()?.contains(event.target) || event.target.method !== "post") return;
    if (event.target.matches(".elsewhere")) return;
    event.preventDefault();
    send(event.target);
  });
  // Without a network the task before this one cannot be had; the page stays, with what is entered.
  document.addEventListener("click", (event) => {
    if (navigator.onLine || !event.target.closest?.("[data-previous]")) return;
    event.preventDefault();
    say("kept");
  });
  document.addEventListener("change", (event) => { if (!held && answers()?.contains(event.target)) hold(150); });
  window.addEventListener("online", flush);
  window.addEventListener("popstate", () => { if (location.pathname !== path) location.reload(); });
  tabs?.addEventListener("message", (event) => {
    if (event.data === current()) task().querySelector("[data-elsewhere]").hidden = false;
    forget(event.data);
    showWaiting();
  });
  showWaiting();
  flush();
  hold(HOLD_AFTER);
})();
