/**
 * The kinds of records that processes wait for. Postgres announces only changes
 * of these records, because announcements cost time.
 *
 * @module
 */
import {
  accountKey,
  changeHeadKey,
  replyKey,
  taskAnswerKey,
  taskKey,
  upstreamKey,
  waitKey,
} from "./keys.ts";

/** The first key part of each kind of record that processes wait for. */
export const AWAITED_KINDS: readonly string[] = [
  accountKey(""),
  changeHeadKey(),
  replyKey(""),
  taskAnswerKey("", ""),
  taskKey(""),
  upstreamKey(""),
  waitKey(""),
].map(([kind]) => String(kind));
