// The rail of a task: how many questions are answered, what is missing, the sheet on a phone, the panels.
(() => {
  const items = () => [...document.querySelectorAll("#answers .item")];
  // A verdict found unreasonable is to be said why: a review's worst level needs words.
  const why = (item) => item.querySelector(".why textarea");
  const lacksReason = (item) => why(item) && item.querySelector('input:checked')?.dataset.letter === "n" && !why(item).value.trim();
  const isAnswered = (item) => lacksReason(item) ? false : item.dataset.shape === "number" && !item.querySelector(":checked")
    ? Boolean(item.querySelector('input[type="number"]')?.value)
    : Boolean(item.querySelector("input:checked"));

  const count = () => {
    const all = items();
    const done = all.filter(isAnswered);
    for (const item of all) item.classList.toggle("is-answered", done.includes(item));
    const bar = document.querySelector("#answers .answered");
    if (!bar) return;
    bar.value = done.length;
    document.getElementById("rail").classList.toggle("is-complete", done.length === all.length);
    document.querySelector("#answers [data-answered]").textContent = String(done.length);
  };

  const openSheet = (open) => {
    const rail = document.getElementById("rail");
    rail.classList.toggle("is-open", open);
    rail.querySelector(".sheet-toggle").setAttribute("aria-expanded", String(open));
  };

  // Runs before HTMX sees the submit: what is unanswered is shown here, without a journey to the server.
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "answers") return;
    const missing = items().filter((item) => !isAnswered(item));
    const note = event.target.querySelector("[data-missing]");
    for (const item of items()) item.classList.toggle("has-error", missing.includes(item));
    note.hidden = missing.length === 0;
    if (missing.length === 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    note.querySelector("span").textContent = missing.map((item) => item.querySelector(".item-number").textContent).join(", ");
    openSheet(true);
    (lacksReason(missing[0]) ? why(missing[0]) : missing[0]).focus();
    missing[0].scrollIntoView({ block: "nearest" });
  }, true);

  document.addEventListener("change", (event) => {
    const item = event.target.closest("#answers .item");
    if (!item) return;
    item.classList.remove("has-error");
    const written = item.querySelector('input[type="number"]');
    if (written && event.target !== written && event.target.checked) written.value = "";
    if (written && event.target === written && written.value) {
      const unused = item.querySelector("input:checked");
      if (unused) unused.checked = false;
    }
    if (lacksReason(item)) { openSheet(true); why(item).focus(); }
    count();
  });
  document.addEventListener("input", (event) => { if (event.target.closest("#answers .why")) count(); });

  document.addEventListener("click", (event) => {
    if (event.target.closest(".sheet-toggle")) {
      openSheet(!document.getElementById("rail").classList.contains("is-open"));
    }
    const opener = event.target.closest("[data-panel]");
    if (opener) {
      event.preventDefault();
      document.getElementById(opener.dataset.panel).showModal();
      if (opener.dataset.load !== undefined) load(opener);
    }
    if (event.target.matches("dialog[open]")) event.target.close();
  });

  // The guideline and the differences come into a panel; without this they are pages.
  const load = async (link) => {
    const place = document.getElementById("side-text");
    place.textContent = "…";
    document.getElementById("side").setAttribute("aria-label", link.firstChild.textContent.trim());
    try {
      const reply = await fetch(link.href, { headers: { "HX-Request": "true" } });
      if (!reply.ok || reply.redirected) throw new TypeError(String(reply.status));
      place.innerHTML = await reply.text();
    } catch { place.textContent = place.dataset.failed; }
  };

  document.addEventListener("plumbline:filled", count);
  document.addEventListener("plumbline:task", count);
  count();
})();
