import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../../src/core/oauth/lifetimes.ts";
import type { Authenticated, Upstream } from "../../../../src/core/caller.ts";
import { now, systemClock } from "../../../../src/core/clock.ts";
import { oauthDoor } from "../../../../src/core/auth/doors/oauth_door.ts";
import {
  mintCredential,
  newGrantId,
} from "../../../../src/core/oauth/credential.ts";
import type { Grant } from "../../../../src/core/oauth/grant.ts";
import { FakeTime } from "../../../kit/fake_time.ts";

const GRANT = {
  createdAt: now(),
  usedAt: now(),
  endsAt: now() + 3600,
  expiresAt: now() + 3600,
  id: "g",
  subject: "dev:42",
  identity: { subject: "42" },
  clientId: "app",
  scopes: ["a", "b"],
} as unknown as Grant;

type Parts = Parameters<typeof oauthDoor>[0];

/** Makes a door whose tokens all belong to one grant. */
function start({ grant = GRANT, dataKey }: {
  grant?: Grant;
  dataKey?: () => Promise<Uint8Array>;
} = {}) {
  const state = { held: ["a", "b"] as string[] | undefined, isThere: true };
  const touched: string[] = [];
  const ahead: string[] = [];
  const grantId = newGrantId();
  const expiresAt = now() + 600;
  const upstream = {} as Upstream;
  const door = oauthDoor({
    providers: [],
    baseUrl: "https://tools.example.com",
    scopes: { usual: [] },
    effectiveScopes: (_, scopes = []) =>
      state.held && { scopes: state.held.filter((it) => scopes.includes(it)) },
    lifetimes: DEFAULT_LIFETIMES,
    accessTokens: {
      find: () =>
        Promise.resolve({ grant, scopes: grant.scopes, expiresAt, dataKey }),
      findGrant: (id: string) =>
        Promise.resolve(
          state.isThere || id === "again" ? { ...grant, id } : undefined,
        ),
    } as unknown as Parts["accessTokens"],
    grants: {
      touch: (id: string) => void touched.push(id),
    } as unknown as Parts["grants"],
    upstream: () => upstream,
    readAhead: (grantId) => void ahead.push(grantId),
    exchange: () => ({ token: () => Promise.resolve(undefined) }),
    clock: systemClock,
  });
  const headers = new Headers({
    authorization: `Bearer ${mintCredential("access_token", grantId)}`,
  });
  const verified = async (): Promise<Authenticated> =>
    await door.authenticate(headers);
  const restored = (scopes = ["a", "b"]) =>
    door.restore({ grantId: "g", subject: "dev:42", binding: "", scopes });
  return { state, touched, ahead, grantId, upstream, verified, restored };
}

Deno.test("oauthDoor() refuses a token from the second at which it expires", async () => {
  using time = new FakeTime();
  const { verified } = start();
  time.tick(599);
  await verified();
  time.tick(1);
  await assert.rejects(verified(), /unknown, expired or revoked/);
});

Deno.test("oauthDoor() reads ahead for a request whose token has to be read, not for one that goes on", async () => {
  using time = new FakeTime();
  const { ahead, grantId, verified } = start();
  const { isAccepted } = await verified();
  await verified();
  assert.deepEqual(ahead, [grantId]);
  time.tick(1);
  assert.equal(await isAccepted!(), true);
  assert.deepEqual(ahead, [grantId]);
  time.tick(1);
  await verified();
  assert.deepEqual(ahead, [grantId, grantId]);
});

Deno.test("oauthDoor() restores the caller of work with what their grant still holds, until it ends", async () => {
  using time = new FakeTime();
  const { state, restored } = start();
  const { caller, isLive } = (await restored(["a"]))!;
  assert.deepEqual([caller.subject, caller.scopes], ["dev:42", ["a"]]);
  assert.equal(await isLive!(), true);
  state.held = undefined;
  assert.equal(await restored(), undefined);
  state.held = ["a", "b"];
  time.tick(GRANT.expiresAt - now() - 1);
  assert.deepEqual((await restored())!.caller.scopes, ["a", "b"]);
  time.tick(1);
  assert.equal(await restored(), undefined);
});

Deno.test("oauthDoor() says that a caller's grant is live as long as it holds the same", async () => {
  using time = new FakeTime();
  const { state, verified } = start();
  const { isLive } = await verified();
  const isStillLive = async () => {
    time.tick(2);
    return await isLive!();
  };
  assert.equal(await isStillLive(), true);
  state.held = ["a"];
  assert.equal(await isStillLive(), false);
  state.held = undefined;
  assert.equal(await isStillLive(), false);
  state.held = ["a", "b"];
  assert.equal(await isStillLive(), true);
  state.isThere = false;
  assert.equal(await isStillLive(), false);
  // The person has signed in again.
  assert.equal(await isLive!("again"), true);
  assert.equal(await isLive!("another"), false);
  state.held = ["a"];
  time.tick(2);
  assert.equal(await isLive!("again"), false);
});

Deno.test("oauthDoor() notes the use of a token that a person made, and of no other", async () => {
  const made = start({ grant: { ...GRANT, kind: "token" } as Grant });
  await made.verified();
  assert.deepEqual(made.touched, ["g"]);
  const signedIn = start();
  await signedIn.verified();
  assert.deepEqual(signedIn.touched, []);
});

for (const kind of [undefined, "token"] as const) {
  Deno.test(`oauthDoor() refuses a paused ${kind ?? "connection"}, notes no use of it, and says that it is paused`, async () => {
    using time = new FakeTime();
    const grant = { ...GRANT, kind } as Grant;
    const { touched, verified } = start({ grant });
    const { isLive } = await verified();
    touched.length = 0;
    grant.pausedAt = now();
    time.tick(2);
    // After a 401 its client would throw away tokens that will work again.
    await assert.rejects(verified(), {
      name: "HttpError",
      status: 403,
      message: "This connection is paused: resume it at " +
        "https://tools.example.com/account",
    });
    assert.deepEqual(touched, []);
    assert.equal(await isLive!(), "paused");
  });
}

Deno.test("oauthDoor() gives the provider's API where a provider is behind the grant", async () => {
  const dataKey = () => Promise.resolve(new Uint8Array(32));
  const { verified, upstream } = start({ dataKey });
  assert.equal((await verified()).upstream, upstream);
  assert.equal((await start().verified()).upstream, undefined);
});
