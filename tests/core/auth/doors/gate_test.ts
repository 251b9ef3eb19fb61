import assert from "node:assert/strict";
import {
  anonymousGate,
  type Gate,
  lazyGate,
  openGate,
  parseBearer,
  printChallenge,
} from "../../../../src/core/auth/doors/gate.ts";
import type { Authenticated } from "../../../../src/core/caller.ts";
import { ChallengeError } from "../../../../src/core/errors.ts";

Deno.test("lazyGate() loads its gate with the first request, and once", async () => {
  let loads = 0;
  const gate = lazyGate(() => {
    loads++;
    return Promise.resolve(openGate);
  });
  assert.equal(loads, 0);
  const expected = openGate.authenticate(new Headers());
  for (let request = 0; request < 3; request++) {
    assert.equal(await gate.authenticate(new Headers()), expected);
  }
  assert.equal(loads, 1);
});

Deno.test("lazyGate() is one gate, however many requests are the first", async () => {
  const authenticated: string[] = [];
  let loads = 0;
  const gate = lazyGate(() => {
    const name = `gate ${++loads}`;
    return Promise.resolve({
      ...openGate,
      authenticate: (headers) => {
        authenticated.push(name);
        return openGate.authenticate(headers);
      },
    });
  });
  await Promise.all(
    Array.from({ length: 3 }, () => gate.authenticate(new Headers())),
  );
  assert.deepEqual(new Set(authenticated), new Set(["gate 1"]));
});

const known: Authenticated = {
  caller: { subject: "ada", scopes: ["a"], binding: "ada" },
};
const gate: Gate = {
  authenticate: () => known,
  restore: () => known,
  isConfigured: () => true,
  challenge: () => "Bearer",
};

Deno.test("anonymousGate() lets in who presents nothing, without a scope", () => {
  for (const keyHeader of [undefined, "x-key"]) {
    const { caller } = anonymousGate(gate, { keyHeader })
      .authenticate(
        new Headers({ "x-other": "1", undefined: "1" }),
      ) as Authenticated;
    assert.deepEqual([caller.subject, caller.scopes], ["anonymous", []]);
    assert.equal("ceiling" in caller, false);
  }
  const { caller } = anonymousGate(gate, { ceiling: [] })
    .authenticate(new Headers()) as Authenticated;
  assert.deepEqual(caller.ceiling, []);
});

Deno.test("anonymousGate() leaves everyone who presents something to the gate", () => {
  const both = anonymousGate(gate, { keyHeader: "x-key" });
  for (const name of ["authorization", "x-key"]) {
    assert.equal(both.authenticate(new Headers({ [name]: "" })), known);
  }
  const { caller } = anonymousGate(gate)
    .authenticate(new Headers({ "x-key": "1" })) as Authenticated;
  assert.equal(caller.subject, "anonymous");
});

Deno.test("parseBearer() reads the token, whatever the case of the scheme", () => {
  assert.equal(parseBearer("Bearer abc.-_~+/=="), "abc.-_~+/==");
  assert.equal(parseBearer("bearer  abc"), "abc");
  for (
    const header of [
      null,
      "",
      "Bearer",
      "Bearer ",
      "Basic abc",
      "Bearer a b",
      "xBearer a",
    ]
  ) assert.equal(parseBearer(header), undefined);
});

const METADATA = { resource_metadata: "https://t.example/m" };

Deno.test("printChallenge() names no error when nothing was presented", () => {
  assert.equal(
    printChallenge(new ChallengeError("Sign in"), METADATA, ["a", "b"]),
    'Bearer resource_metadata="https://t.example/m", scope="a b"',
  );
  assert.equal(printChallenge(new ChallengeError("Sign in")), "Bearer");
});

Deno.test("printChallenge() says why a token did not do", () => {
  assert.equal(
    printChallenge(new ChallengeError("It ended", "invalid_token"), METADATA),
    'Bearer error="invalid_token", error_description="It ended", ' +
      'resource_metadata="https://t.example/m"',
  );
});

Deno.test("printChallenge() lists the scopes that a call needs, not the usual ones", () => {
  assert.equal(
    printChallenge(
      new ChallengeError("More", "insufficient_scope", ["c"]),
      {},
      ["a"],
    ),
    'Bearer error="insufficient_scope", error_description="More", scope="c"',
  );
});

Deno.test("printChallenge() asks a stranger for what the call needs, and what every sign-in asks for", () => {
  assert.equal(
    printChallenge(
      new ChallengeError("Sign in", undefined, ["c", "a"]),
      {},
      ["a", "b"],
    ),
    'Bearer scope="c a b"',
  );
});

Deno.test("printChallenge() lets nothing out of its quotes", () => {
  const refusal = new ChallengeError('a"b\\c\r\nd', "invalid_token");
  assert.equal(
    printChallenge(refusal),
    `Bearer error="invalid_token", error_description="a'b?c??d"`,
  );
});
