// Answers go out and tasks come in. The next task is held ready before it is needed; an answer that no server takes,
// because there is no network or nobody behind it, waits in this browser and is sent later. Nothing is forgotten before
// it is stored.
(() => {
  const FIRST_WAIT = 2_000;
  const LONGEST_WAIT = 120_000;
  const LONGEST_ASKED = 600_000;
  const TIMEOUT = 30_000;
  const FORGET_AFTER = 30 * 86_400_000;
  const AWAY = [408, 429, 502, 503, 504];
  const HOLD_AFTER = 12_000;
  const HOLD_WAIT = 1_500;
  const UNDO_FOR = 5_000;
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
  let stopHolding = () => {};
  let path = location.pathname;
  let onTheWay = null;

  // What waits for the network: one entry a task, the latest answer to it.
  const BOX = "plumbline:outbox:";
  const read = (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
  const waiting = () => {
    try { return Object.keys(localStorage).filter((key) => key.startsWith(BOX)).map(read).filter(Boolean); } catch { return []; }
  };
  const keep = (entry) => { try { localStorage.setItem(BOX + entry.id, JSON.stringify(entry)); return true; } catch { return false; } };
  const forget = (id) => { try { localStorage.removeItem(BOX + id); } catch { /* nothing was kept */ } };
  // Answers of somebody else who used this browser; they stay, in case that person comes back.
  const strangers = new Set();
  let nextTry = 0;
  const showWaiting = (signIn = false) => {
    const line = document.getElementById("outbox");
    const kept = waiting().filter((entry) => !strangers.has(entry.id));
    const all = kept.filter((entry) => entry.id !== current());
    const refused = all.find((entry) => entry.refused);
    const again = nextTry && kept.some((entry) => !entry.refused);
    line.hidden = !again && all.length === 0;
    if (line.hidden) return;
    const one = refused || (signIn && all[0]);
    const what = signIn ? "signIn" : refused ? "refused" : "waiting";
    line.textContent = one || !again ? `${line.dataset[what]} ` : `${line.dataset[what]} ${kept.length}. `;
    if (one) {
      const link = document.createElement("a");
      link.href = one.url;
      link.textContent = line.dataset.open;
      line.append(link, " ");
    } else if (!again) line.append(String(all.length));
    if (!again) return;
    const now = document.createElement("button");
    now.type = "button";
    now.className = "button button-quiet";
    now.textContent = line.dataset.now;
    now.addEventListener("click", () => flush());
    line.append(`${line.dataset.nextTry} ${new Date(nextTry).toLocaleTimeString(document.documentElement.lang)} `, now);
  };

  // The next attempt: later each time and never at the same moment as everybody else's; not before the server asks for.
  let tries = 0;
  let trying = 0;
  const tryLater = (reply = null) => {
    const asked = reply?.headers.get("Retry-After");
    const until = !asked ? 0 : /^\d+$/.test(asked) ? 1_000 * Number(asked) : Date.parse(asked) - Date.now();
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** tries) * (0.5 + Math.random() / 2);
    tries = Math.min(tries + 1, 10);
    const after = wait + Math.min(Math.max(until || 0, 0), LONGEST_ASKED);
    clearTimeout(trying);
    nextTry = Date.now() + after;
    trying = setTimeout(flush, after);
    showWaiting();
  };
  const answered = () => { tries = 0; nextTry = 0; clearTimeout(trying); };

  // Null where there was no answer: no network, nobody listening, or none in time, which tells nothing of what was stored.
  const post = async (url, body, headers = {}) => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), TIMEOUT);
    try {
      const reply = await fetch(url, { method: "POST", body, headers, signal: limit.signal });
      return { reply, html: AWAY.includes(reply.status) ? "" : await reply.text() };
    } catch (error) {
      if (error instanceof TypeError || error.name === "AbortError") return { reply: null };
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
  const isAway = (reply) => !reply || AWAY.includes(reply.status);
  const isStranger = (reply) => [401, 403].includes(reply.status) || (reply.redirected && reply.url.includes("sign-in"));

  // For a moment after an answer that was sent when it was chosen, the next page offers the way back to it.
  const SENT = "plumbline:sent";
  let undoing = 0;
  const offerUndo = () => {
    clearTimeout(undoing);
    const link = answers()?.querySelector("[data-undo]");
    let sent = null;
    try { sent = JSON.parse(sessionStorage.getItem(SENT)); } catch { /* nothing was kept */ }
    const left = (sent?.until ?? 0) - Date.now();
    const isOffered = Boolean(link) && left > 0 && link.getAttribute("href").includes(`/${sent.id}/`);
    link?.classList.toggle("is-offered", isOffered);
    const line = answers()?.querySelector(".saved");
    if (isOffered) { say("sent"); undoing = setTimeout(offerUndo, left); }
    else if (line?.textContent === line?.dataset.sent) line.textContent = "";
  };
  const noteSent = (id) => {
    try { sessionStorage.setItem(SENT, JSON.stringify({ id, until: Date.now() + UNDO_FOR })); } catch { /* no offer */ }
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
    offerUndo();
    hold(HOLD_AFTER);
    showWaiting();
  };

  const fetchHeld = async () => {
    const of = current();
    const url = task()?.dataset.holdUrl;
    if (!url || held || !navigator.onLine) return;
    const limit = new AbortController();
    stopHolding = () => limit.abort();
    try {
      const headers = { "HX-Request": "true", "X-CSRFToken": token() };
      const reply = await fetch(url, { method: "POST", headers, signal: limit.signal });
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
  const take = (reply, html, own = true) => {
    const told = reply.headers.get("HX-Trigger");
    const detail = told ? JSON.parse(told)["plumbline:stored"] : null;
    if (detail) stored(detail);
    if (detail && own && "oneKey" in task().dataset) noteSent(detail.assignment);
    const address = reply.headers.get("HX-Redirect") || (reply.redirected && reply.url);
    if (address) location.assign(address);
    else if (detail?.next && held?.id === detail.next) put(held.html);
    else if (detail?.next) location.assign(task().dataset.url.replace(detail.assignment, detail.next));
    else if (reply.ok || reply.status === 422) put(html);
    else say("trouble");
  };

  const keepCurrent = (body) => keep({ id: current(), url: task().dataset.url, body: body.toString(), at: Date.now() });
  const wait = (body, reply) => {
    if (!keepCurrent(body)) { say("trouble"); return; }
    if (held) put(held.html);
    else say(reply || navigator.onLine ? "away" : "failed");
    tryLater(reply);
  };
  const send = async (form) => {
    if (busy) return;
    busy = true;
    const button = answers().querySelector(".submit");
    button.disabled = true;
    clearTimeout(timer);
    // An answer does not wait for a task that is slow to come: the server brings the next one with its reply.
    const slow = setTimeout(stopHolding, HOLD_WAIT);
    await holding;
    clearTimeout(slow);
    const of = current();
    if (sending === of) await flushing;
    if (current() !== of) { busy = false; button.disabled = false; return; }
    const body = new URLSearchParams(new FormData(form));
    if (held) body.set("held", held.id);
    const own = form === answers();
    onTheWay = own ? body : null;
    try {
      const { reply, html } = await post(form.action, body, { "HX-Request": "true" });
      onTheWay = null;
      if (isAway(reply)) {
        if (own) wait(body, reply);
        else say("trouble");
      } else {
        answered();
        // The page of the task says how to come back; the answer is sent from there.
        if (isStranger(reply) && own && keepCurrent(body)) location.assign(task().dataset.url);
        else take(reply, html, own);
      }
    } finally {
      onTheWay = null;
      busy = false;
      button.disabled = false;
    }
  };
  // A page that is closed while its answer is on the way sends it again, and keeps it until a later page knows it stored.
  window.addEventListener("pagehide", () => {
    if (!onTheWay) return;
    keepCurrent(onTheWay);
    const again = new URLSearchParams(onTheWay);
    again.delete("held");
    again.set("alone", "1");
    navigator.sendBeacon?.(task().dataset.url, again);
  });

  // An answer waiting is sent by itself; that of the task on the screen as if it were submitted now.
  let flushing = null;
  let sending = "";
  const flush = () => {
    if (!busy) flushing ??= sendWaiting().finally(() => { flushing = null; sending = ""; });
  };
  const sendWaiting = async () => {
    // In the order given, that of the screen last: what it brings next depends on the others.
    const order = (entry) => (entry.id === current() ? Infinity : entry.at);
    for (const entry of waiting().sort((a, b) => (order(a) > order(b) ? 1 : -1))) {
      if (entry.refused || strangers.has(entry.id)) continue;
      const body = new URLSearchParams(entry.body);
      body.set("csrfmiddlewaretoken", token());
      body.delete("held");
      const here = entry.id === current();
      if (!here) body.set("alone", "1");
      sending = entry.id;
      const { reply, html } = await post(entry.url, body, here ? { "HX-Request": "true" } : {});
      if (isAway(reply)) { tryLater(reply); return; }
      answered();
      if (isStranger(reply)) { showWaiting(true); return; }
      if (here && (reply.ok || reply.status === 422)) { if (reply.status === 422) forget(entry.id); take(reply, html); return; }
      if (reply.ok) stored({ assignment: entry.id });
      else if (reply.status === 404) strangers.add(entry.id);
      else if (reply.status === 422) keep({ ...entry, refused: true });
    }
    showWaiting();
  };

  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || !task()?.contains(event.target) || event.target.method !== "post") return;
    if (event.target.matches(".elsewhere, #to-current")) return;
    event.preventDefault();
    send(event.target);
  });
  // Without a network the task before this one cannot be had; the page stays, with what is entered.
  document.addEventListener("click", (event) => {
    if (navigator.onLine || !event.target.closest?.("[data-previous], [data-undo]")) return;
    event.preventDefault();
    say("kept");
  });
  document.addEventListener("change", (event) => { if (!held && answers()?.contains(event.target)) hold(150); });
  window.addEventListener("online", () => { tries = 0; flush(); });
  window.addEventListener("popstate", () => { if (location.pathname !== path) location.reload(); });
  tabs?.addEventListener("message", (event) => {
    if (event.data === current()) task().querySelector("[data-elsewhere]").hidden = false;
    forget(event.data);
    showWaiting();
  });
  for (const entry of waiting()) if (entry.at < Date.now() - FORGET_AFTER) forget(entry.id);
  showWaiting();
  flush();
  offerUndo();
  hold(HOLD_AFTER);
})();
