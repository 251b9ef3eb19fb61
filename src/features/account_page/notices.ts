/**
 * Notices of a change that was made just now, for the next page of the account.
 * They are in the page's address, sealed for the session: a stranger's link
 * cannot put words on the page.
 *
 * @module
 */
import { seal, unseal } from "../../core/crypto/seal.ts";
import { deriveKey } from "../../core/oauth/data_key.ts";
import { displayName } from "../../core/pages/names.tsx";
import type { Notice } from "./notice.tsx";

/** The maximum number of names in a notice, which is sent in an address. */
const MAX_NAMES = 5;

/** Seals a notice into query parameters of a page. */
export async function printNotice(
  sessionId: string,
  { names, ...notice }: Notice,
): Promise<Record<string, string>> {
  const text = JSON.stringify({
    ...notice,
    names: names?.slice(0, MAX_NAMES).map((name) => displayName(name)),
  });
  return { notice: await seal(keyOf(sessionId), text) };
}

/** Reads the notice in the address of a page; undefined if there is none. */
export async function readNotice(
  sessionId: string,
  { notice }: Readonly<Record<string, string>>,
): Promise<Notice | undefined> {
  if (notice === undefined) return undefined;
  return await unseal(keyOf(sessionId), notice)
    .then(JSON.parse, () => undefined);
}

function keyOf(sessionId: string): Uint8Array {
  return deriveKey(sessionId, "account notice");
}
