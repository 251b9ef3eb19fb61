import assert from "node:assert/strict";
import {
  leasedRefresh,
  type LeasedTokenStore,
  type TokenIssuer,
} from "../../../src/core/provider/leased_refresh.ts";
import { UpstreamError } from "../../../src/core/provider/provider.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { StorageError } from "../../../src/core/errors.ts";
import { until } from "../../kit/wait.ts";

const FOUND = {
  id: "account",
  tokens: JSON.stringify({
    accessToken: "old",
    tokenType: "Bearer",
    refreshToken: "refresh-old",
    expiresAt: 1,
  }),
};

/** A store with one record, which a test changes. */
function storeOf(parts: Partial<LeasedTokenStore<typeof FOUND>>) {
  const store: LeasedTokenStore<typeof FOUND> = {
    lease: (found) => Promise.resolve(found),
    release: () => Promise.resolve(),
    replace: () => Promise.resolve(true),
    waitForLease: () => Promise.resolve(),
    find: () => Promise.resolve(FOUND),
    ...parts,
  };
  const work: Promise<void>[] = [];
  const refresh = leasedRefresh(store, {
    clock: systemClock,
    background: (act) => work.push(act().catch(() => {})),
  });
  return { refresh, work };
}

/** Refuses new tokens, ten times at most: a loop without an end is noticed. */
function refusing(): () => Promise<boolean> {
  let tries = 0;
  return () => Promise.resolve(++tries > 10);
}

const issuer: TokenIssuer = {
  refresh: () => Promise.resolve({ accessToken: "new", tokenType: "Bearer" }),
  end: () => Promise.resolve(new Error("ended")),
  expired: () => Promise.resolve(undefined),
  gone: () => new Error("gone"),
  unavailable: () => new Error("unavailable"),
};

Deno.test("valid() leaves the tokens that another process has stored, and gives them", async () => {
  const theirs = {
    ...FOUND,
    tokens: JSON.stringify({ accessToken: "theirs", tokenType: "Bearer" }),
  };
  const { refresh } = storeOf({
    replace: refusing(),
    find: () => Promise.resolve(theirs),
  });
  const { tokens } = await refresh.valid(issuer, FOUND);
  assert.equal(tokens.accessToken, "theirs");
});

Deno.test("valid() has tokens discarded that came after the end of their account", async () => {
  const discarded: string[] = [];
  const { refresh } = storeOf({
    replace: refusing(),
    find: () => Promise.resolve(undefined),
  });
  const discard = ({ accessToken }: { accessToken: string }) =>
    Promise.resolve(discarded.push(accessToken));
  await assert.rejects(
    refresh.valid({ ...issuer, discard }, FOUND),
    /gone/,
  );
  assert.deepEqual(discarded, ["new"]);
});

Deno.test("a release that the database has not taken is tried again, and holds up no one", async () => {
  let failures = 2;
  const { refresh, work } = storeOf({
    release: () =>
      failures-- > 0 ? Promise.reject(new StorageError()) : Promise.resolve(),
  });
  const fails = () => Promise.reject(new UpstreamError("unavailable", "away"));
  await assert.rejects(
    refresh.valid({ ...issuer, refresh: fails }, FOUND),
    /unavailable/,
  );
  await until(() => failures === -1);
  await Promise.all(work);
});
