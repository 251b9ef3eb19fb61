/**
 * The kinds of records that processes wait for. Their changes are announced to
 * all processes where announcing costs something.
 *
 * @module
 */
import {
  changeHeadKey,
  replyKey,
  taskAnswerKey,
  taskKey,
  upstreamKey,
  waitKey,
} from "./keys.ts";

/** The first parts of the keys that `waitFor` of the database is given. */
export const AWAITED: readonly string[] = [
  changeHeadKey(),
  replyKey(""),
  taskAnswerKey("", ""),
  taskKey(""),
  upstreamKey(""),
  waitKey(""),
].map(([kind]) => String(kind));
