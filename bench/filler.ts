/**
 * Databases with many records.
 *
 * @module
 */
import { randomId, seal } from "../src/core/crypto/crypto.ts";
import { bindingOf } from "../src/core/oauth/grant.ts";
import { CONSENT_TTL_SECONDS } from "../src/core/oauth/lifetimes.ts";
import {
  type LedgerEntry,
  MAX_LEDGER_ENTRIES,
} from "../src/features/ledger/ledger.ts";
import { Database } from "../src/core/kv/database.ts";
import { checkedKv } from "../src/core/kv/layout.ts";
import { consentKey, ledgerKey, upstreamKey } from "../src/core/kv/keys.ts";
import { sessionStore } from "../src/core/store/sessions.ts";
import { copyRecords } from "./copies.ts";
import { openSignIn, saveGrant } from "./login.ts";

const client = {
  revision: "2025-11-25",
  clientInfo: { name: "bench", version: "1.0.0" },
  capabilities: {},
} as const;

/** Saves sessions of an anonymous caller and gives their ids. */
export async function saveSessions(
  kvPath: string,
  count: number,
): Promise<string[]> {
  using kv = await Deno.openKv(kvPath);
  const { save } = sessionStore(new Database(checkedKv(kv)));
  return await times(count, () => save({ ...client, binding: "anonymous" }));
}

/** Saves grants of a server at an address and gives their access tokens. */
export async function saveGrants(
  kvPath: string,
  baseUrl: string,
  count: number,
): Promise<string[]> {
  using kv = await Deno.openKv(kvPath);
  const issued = await times(count, () => saveGrant(kv, baseUrl));
  return issued.map(({ accessToken }) => accessToken);
}

/** The records that can be saved at once within the database's deadline. */
const AT_ONCE = 100;

async function times<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) {
    const length = Math.min(AT_ONCE, count - made.length);
    made.push(...await Promise.all(Array.from({ length }, make)));
  }
  return made;
}

/**
 * The time by which copies end later, so that none ends while it is measured.
 */
const LATER_MILLISECONDS = 30 * 24 * 60 * 60 * 1000;

/**
 * Gives a database with a number of connections. It is kept between runs,
 * because filling it takes minutes. The connections are copies of one that the
 * stores themselves wrote, with their own names.
 */
export async function fill(connections: number): Promise<string> {
  const kvPath = `data/bench-${connections}.db`;
  await Deno.mkdir("data", { recursive: true });
  if (await exists(kvPath)) return kvPath;
  console.error(`filling ${kvPath}`);
  const directory = await Deno.makeTempDir({ dir: "data" });
  const [few, full, partial] = ["few", "full", "partial"].map((name) =>
    `${directory}/${name}.db`
  );
  await saveConnection(few, FEW_CALLS);
  await saveConnection(full, MAX_LEDGER_ENTRIES);
  (await Deno.openKv(partial)).close();
  copyRecords(partial, connections, {
    modelOf: (copy) => copy % FULL_LIST === 0 ? full : few,
    laterMilliseconds: LATER_MILLISECONDS,
  });
  await Deno.rename(partial, kvPath);
  await Deno.remove(directory, { recursive: true });
  return kvPath;
}

/** A client ID of the length that a registration gives it. */
const CLIENT_ID = `${randomId(16)}.${randomId(225)}`;

/** Tokens of the length of those of a provider without an id_token. */
const UPSTREAM_TOKENS = JSON.stringify({
  accessToken: randomId(30),
  tokenType: "Bearer",
  refreshToken: randomId(30),
  scope: "openid profile email",
  expiresAt: 2_000_000_000,
});

/**
 * The share of connections that have a full list of calls: one in this number.
 */
const FULL_LIST = 10;
const FEW_CALLS = 8;

/**
 * Saves the records of a person who connected a 2025 client through a provider
 * and called tools: a grant, its tokens, a session, and a list of calls.
 */
async function saveConnection(kvPath: string, calls: number): Promise<void> {
  using kv = await Deno.openKv(kvPath);
  const database = new Database(checkedKv(kv));
  const now = database.now();
  const { grant, dataKey, write } = await openSignIn({
    clientId: CLIENT_ID,
    redirectUri: "http://127.0.0.1:49152/callback",
    scopes: ["openid", "offline_access"],
    issuer: "https://tools.example.com",
    provider: "id.example.com",
    identity: {
      subject: "00u1a2b3c4",
      name: "Ada Example",
      email: "ada@example.com",
      emailVerified: true,
    },
    clientName: "Bench",
    now,
  });
  const { id: grantId, scopes } = grant;
  const sealed = await seal(dataKey, UPSTREAM_TOKENS, grantId);
  await database.commit((transaction) => {
    write(transaction);
    transaction
      .set(upstreamKey(grantId), { sealed, expiresAt: grant.endsAt })
      .set(consentKey(randomId(), grantId), {
        scopes,
        expiresAt: now + CONSENT_TTL_SECONDS,
      })
      .set(ledgerKey(grantId), {
        calls: latestCalls(calls, now),
        expiresAt: grant.expiresAt,
      });
  });
  await sessionStore(database).save({
    ...client,
    binding: bindingOf(grant),
    grantId,
  });
}

/**
 * Makes calls of tools in turn, so far apart that each is an entry of its own.
 */
function latestCalls(count: number, now: number): LedgerEntry[] {
  return Array.from({ length: count }, (_, index) => {
    const at = now - 2 * index * 60 * 60;
    const tool = `tool_${index % 7}`;
    return { at, firstAt: at - 600, tool, outcome: "ok", count: 3 };
  });
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}
