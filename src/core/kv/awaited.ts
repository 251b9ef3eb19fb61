/**
 * The kinds of records that processes wait for. A database where an
 * announcement costs something announces the changes of these alone.
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
