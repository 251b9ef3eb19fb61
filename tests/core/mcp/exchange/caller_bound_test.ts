import assert from "node:assert/strict";
import {
  CallerBound,
  type LimitKey,
  limitKeyOf,
  MANY_FACTOR,
  NO_NETWORK,
} from "../../../../src/core/mcp/exchange/limits.ts";
import { LimitError } from "../../../../src/core/errors.ts";
import { parseNetwork } from "../../../../src/core/net/address.ts";
import {
  ANONYMOUS,
  type Caller,
  STRANGER,
} from "../../../../src/core/caller.ts";

const ADA: LimitKey = { name: "ada", isMany: false };
const BOB: LimitKey = { name: "bob", isMany: false };
const OFFICE: LimitKey = { name: "office", isMany: true };

Deno.test("CallerBound refuses one more than a caller may have, and no one else", () => {
  const bound = new CallerBound(2, "calls at a time");
  bound.take(ADA);
  bound.take(ADA);
  assert.throws(
    () => bound.take(ADA),
    (error) =>
      error instanceof LimitError && error.status === 429 &&
      error.headers["retry-after"] === "5" &&
      error.message === "Too many calls at a time: try again in 5 seconds",
  );
  bound.take(BOB);
  bound.release(ADA);
  bound.take(ADA);
  assert.throws(() => bound.take(ADA), LimitError);
});

Deno.test("CallerBound counts what was checked before", () => {
  const bound = new CallerBound(1, "calls at a time");
  bound.check(ADA);
  bound.count(ADA);
  assert.throws(() => bound.check(ADA), LimitError);
  bound.check(BOB);
  bound.release(ADA);
  bound.check(ADA);
});

Deno.test("CallerBound gives more to a caller that may be many people, and bounds them too", () => {
  const bound = new CallerBound(1, "calls at a time");
  for (let i = 0; i < MANY_FACTOR; i++) bound.take(OFFICE);
  assert.throws(() => bound.take(OFFICE), LimitError);
  const strict = new CallerBound(1, "calls at a time", 1);
  strict.take(OFFICE);
  assert.throws(() => strict.take(OFFICE), LimitError);
});

Deno.test("CallerBound has no bound for those whom nothing tells apart", () => {
  const bound = new CallerBound(1, "calls at a time");
  for (let i = 0; i < 3; i++) bound.take(undefined);
  bound.release(undefined);
});

const PERSON: Caller = { subject: "ada", binding: "ada", scopes: [] };
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
  const info = peer === undefined ? undefined : {
    remoteAddr: { hostname: peer },
  };
  return limitKeyOf({ request, info, authenticated: { caller } }, trusted);
}

function name(...parameters: Parameters<typeof counted>) {
  return counted(...parameters)?.name;
}

Deno.test("limitKeyOf() knows a person wherever they call from, and by no name of theirs", () => {
  const home = counted(PERSON, "192.0.2.1")!;
  assert.equal(home.isMany, false);
  // The identity of a caller object is computed once.
  assert.equal(counted(PERSON), home);
  assert.equal(name({ ...PERSON, scopes: ["mail"] }, "192.0.2.2"), home.name);
  assert.notEqual(name({ ...PERSON, binding: "bob" }), home.name);
  assert.equal(home.name.length, 43);
});

for (
  const [what, caller] of Object.entries({ ANONYMOUS, STRANGER, KEY, BEARER })
) {
  Deno.test(`limitKeyOf() tells ${what} apart by the network, behind a trusted proxy too`, () => {
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

Deno.test("limitKeyOf() counts all together of whom no one knows where they come from", () => {
  for (const unnamed of [ANONYMOUS, STRANGER]) {
    const all = [
      counted(unnamed),
      counted(unnamed, "127.0.0.1", {}, []),
      counted(unnamed, "::1", {}, []),
    ];
    for (const one of all) assert.equal(one, NO_NETWORK);
  }
});

Deno.test("limitKeyOf() counts a credential that is handed out, on this machine too", () => {
  for (const shared of [KEY, BEARER]) {
    assert.notEqual(name(shared), undefined);
    assert.notEqual(name(shared, "127.0.0.1", {}, []), undefined);
  }
  assert.notEqual(name(KEY), name({ ...PERSON, binding: "operator" }));
});
