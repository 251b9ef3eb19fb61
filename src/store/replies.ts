/**
 * Questions to 2025 clients and their answers: the question goes out on the
 * stream of one process, the answer may be posted to any other.
 *
 * @module
 */
import type { RpcResponse } from "../protocol/messages.ts";
import { replyKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find, reach } from "./kv.ts";
import { now } from "../clock.ts";
import {
  deleteText,
  keysOf,
  readText,
  saveText,
  type TextRef,
} from "./texts.ts";
import { waitFor } from "./wait.ts";

/** How long a question waits for its answer. */
export const REPLY_SECONDS = 60 * 60;

/** Without an answer, the question is open. */
interface Reply extends Expiring {
  answer?: TextRef;
}

/** Questions and answers in Deno KV. */
export interface ReplyStore {
  /** Opens a question, before it is written to the stream. */
  expect(sessionId: string, requestId: string): Promise<void>;
  /** Takes a posted answer, once; false when nobody waits for it. */
  save(sessionId: string, response: RpcResponse): Promise<boolean>;
  /**
   * Waits for the answer and removes it; undefined when none came in time.
   *
   * @throws the signal's reason when it fires first
   */
  take(
    sessionId: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<RpcResponse | undefined>;
  /** Ends a session's open questions: nobody can answer them any more. */
  endAllOf(sessionId: string): Promise<void>;
}

/** Questions and answers in a database. */
export function replyStore(kv: Deno.Kv): ReplyStore {
  /** Removes a question, and its answer if there is one. */
  async function remove(key: Deno.KvKey): Promise<void> {
    for (let isDone = false; !isDone;) {
      const entry = await reach(() => kv.get<Reply>(key));
      const { answer } = entry.value ?? {};
      isDone = await commit(kv, (operation) => {
        operation.check(entry).delete(key);
        for (const part of answer ? keysOf(answer) : []) operation.delete(part);
        return operation;
      });
    }
  }

  return {
    async expect(sessionId, requestId) {
      const reply: Reply = { expiresAt: now() + REPLY_SECONDS };
      await reach(() =>
        kv.set(replyKey(sessionId, requestId), reply, expireIn(reply))
      );
    },

    async save(sessionId, response) {
      const key = replyKey(sessionId, response.id);
      const found = await find<Reply>(kv, key);
      if (!found || found.value.answer) return false;
      const { value, versionstamp } = found;
      const answer = await saveText(kv, JSON.stringify(response), value);
      const reply: Reply = { ...value, answer };
      const isTaken = await commit(kv, (operation) =>
        operation
          .check({ key, versionstamp })
          .set(key, reply, expireIn(reply)));
      if (!isTaken) await deleteText(kv, answer);
      return isTaken;
    },

    async take(sessionId, requestId, signal) {
      const key = replyKey(sessionId, requestId);
      try {
        const reply = await waitFor<Reply>(
          kv,
          key,
          (reply) =>
            reply === null || reply.answer !== undefined ||
            reply.expiresAt <= now(),
          signal,
        );
        if (!reply?.answer) return undefined;
        return JSON.parse(await readText(kv, reply.answer));
      } finally {
        await remove(key);
      }
    },

    async endAllOf(sessionId) {
      const prefix = replyKey(sessionId);
      const keys = await reach(async () => {
        const keys: Deno.KvKey[] = [];
        for await (const { key } of kv.list({ prefix })) keys.push(key);
        return keys;
      });
      for (const key of keys) await remove(key);
    },
  };
}
