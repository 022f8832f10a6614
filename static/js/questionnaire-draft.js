// What a rater has entered in a questionnaire stays through a reload of its page, in this tab alone. The rater's own page
// removes it (way-back.js), and so does the questionnaire of anybody else.
(() => {
  const DRAFT = "plumbline:questionnaire:";
  const form = document.getElementById("questionnaire");
  if (!form || !form.dataset.draft) return;
  const own = DRAFT + form.dataset.draft;
  const entries = () => [...new FormData(form)].filter(([name]) => name.startsWith("a-"));
  const keep = () => {
    try { sessionStorage.setItem(own, JSON.stringify(entries())); } catch { /* not kept */ }
  };
  let kept = null;
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFT) && key !== own) sessionStorage.removeItem(key);
    kept = JSON.parse(sessionStorage.getItem(own));
  } catch { /* nothing was kept */ }
  if (Array.isArray(kept) && !("sent" in form.dataset)) {
    for (const field of form.elements) {
      if (!field.name || !field.name.startsWith("a-")) continue;
      const values = kept.filter((one) => Array.isArray(one) && one[0] === field.name).map((one) => String(one[1]));
      if (field.type === "radio" || field.type === "checkbox") field.checked = values.includes(field.value);
      else if (values.length) field.value = values[0];
    }
  }
  form.addEventListener("input", keep);
  form.addEventListener("change", keep);
})();
