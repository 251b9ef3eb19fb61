/**
 * Notices of a change that was made just now, for the next page of the account.
 * They are in the page's address, sealed for the session: a stranger's link
 * cannot put words on the page.
 *
 * @module
 */
import { displayName } from "../../core/pages/names.tsx";
import { carried } from "./carried.ts";
import type { Notice } from "./notice.tsx";

/** The maximum number of names in a notice, which is sent in an address. */
const MAX_NAMES = 5;

const noticesOf = (sessionId: string) =>
  carried<Notice>(sessionId, "account notice");

/** Seals a notice into query parameters of a page. */
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

/** Reads the notice in the address of a page; undefined if there is none. */
export async function readNotice(
  sessionId: string,
  { notice }: Readonly<Record<string, string>>,
): Promise<Notice | undefined> {
  return await noticesOf(sessionId).open(notice);
}
