/**
 * Client assertions that were used: each `jti` counts once.
 *
 * @see RFC 7523 §3
 * @module
 */
import { assertionKey } from "./keys.ts";
import { commit, expireIn, find } from "./kv.ts";

/** False when the client has used this assertion before. */
export async function useAssertion(
  kv: Deno.Kv,
  clientId: string,
  { jti, expiresAt }: { jti: string; expiresAt: number },
): Promise<boolean> {
  const key = assertionKey(clientId, jti);
  if (await find(kv, key)) return false;
  const record = { expiresAt };
  return await commit(
    kv,
    (operation) =>
      operation.check({ key, versionstamp: null })
        .set(key, record, expireIn(record)),
  );
}
