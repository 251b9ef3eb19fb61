/**
 * The kinds of records that processes wait for. A database in which an
 * announcement costs something announces only changes of these records.
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

/** The first parts of all keys for which processes wait. */
export const AWAITED: readonly string[] = [
  accountKey(""),
  changeHeadKey(),
  replyKey(""),
  taskAnswerKey("", ""),
  taskKey(""),
  upstreamKey(""),
  waitKey(""),
].map(([kind]) => String(kind));
