/**
 * The script of the pages on which a passkey is made or used.
 *
 * @module
 */

/**
 * The script that runs before a form is sent. The button's `data-passkey` names
 * its steps (`create`, `get`). Their options are in the form's `data-create`
 * and `data-get`. Each response is put in the field named like the step.
 */
export const PASSKEY_SCRIPT = `
for (const form of document.querySelectorAll("form[data-get], form[data-create]")) {
  const put = (name, value) => {
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = name;
    field.value = value;
    form.append(field);
  };
  form.addEventListener("submit", async (event) => {
    const button = event.submitter;
    const steps = button?.dataset.passkey?.split(" ") ?? [];
    if (steps.length === 0) return;
    event.preventDefault();
    const said = form.querySelector("[role=status]");
    try {
      for (const step of steps) {
        const options = JSON.parse(form.dataset[step]);
        const publicKey = step === "get"
          ? PublicKeyCredential.parseRequestOptionsFromJSON(options)
          : PublicKeyCredential.parseCreationOptionsFromJSON(options);
        const made = await navigator.credentials[step]({ publicKey });
        put(step, JSON.stringify(made.toJSON()));
      }
      if (button.name) put(button.name, button.value);
      form.submit();
    } catch (error) {
      said.hidden = false;
      said.textContent = globalThis.PublicKeyCredential
        ? "No passkey was used (" + error.name + "). Nothing was sent."
        : "This browser knows no passkeys here. Nothing was sent.";
    }
  });
}
`;
