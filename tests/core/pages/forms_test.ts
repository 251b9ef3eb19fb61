/** The buttons that Enter presses in the fields of the pages' forms. */
import assert from "node:assert/strict";
import { GALLERY } from "../../browser/gallery.tsx";

/**
 * The first buttons of all forms with fields and several buttons, behind the
 * forms' actions. Browsers press the first when Enter is pressed in a field or
 * on a box.
 */
const FIRST = [
  // Signing in for development.
  "/ ",
  "/account/work/answer accept",
  "/approve/ID refuse",
  "/authorize deny",
  "/connect/linear connect",
];

const FORM = /<form [^>]*action="([^"]*)".*?<\/form>/gs;
const FIELD = /<(?!input [^>]*type="hidden")(input|select|textarea) /;
const BUTTON = /<button [^>]*type="submit"[^>]*?(?: value="([^"]*)"[^>]*)?>/g;

Deno.test("Enter in a field of a page never approves, and sends only what was typed there", async () => {
  const found = new Set<string>();
  for (const [page, element] of Object.entries(GALLERY)) {
    for (const [form, action] of String(await element).matchAll(FORM)) {
      if (!FIELD.test(form)) continue;
      const buttons = [...form.matchAll(BUTTON)];
      const [, first = ""] = buttons[0]!;
      assert.notEqual(first, "approve", page);
      const path = action!.replace(/a{43}/, "ID");
      if (buttons.length > 1) found.add(`${path} ${first}`);
    }
  }
  assert.deepEqual([...found].sort(), FIRST);
});
