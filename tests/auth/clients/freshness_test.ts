import assert from "node:assert/strict";
import { freshSeconds } from "../../../src/auth/clients/fetch_document.ts";

/** Sat, 21 Nov 2026 09:00:00 GMT. */
const NOW = Date.UTC(2026, 10, 21, 9) / 1000;

const ANSWERS: [Record<string, string>, number][] = [
  [{}, 3600],
  [{ "cache-control": "public" }, 3600],
  [{ "cache-control": "max-age=300" }, 300],
  [{ "cache-control": "public, Max-Age=300, must-revalidate" }, 300],
  [{ "cache-control": 'max-age="300"' }, 300],
  [{ "cache-control": "max-age=300, s-maxage=600" }, 600],
  [{ "cache-control": "max-age=300", age: "100" }, 200],
  [{ "cache-control": "max-age=300", age: "400" }, 0],
  [{ "cache-control": "max-age=300", age: "soon" }, 300],
  [{ "cache-control": "max-age=300", age: "5 s" }, 300],
  [{ "cache-control": "max-age=300", age: "-5" }, 300],
  [{ "cache-control": "no-store" }, 0],
  [{ "cache-control": "max-age=300, no-cache" }, 0],
  [{ "cache-control": 'no-cache="set-cookie"' }, 0],
  [{ "cache-control": "x-max-age=300" }, 3600],
  [{ "cache-control": "stale-no-store" }, 3600],
  [{ "cache-control": "max-age=soon" }, 3600],
  [{ expires: "Sat, 21 Nov 2026 09:10:00 GMT" }, 600],
  [{
    date: "Sat, 21 Nov 2026 09:05:00 GMT",
    expires: "Sat, 21 Nov 2026 09:10:00 GMT",
  }, 300],
  [{ expires: "Sat, 21 Nov 2026 09:10:00 GMT", age: "60" }, 540],
  [{ expires: "Sat, 21 Nov 2026 08:00:00 GMT" }, 0],
  [{ expires: "0" }, 0],
  [{ expires: "never" }, 0],
  [{ expires: "-1" }, 0],
  [{
    expires: "Sat, 21 Nov 2026 09:10:00 GMT",
    "cache-control": "max-age=60",
  }, 60],
];

for (const [headers, seconds] of ANSWERS) {
  Deno.test(`freshSeconds() reads ${JSON.stringify(headers)}`, () => {
    assert.equal(freshSeconds(new Headers(headers), NOW), seconds);
  });
}
