/**
 * The kinds of records that processes wait for. A database for which announcing
 * a change is not free announces only changes of these.
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

/** The first parts of the keys of these records. */
export const AWAITED_KINDS: readonly string[] = [
  accountKey(""),
  changeHeadKey(),
  replyKey(""),
  taskAnswerKey("", ""),
  taskKey(""),
  upstreamKey(""),
  waitKey(""),
].map(([kind]) => String(kind));
