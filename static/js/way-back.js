// The way back for somebody whom this browser no longer knows: which studies they joined here, by which public link, and
// how many answers wait. A platform's link is not kept, because whoever follows it may go on as its participant.
(() => {
  const WAY = "plumbline:way-in:";
  const BOX = "plumbline:outbox:";
  const DRAFT = "plumbline:questionnaire:";
  const MOST = 5;
  const entries = (prefix) => {
    const found = [];
    try {
      for (const key of Object.keys(localStorage)) {
        if (!key.startsWith(prefix)) continue;
        try { found.push(JSON.parse(localStorage.getItem(key))); } catch { /* not ours */ }
      }
    } catch { /* storage is off */ }
    return found.filter(Boolean).sort((a, b) => b.at - a.at);
  };

  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFT)) sessionStorage.removeItem(key);
  } catch { /* storage is off */ }

  const joined = document.getElementById("joined");
  if (joined) {
    const { study, name, address } = joined.dataset;
    try { localStorage.setItem(WAY + study, JSON.stringify({ name, address, at: Date.now() })); } catch { /* not kept */ }
  }

  const list = document.getElementById("ways");
  for (const way of list ? entries(WAY).slice(0, MOST) : []) {
    const line = document.createElement("li");
    if (/^\/join\/[\w-]+\/$/.test(way.address)) {
      const link = document.createElement("a");
      link.href = way.address;
      link.textContent = way.name;
      line.append(link);
    } else line.textContent = `${way.name}: ${list.dataset.platform}`;
    list.append(line);
    list.parentElement.hidden = false;
  }

  const note = document.getElementById("kept");
  const kept = note ? entries(BOX) : [];
  if (kept.length) {
    note.hidden = false;
    note.prepend(`${note.dataset.kept} ${kept.length}. `);
    const link = note.querySelector("a");
    if (link && /^\/rate\/[\w-]+\/$/.test(kept[0].url)) { link.href = kept[0].url; link.hidden = false; }
  }
})();
