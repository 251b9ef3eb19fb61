/**
 * The scripts of pages. They are constants, so that the CSP allows them by hash
 * and nothing in a request can become a script; their data is in `data-`
 * attributes. Every page works without them.
 * @module
 */

/** Shows the copy buttons and makes them work. */
export const COPY_SCRIPT = `
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = document.getElementById("said");
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = said.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      said.textContent = "Selected: copy it with the keyboard";
    }
    setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
  });
}
`;

/**
 * Sends the authorization response to the window that opened this one. The
 * browser delivers it only if that window has one of the named origins.
 */
export const CALLBACK_SCRIPT = `
const outcome = document.querySelector("[data-message]");
if (window.opener) {
  const message = JSON.parse(outcome.dataset.message);
  for (const origin of JSON.parse(outcome.dataset.origins)) {
    window.opener.postMessage(message, origin);
  }
  const offer = document.getElementById("offer");
  offer.hidden = false;
  offer.addEventListener("click", () => window.close());
}
`;

/**
 * Shows the buttons that tick all checkboxes or none, and counts the ticked
 * ones.
 */
export const TICK_SCRIPT = `
const boxesOf = (part) => [...part.querySelectorAll("input[type=checkbox]")];
function count() {
  for (const badge of document.querySelectorAll("[data-ticked]")) {
    const boxes = boxesOf(badge.closest("[data-boxes]"));
    const ticked = boxes.filter((box) => box.checked).length;
    badge.textContent = ticked + " of " + boxes.length;
  }
}
for (const button of document.querySelectorAll("button[data-tick]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    for (const box of boxesOf(button.closest("[data-boxes]"))) {
      box.checked = button.dataset.tick === "All";
    }
    count();
  });
}
document.addEventListener("change", count);
count();
`;

/**
 * Sends no form in the first 700 ms after the window comes to the front. A site
 * may close its own window above this one during a double-click, so that the
 * second click presses a button here.
 */
export const FRONT_SCRIPT = `
let quietUntil = 0;
addEventListener("focus", () => { quietUntil = performance.now() + 700; });
addEventListener("submit", (event) => {
  if (performance.now() >= quietUntil) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
`;
