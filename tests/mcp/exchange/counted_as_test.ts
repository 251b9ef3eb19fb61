import assert from "node:assert/strict";
import { parseNetwork } from "../../../src/net/address.ts";
import { ANONYMOUS, type Caller, STRANGER } from "../../../src/caller.ts";
import { countedAs, UNKNOWN } from "../../../src/mcp/exchange/counted_as.ts";

const ADA: Caller = { subject: "ada", binding: "ada", scopes: [] };
const KEY: Caller = {
  subject: "operator",
  binding: "operator",
  scopes: "all",
  door: "api_key",
};
const BEARER: Caller = { ...KEY, door: "bearer" };
const PROXY = parseNetwork("10.0.0.0/8")!;

function counted(
  caller: Caller,
  peer?: string,
  headers: Record<string, string> = {},
  trusted = [PROXY],
) {
  const request = new Request("http://localhost/mcp", { headers });
  return countedAs({ request, peer, authenticated: { caller } }, trusted);
}

function name(...parameters: Parameters<typeof counted>) {
  return counted(...parameters)?.name;
}

Deno.test("countedAs() knows a person wherever they call from, and by no name of theirs", () => {
  const home = counted(ADA, "192.0.2.1")!;
  assert.equal(home.isMany, false);
  // The identity of a caller object is computed once.
  assert.equal(counted(ADA), home);
  assert.equal(name({ ...ADA, scopes: ["mail"] }, "192.0.2.2"), home.name);
  assert.notEqual(name({ ...ADA, binding: "bob" }), home.name);
  assert.equal(home.name.length, 43);
});

for (
  const [what, caller] of Object.entries({ ANONYMOUS, STRANGER, KEY, BEARER })
) {
  Deno.test(`countedAs() tells ${what} apart by the network, behind a trusted proxy too`, () => {
    const one = name(caller, "192.0.2.1");
    assert(one !== undefined && one.length <= 64);
    assert.equal(counted(caller, "192.0.2.1")!.isMany, true);
    assert.equal(name(caller, "192.0.2.1", {}, []), one);
    assert.notEqual(name(caller, "192.0.2.2"), one);
    const forwarded = { "x-forwarded-for": "192.0.2.1" };
    assert.equal(name(caller, "10.1.2.3", forwarded), one);
    assert.notEqual(name(caller, "203.0.113.9", forwarded), one);
    // A household has a /64 of its own.
    assert.equal(name(caller, "2001:db8::1"), name(caller, "2001:db8::ffff"));
  });
}

Deno.test("countedAs() counts all together of whom no one knows where they come from", () => {
  for (const unnamed of [ANONYMOUS, STRANGER]) {
    const all = [
      counted(unnamed),
      counted(unnamed, "127.0.0.1", {}, []),
      counted(unnamed, "::1", {}, []),
    ];
    for (const one of all) assert.equal(one, UNKNOWN);
  }
});

Deno.test("countedAs() counts a credential that is handed out, on this machine too", () => {
  for (const shared of [KEY, BEARER]) {
    assert.notEqual(name(shared), undefined);
    assert.notEqual(name(shared, "127.0.0.1", {}, []), undefined);
  }
  assert.notEqual(name(KEY), name({ ...ADA, binding: "operator" }));
});
