import assert from "node:assert/strict";
import { isProviderAddress } from "../../../src/auth/provider/api.ts";

const cases: [url: string, apiUrl: string | undefined, isAllowed: boolean][] = [
  ["https://api.github.com/user", "https://api.github.com", true],
  ["https://uploads.github.com/x", "https://api.github.com", true],
  ["https://github.com/x", "https://api.github.com", true],
  ["http://api.github.com/user", "https://api.github.com", false],
  ["http://uploads.github.com/x", "https://api.github.com", false],
  ["https://github.com.evil.example/x", "https://api.github.com", false],
  ["https://evilgithub.com/x", "https://api.github.com", false],
  ["https://gmail.googleapis.com/x", "https://www.googleapis.com", true],
  ["https://other.co.uk/x", "https://example.co.uk", false],
  ["http://127.0.0.1:9/x", "http://127.0.0.1:9/api", true],
  ["http://127.0.0.1:8/x", "http://127.0.0.1:9/api", false],
  ["https://anything.example/x", undefined, true],
  ["http://anything.example/x", undefined, false],
  ["http://localhost:9/x", undefined, true],
];

for (const [url, apiUrl, isAllowed] of cases) {
  Deno.test(`isProviderAddress() ${isAllowed ? "sends" : "keeps"} a token of ${apiUrl} ${isAllowed ? "to" : "from"} ${url}`, () => {
    assert.equal(isProviderAddress(new URL(url), apiUrl), isAllowed);
  });
}
