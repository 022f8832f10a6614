// Buttons that copy the field they name. Without a script there is no button, and the field is copied by selecting it.
(() => {
  const SHOWN = 2000;
  const said = document.createElement("p");
  said.className = "visually-hidden";
  said.setAttribute("role", "status");
  document.body.append(said);

  const copy = async (field) => {
    try { await navigator.clipboard.writeText(field.value); return true; } catch { /* not allowed, or not over HTTPS */ }
    field.select();
    return document.execCommand("copy");
  };

  for (const button of document.querySelectorAll("button[data-copy]")) {
    const field = document.getElementById(button.dataset.copy);
    const words = button.textContent;
    let back;
    button.hidden = false;
    field.addEventListener("focus", () => field.select());
    button.addEventListener("click", async () => {
      if (!await copy(field)) { field.focus(); return; }
      button.textContent = said.textContent = button.dataset.copied;
      clearTimeout(back);
      back = setTimeout(() => { button.textContent = words; said.textContent = ""; }, SHOWN);
    });
  }
})();
