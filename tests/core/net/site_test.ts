/** The sites of hosts, which decide where a code may go. */
import assert from "node:assert/strict";
import { isSameSite } from "../../../src/core/net/site.ts";

for (
  const [one, other, expected] of [
    ["login.example.com", "api.example.com", false],
    ["mcp.example.com", "cf.mcp.example.com", true],
    ["a.co.uk", "b.co.uk", false],
    ["id.a.co.uk", "api.id.a.co.uk", true],
    ["a.github.io", "b.github.io", false],
    ["a.deno.dev", "a.deno.dev", true],
    ["a.deno.dev", "b.deno.dev", false],
    ["x.a.workers.dev", "y.a.workers.dev", false],
    ["x.a.workers.dev", "x.b.workers.dev", false],
    ["github.io", "a.github.io", false],
    ["127.0.0.1:1", "127.0.0.1:1", true],
    ["127.0.0.1:1", "127.0.0.1:2", false],
    ["localhost:1", "localhost:2", false],
    ["10.1.0.1", "10.2.0.1", false],
  ] as const
) {
  Deno.test(`isSameSite() is ${expected} for ${one} and ${other}`, () => {
    const [a, b] = [one, other].map((host) => new URL(`https://${host}`));
    assert.equal(isSameSite(a, b), expected);
    assert.equal(isSameSite(b, a), expected);
  });
}
