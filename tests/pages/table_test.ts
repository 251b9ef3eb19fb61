import assert from "node:assert/strict";
import { timeAgo, Upcoming } from "../../src/pages/table.tsx";

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

Deno.test("Upcoming() tells the time of the clock, and the date of what is further than a day away", () => {
  const now = Date.UTC(2026, 10, 23, 14, 0) / 1000;
  const told = (seconds: number) =>
    `${Upcoming({ at: now + seconds, now })}`.replaceAll(/<[^>]*>/g, "");
  assert.equal(told(20 * 60), "14:20 UTC");
  assert.equal(told(3 * 86_400), "2026-11-26, 14:00 UTC");
});
