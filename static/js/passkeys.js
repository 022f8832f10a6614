// Asks the browser for a passkey when a form with data-passkey is sent, and sends the answer in its field "credential".
// The values are "create" (add one), "get" (confirm with one) and "sign-in" (the options are fetched, for any account).

const field = (form) => form.elements.namedItem("credential");

async function optionsOf(form) {
  if (form.dataset.passkey !== "sign-in") {
    return JSON.parse(document.getElementById("passkey-options").textContent);
  }
  const headers = { Accept: "application/json", "X-Requested-With": "XMLHttpRequest" };
  const response = await fetch(form.action, { headers });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

async function credentialFor(form) {
  const options = await optionsOf(form);
  if (form.dataset.passkey === "create") {
    const publicKey = structuredClone(options.creation_options.publicKey);
    if (form.elements.namedItem("passwordless")?.checked) {
      const wanted = { residentKey: "required", requireResidentKey: true, userVerification: "required" };
      publicKey.authenticatorSelection = { ...publicKey.authenticatorSelection, ...wanted };
    }
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) });
  }
  const { publicKey } = options.request_options;
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      field(form).value = JSON.stringify((await credentialFor(form)).toJSON());
      form.submit();
    } catch {
      form.querySelector("[data-passkey-error]").hidden = false;
    }
  });
}
