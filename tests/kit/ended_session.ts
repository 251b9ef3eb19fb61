/**
 * Sessions of people that end as a page stores what they said on it.
 *
 * @module
 */
import assert from "node:assert/strict";
import { blockKey } from "../../src/core/kv/keys.ts";
import { atomicWith, kvWith } from "./kv.ts";

/** The ends of a person's right to act on a page, each written by another process. */
const ENDS: Record<string, (kv: Deno.Kv, subject: string) => Promise<unknown>> =
  {
    async "signed out"(kv) {
      for await (const { key } of kv.list({ prefix: ["account-session"] })) {
        await kv.delete(key);
      }
    },
    blocked: (kv, subject) =>
      kv.set(blockKey(subject), { name: subject, at: 0, by: "ops" }),
  };

/** A page that is open. */
export interface OpenPage extends AsyncDisposable {
  subject: string;
  /** Sends its form. */
  press(): Promise<{ status: number; text: string }>;
  /** Reads what the form is to change. */
  stored(): Promise<unknown>;
}

/**
 * Checks that a form changes nothing once its person is signed out or blocked,
 * before whichever commit of its request that is. Who is signed out before
 * anything was changed is told so.
 */
export async function checkEndsWithSession(
  open: (kv: Deno.Kv) => Promise<OpenPage>,
): Promise<void> {
  for (const [how, end] of Object.entries(ENDS)) {
    for (let moment = 0;; moment++) {
      using real = await Deno.openKv(":memory:");
      let commits = -Infinity;
      let atEnd: { stored: unknown } | undefined;
      const kv = kvWith(real, {
        atomic: atomicWith(real, async (commit) => {
          if (commits++ === moment) {
            await end(real, page.subject);
            atEnd = { stored: await page.stored() };
          }
          return await commit();
        }),
      });
      await using page = await open(kv);
      const before = await page.stored();
      commits = 0;
      const { status, text } = await page.press();
      commits = -Infinity;
      const after = await page.stored();
      if (!atEnd) {
        assert.notDeepEqual(after, before);
        break;
      }
      const when = `${how} before commit ${moment}`;
      assert.deepEqual(after, atEnd.stored, when);
      if (how === "signed out" && moment === 0) {
        assert.equal(status, 403, when);
        assert.match(text, /You are signed out/);
      }
    }
  }
}

/** Reads the states of all questions that pages ask. */
export function waitsIn(kv: Deno.Kv): Promise<string[]> {
  const waits = kv.list<{ state: string }>({ prefix: ["wait"] });
  return Array.fromAsync(waits, ({ value }) => value.state);
}
