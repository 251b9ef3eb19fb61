import assert from "node:assert/strict";
import {
  FutureTime,
  printDuration,
  timeAgo,
} from "../../../src/core/pages/times.tsx";

Deno.test("timeAgo() tells whole units, the largest that fits", () => {
  const now = 1_790_000_000;
  const told = (seconds: number) => timeAgo({ at: now - seconds, now });
  assert.equal(told(0), "just now");
  assert.equal(told(59), "just now");
  assert.equal(told(60), "1 minute ago");
  assert.equal(told(3599), "59 minutes ago");
  assert.equal(told(3600), "1 hour ago");
  assert.equal(told(86_399), "23 hours ago");
  assert.equal(told(86_400), "1 day ago");
  assert.equal(told(40 * 86_400), "40 days ago");
  // Clocks of two processes may differ by a moment.
  assert.equal(told(-3), "just now");
});

Deno.test("FutureTime() tells the time of the clock, and the date of what is not today", () => {
  const now = Date.UTC(2026, 10, 23, 14, 0) / 1000;
  const told = (seconds: number) =>
    `${FutureTime({ at: now + seconds, now })}`.replaceAll(/<[^>]*>/g, "");
  assert.equal(told(20 * 60), "14:20 UTC");
  assert.equal(told(11 * 3600), "2026-11-24, 01:00 UTC");
  assert.equal(told(3 * 86_400), "2026-11-26, 14:00 UTC");
});

Deno.test("printDuration() prints the largest unit in which a time is whole", () => {
  const times = [1, 60, 90, 300, 3600, 86_400, 90_000, 90 * 86_400];
  assert.deepEqual(times.map(printDuration), [
    "1 second",
    "1 minute",
    "90 seconds",
    "5 minutes",
    "1 hour",
    "24 hours",
    "25 hours",
    "90 days",
  ]);
});

/** A time in the words of a sentence, or in figures with its unit. */
const TYPED =
  /\ba (?:day|week|month|year)\b|\b(?:\d+|an|two|three|five|seven|ten|thirty|ninety|last) (?:second|minute|hour|day|week|month)s?\b/gi;

Deno.test("no page says for how long something is kept in words of its own", async () => {
  const found: string[] = [];
  for (
    const folder of ["core/pages", "core/auth/grants", "features/account_page"]
  ) {
    const below = new URL(`../../../src/${folder}/`, import.meta.url);
    for await (const { name } of Deno.readDir(below)) {
      const text = (await Deno.readTextFile(new URL(name, below)))
        .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
        .replaceAll(/\s+/g, " ");
      found.push(...(text.match(TYPED) ?? []).map((it) => `${name}: ${it}`));
    }
  }
  assert.deepEqual(found, []);
});
