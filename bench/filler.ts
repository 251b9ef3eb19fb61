/**
 * Databases with much in them.
 *
 * @module
 */
import { fingerprint, randomId } from "../src/crypto.ts";
import {
  mintCredential,
  newGrantId,
  parseCredential,
} from "../src/oauth/credential.ts";
import type { Grant } from "../src/oauth/grant.ts";
import { Database } from "../src/store/database.ts";
import { setGrant } from "../src/store/grants.ts";
import type { TokenRecord } from "../src/store/issuance.ts";
import {
  accessTokenKey,
  grantKey,
  sessionKey,
  sessionsOfKey,
} from "../src/store/keys.ts";
import { type Session, sessionStore } from "../src/store/sessions.ts";
import { saveGrant } from "./login.ts";

/** Saves sessions of no one in particular and gives their ids. */
export async function saveSessions(
  kvPath: string,
  count: number,
): Promise<string[]> {
  using kv = await Deno.openKv(kvPath);
  const { save } = sessionStore(new Database(kv));
  return await Promise.all(
    Array.from({ length: count }, () =>
      save({
        binding: "anonymous",
        revision: "2025-11-25",
        clientInfo: { name: "bench", version: "1.0.0" },
        capabilities: {},
      })),
  );
}

/** A commit takes 1,000 mutations; a session has two, a grant four. */
const BATCH = 160;

/**
 * A database with as many sessions, grants and access tokens, kept from one
 * run to the next, for it takes minutes to fill. They are copies of one that
 * the stores themselves wrote, under names of their own.
 */
export async function fill(records: number): Promise<string> {
  const kvPath = `data/bench-${records}.db`;
  await Deno.mkdir("data", { recursive: true });
  const partial = `${kvPath}.partial`;
  if (await exists(kvPath)) return kvPath;
  console.error(`filling ${kvPath}`);
  const [sessionId] = await saveSessions(partial, 1);
  {
    using kv = await Deno.openKv(partial);
    const { accessToken: token } = await saveGrant(
      kv,
      "https://tools.example.com",
    );
    const session = await read<Session>(kv, sessionKey(sessionId));
    const tokenRecord = await read<TokenRecord>(kv, accessTokenKey(token));
    const grant = await read<Grant>(
      kv,
      grantKey(parseCredential(token)!.grantId),
    );
    for (let done = 0; done < records; done += BATCH) {
      await new Database(kv).commit((transaction) => {
        for (let index = 0; index < Math.min(BATCH, records - done); index++) {
          const id = newGrantId();
          const name = randomId();
          const { expiresAt } = session;
          setGrant(transaction, { ...grant, id })
            .set(
              accessTokenKey(mintCredential("access_token", id)),
              { ...tokenRecord, expiresAt: grant.expiresAt },
            )
            .set(sessionKey(name), { ...session, binding: id })
            .set(sessionsOfKey(id, fingerprint(name)), { expiresAt });
        }
      });
    }
  }
  await Deno.rename(partial, kvPath);
  return kvPath;
}

async function read<T>(kv: Deno.Kv, key: Deno.KvKey): Promise<T> {
  return (await kv.get<T>(key)).value!;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}
