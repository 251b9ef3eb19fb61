/** Callers without a request: work that goes on is theirs as long as their door is open. */
import assert from "node:assert/strict";
import {
  anonymousGate,
  openGate,
} from "../../../../src/core/auth/doors/gate.ts";
import {
  gateOfDoors,
  staticDoors,
} from "../../../../src/core/auth/doors/doors.ts";
import { oauthDoor } from "../../../../src/core/auth/doors/oauth_door.ts";
import { jwtDoor } from "../../../../src/core/auth/doors/jwt_door.ts";
import {
  ANONYMOUS,
  type Caller,
  STRANGER,
} from "../../../../src/core/caller.ts";

const bearer = { tokens: ["secret"] };
const apiKey = { keys: ["secret"], header: "x-api-key" };
const both = gateOfDoors(staticDoors({ bearer, apiKey } as never));
const OPERATOR: Caller = {
  subject: "operator",
  scopes: "all",
  binding: "operator",
};

const ISSUER = "https://issuer.example";

/** Ada with a token of an issuer, which was the first one then. */
function ada(issuer: string): Caller {
  return {
    subject: "ada",
    door: "jwt",
    scopes: [],
    binding: JSON.stringify([issuer, "ada"]),
  };
}

/** The door for the people of some issuers, with more rules. */
function doorOf(issuers: string[], rules: Record<string, unknown> = {}) {
  return jwtDoor({
    issuers: issuers.map((issuer) => ({ issuer, jwksUrl: `${issuer}/keys` })),
    audiences: ["us"],
    leewaySeconds: 0,
    types: [],
    scopeClaims: [],
    clientClaims: [],
    baseUrl: "https://tools.example",
    isBlockedPerson: () => Promise.resolve(false),
    clock: Date.now,
    ...rules,
  } as never);
}

async function subjectOf(
  gate: Pick<typeof openGate, "restore">,
  caller: Caller,
): Promise<string | undefined> {
  return (await gate.restore(caller))?.caller.subject;
}

Deno.test("restore() of an open server knows its anonymous caller alone", async () => {
  assert.equal(await subjectOf(openGate, ANONYMOUS), "anonymous");
  assert.equal(await subjectOf(openGate, OPERATOR), undefined);
});

Deno.test("restore() knows holders of credentials as long as their door is open", async () => {
  for (const door of ["bearer", "api_key"] as const) {
    assert.equal(await subjectOf(both, { ...OPERATOR, door }), "operator");
  }
  const onlyKeys = gateOfDoors(staticDoors({ apiKey } as never));
  const holder = { ...OPERATOR, door: "bearer" } as const;
  assert.equal(await subjectOf(onlyKeys, holder), undefined);
  assert.equal(await subjectOf(both, OPERATOR), undefined);
});

Deno.test("restore() knows strangers as long as they may come in", async () => {
  assert.equal(await subjectOf(both, STRANGER), undefined);
  const gate = anonymousGate(both);
  assert.equal(await subjectOf(gate, STRANGER), "anonymous");
  const holder = { ...OPERATOR, door: "bearer" } as const;
  assert.equal(await subjectOf(gate, holder), "operator");
});

Deno.test("restore() knows the people of an issuer as long as it is trusted", async () => {
  const gate = doorOf([ISSUER]);
  assert.equal(await subjectOf(gate, ada(ISSUER)), "ada");
  assert.equal(await subjectOf(gate, ada("https://other.example")), undefined);
  const other = { ...ada(ISSUER), door: "oauth" } as const;
  assert.equal(await subjectOf(gate, other), undefined);
});

Deno.test("restore() knows no one who is blocked, by an operator or by OAUTH_BLOCKED", async () => {
  const whole = `${ISSUER}#ada`;
  const isBlockedPerson = (subject: string) =>
    Promise.resolve(subject === whole);
  const byOperator = doorOf([ISSUER], { isBlockedPerson });
  assert.equal(await subjectOf(byOperator, ada(ISSUER)), undefined);
  const blocked = [{ kind: "subject", subject: whole }];
  const bySetting = doorOf([ISSUER], { blocked });
  assert.equal(await subjectOf(bySetting, ada(ISSUER)), undefined);
});

Deno.test("restore() names no one by what is another issuer's name for someone by now", async () => {
  const gate = doorOf(["https://other.example", ISSUER]);
  assert.equal(await subjectOf(gate, ada(ISSUER)), `${ISSUER}#ada`);
});

Deno.test("isConfigured() is false for who came in by what is not configured here, whatever the rules say", async () => {
  const jwt = doorOf([ISSUER], {
    isBlockedPerson: () => Promise.resolve(true),
  });
  const oauth = oauthDoor({
    providers: [{ id: "github" }],
    accessTokens: {},
  } as never);
  const gate = gateOfDoors({ jwt, oauth });
  const joined = { ...OPERATOR, door: "oauth" } as const;
  for (
    const [caller, expected] of [
      [ada(ISSUER), true],
      [ada("https://other.example"), false],
      [{ ...joined, provider: "github" }, true],
      [{ ...joined, provider: "google" }, false],
      [{ ...joined, door: "token", provider: "google" }, false],
      // A machine.
      [joined, true],
      [{ ...OPERATOR, door: "bearer" }, false],
      [STRANGER, false],
    ] as [Caller, boolean][]
  ) {
    assert.equal(await gate.isConfigured(caller), expected, caller.provider);
  }
  assert.equal(await openGate.isConfigured(ada(ISSUER)), false);
  assert.equal(await both.isConfigured({ ...OPERATOR, door: "api_key" }), true);
});
