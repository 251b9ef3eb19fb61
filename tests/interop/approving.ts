/**
 * A tool whose calls wait for approval, and its person in a browser.
 *
 * @module
 */
import assert from "node:assert/strict";
import { type Tool, tool } from "../../src/mod.ts";
import { formOf } from "../kit/account_visitor.ts";
import { Browser } from "../kit/browser.ts";

/** Makes the tool `wipe`, and the list of its runs' approvals. */
export function waiting(): { tool: Tool; ran: unknown[] } {
  const ran: unknown[] = [];
  return {
    ran,
    tool: tool({
      name: "wipe",
      approval: {},
      run(_input, { approval }) {
        ran.push(approval?.id);
        return "wiped";
      },
    }),
  };
}

/** Approves a call at its link, as a person of the built-in provider. */
export async function pressAt(link: string, name: string): Promise<void> {
  const { origin, pathname } = new URL(link);
  const browser = new Browser((to) => to.origin === origin ? fetch : undefined);
  let page = await browser.open(link);
  page = await browser.press(formOf(page, "/account/sign-in"), "", "");
  page = await browser.press(page, "name", name);
  page = await browser.press(formOf(page, pathname), "answer", "approve");
  assert.match(page.text, /Approved\. |It was done|It has begun/);
}
