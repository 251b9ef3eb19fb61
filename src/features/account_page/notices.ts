/**
 * Passes a notice to the next account page in the URL. The notice is encrypted
 * for the session, so that a link from someone else cannot put text on the
 * page.
 *
 * @module
 */
import { displayName } from "../../core/pages/names.tsx";
import { sessionSeals } from "./session_seals.ts";
import type { Notice } from "./notice.tsx";

/** The maximum number of names in a notice, to keep the URL short. */
const MAX_NAMES = 5;

const noticesOf = (sessionId: string) =>
  sessionSeals<Notice>(sessionId, "account notice");

export async function printNotice(
  sessionId: string,
  { names, ...notice }: Notice,
): Promise<Record<string, string>> {
  const sealed = await noticesOf(sessionId).seal({
    ...notice,
    names: names?.slice(0, MAX_NAMES).map((name) => displayName(name)),
  });
  return { notice: sealed };
}

/** Reads the notice in a URL's query. Undefined without a valid one. */
export async function readNotice(
  sessionId: string,
  { notice }: Readonly<Record<string, string>>,
): Promise<Notice | undefined> {
  return await noticesOf(sessionId).open(notice);
}
