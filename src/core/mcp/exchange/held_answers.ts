/**
 * The answers of other services that calls of this process hold, with a bound on
 * their memory: a service may answer slowly, to as many calls as it likes.
 *
 * @module
 */
import { LongMessages } from "./long_messages.ts";

/** The bytes of these answers, bounded as long messages are. */
export const heldAnswers = new LongMessages("answers of other services");
