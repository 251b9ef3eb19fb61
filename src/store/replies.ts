/**
 * Questions to 2025 clients and their answers: the question goes out on the
 * stream of one process, the answer may be posted to any other.
 *
 * @module
 */
import type { RpcResponse } from "../mcp/messages.ts";
import { replyKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find, now, reach } from "./kv.ts";
import { keysOf, readText, saveText, type TextRef } from "./texts.ts";
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
}

/** Questions and answers in a database. */
export function replyStore(kv: Deno.Kv): ReplyStore {
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
      const reply: Reply = {
        ...value,
        answer: await saveText(kv, JSON.stringify(response), value),
      };
      return await commit(kv, (operation) =>
        operation
          .check({ key, versionstamp })
          .set(key, reply, expireIn(reply)));
    },

    async take(sessionId, requestId, signal) {
      const key = replyKey(sessionId, requestId);
      const keys = [key];
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
        keys.push(...keysOf(reply.answer));
        return JSON.parse(await readText(kv, reply.answer));
      } finally {
        await commit(kv, (operation) => {
          for (const key of keys) operation.delete(key);
          return operation;
        });
      }
    },
  };
}
