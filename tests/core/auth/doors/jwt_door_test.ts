import assert from "node:assert/strict";
import { base64url } from "../../../../src/core/crypto/crypto.ts";
import type { Authenticated } from "../../../../src/core/caller.ts";
import { now, systemClock } from "../../../../src/core/clock.ts";
import { ChallengeError } from "../../../../src/core/errors.ts";
import { jwtDoor } from "../../../../src/core/auth/doors/jwt_door.ts";
import { keyServer } from "../../../kit/key_server.ts";

const ISSUER = "https://login.example.com";
const CLAIMS = { iss: ISSUER, aud: "tools", sub: "42", exp: now() + 600 };

async function start(issuers = [ISSUER], otherIds?: string[]) {
  const reads: string[] = [];
  const keys = await keyServer();
  const gate = jwtDoor({
    issuers: issuers.map((issuer) => ({ issuer, jwksUrl: keys.url })),
    audiences: ["tools"],
    leewaySeconds: 0,
    types: ["", "jwt", "at+jwt"],
    scopeClaims: ["scope", "scp"],
    clientClaims: ["cid", "client_id"],
    baseUrl: "https://tools.example.com",
    otherIds,
    isBlockedPerson: (subject) => {
      reads.push(`block of ${subject}`);
      return Promise.resolve(false);
    },
    readAhead: (subject) => void reads.push(`ahead for ${subject}`),
    clock: systemClock,
  });
  return {
    keys,
    reads,
    authenticate: async (token?: string): Promise<Authenticated> =>
      await gate.authenticate(
        new Headers(token ? { authorization: `Bearer ${token}` } : {}),
      ),
    [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
  };
}

/** True for a refusal of the token itself, not for a missing scope. */
function isInvalid(error: unknown): boolean {
  return error instanceof ChallengeError && error.error === "invalid_token" &&
    error.description === "The access token is not valid for this server";
}

Deno.test("jwtDoor() asks for a token where there is none", async () => {
  await using server = await start();
  await assert.rejects(
    server.authenticate(),
    (error) => error instanceof ChallengeError && error.error === undefined,
  );
});

for (const claim of ["exp", "sub", "iss", "aud"] as const) {
  Deno.test(`jwtDoor() refuses a token without ${claim}`, async () => {
    await using server = await start();
    const { [claim]: _, ...claims } = CLAIMS;
    const token = await server.keys.sign(claims);
    await assert.rejects(server.authenticate(token), isInvalid);
  });
}

for (
  const [what, header] of [
    ["an extension that no one here knows", { crit: ["x"], x: 1 }],
    ["no algorithm", { alg: undefined }],
    ["a type within another", { typ: "at+application/jwt" }],
    ["a type that is no text", { typ: [["jwt"]] as unknown as string }],
  ] as const
) {
  Deno.test(`jwtDoor() refuses a token whose header has ${what}`, async () => {
    await using server = await start();
    const [, claims, signature] = (await server.keys.sign(CLAIMS)).split(".");
    const json = JSON.stringify({ alg: "ES256", kid: "1", ...header });
    const head = base64url(new TextEncoder().encode(json));
    const token = "typ" in header
      ? await server.keys.sign(CLAIMS, undefined, header)
      : `${head}.${claims}.${signature}`;
    await assert.rejects(server.authenticate(token), isInvalid);
  });
}

Deno.test("jwtDoor() refuses a token that any of several keys may have signed", async () => {
  await using server = await start();
  await server.keys.publish("2");
  const token = await server.keys.sign(CLAIMS, undefined, { kid: undefined });
  await assert.rejects(server.authenticate(token), isInvalid);
});

Deno.test("jwtDoor() reads ahead for a person when it knows them, while it reads their block", async () => {
  await using server = await start();
  const forged = await server.keys.sign({ ...CLAIMS, aud: "another" });
  await assert.rejects(server.authenticate(forged), isInvalid);
  assert.deepEqual(server.reads, []);
  await server.authenticate(await server.keys.sign(CLAIMS));
  assert.deepEqual(server.reads, [
    "ahead for 42",
    "block of https://login.example.com#42",
  ]);
});

Deno.test("jwtDoor() believes an e-mail address that its issuer has checked", async () => {
  await using server = await start();
  for (
    const [claim, isVerified] of [
      [true, true],
      ["true", true],
      [false, false],
      ["false", false],
    ]
  ) {
    const token = await server.keys.sign({ ...CLAIMS, email_verified: claim });
    const { caller } = await server.authenticate(token);
    assert.equal(caller.identity?.emailVerified, isVerified);
  }
});

Deno.test("jwtDoor() believes Google an address of a company that manages the account alone", async () => {
  const iss = "https://accounts.google.com";
  await using server = await start([iss]);
  const email = "jo@company.example";
  for (const hd of [undefined, "company.example"]) {
    const claims = { ...CLAIMS, iss, email, email_verified: true, hd };
    const { caller } = await server.authenticate(
      await server.keys.sign(claims),
    );
    assert.equal(caller.identity?.emailVerified, hd !== undefined);
  }
});

Deno.test("jwtDoor() keeps two issuers' people apart", async () => {
  const other = "https://other.example.com/t1";
  await using server = await start([ISSUER, other]);
  const callerOf = async (claims: Record<string, string>) => {
    const token = await server.keys.sign({ ...CLAIMS, ...claims });
    return (await server.authenticate(token)).caller;
  };
  const [first, second] = [await callerOf({}), await callerOf({ iss: other })];
  assert.notEqual(first.binding, second.binding);
  assert.equal(first.subject, "42");
  assert.equal(second.subject, "https://other.example.com/t1#42");
  const { subject } = await callerOf({ sub: second.subject });
  assert.equal(
    subject,
    "https://login.example.com#https://other.example.com/t1#42",
  );
});

Deno.test("jwtDoor() takes no one for a caller of another door", async () => {
  await using server = await start([ISSUER], ["github"]);
  for (const sub of ["anonymous", "operator", "github:42", "f:6c8:jo"]) {
    const token = await server.keys.sign({ ...CLAIMS, sub });
    const { caller } = await server.authenticate(token);
    const isFree = sub === "f:6c8:jo";
    assert.equal(
      caller.subject,
      isFree ? sub : `https://login.example.com#${sub}`,
    );
  }
});

Deno.test("jwtDoor() knows the people of an issuer by the subject with which they sign in there", async () => {
  await using server = await start([ISSUER], [ISSUER]);
  const { caller } = await server.authenticate(await server.keys.sign(CLAIMS));
  assert.equal(caller.subject, `${ISSUER}#42`);
});

Deno.test("jwtDoor() leaves a name alone that is no one's at the doors of this server", async () => {
  await using server = await start([ISSUER]);
  for (
    const [sub, subject] of [
      ["github:42", "github:42"],
      ["client:a", "client:a"],
      ["operator", "https://login.example.com#operator"],
      [
        "https://login.example.com#42",
        "https://login.example.com#https://login.example.com#42",
      ],
    ]
  ) {
    const token = await server.keys.sign({ ...CLAIMS, sub });
    assert.equal((await server.authenticate(token)).caller.subject, subject);
  }
});

Deno.test("jwtDoor() names the client of a token, or else the token itself", async () => {
  await using server = await start();
  const callerOf = async (claims: object) => {
    const token = await server.keys.sign({ ...CLAIMS, ...claims });
    return (await server.authenticate(token)).caller;
  };
  const named = await callerOf({ cid: "", client_id: "desk" });
  assert.deepEqual([named.clientId, named.tokenId], ["desk", undefined]);
  const none = await callerOf({ azp: "not asked for", client_id: ["desk"] });
  const other = await callerOf({ jti: "2" });
  assert.deepEqual([none.clientId, other.clientId], [undefined, undefined]);
  assert.match(none.tokenId!, /^[\w-]{43}$/);
  assert.notEqual(none.tokenId, other.tokenId);
});
