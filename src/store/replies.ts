/**
 * Questions to 2025 clients and their answers: the question goes out on the
 * stream of one process, the answer may be posted to any other.
 *
 * @module
 */
import type { RpcResponse } from "../mcp/messages.ts";
import { replyKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find, now, reach } from "./kv.ts";
import { waitFor } from "./wait.ts";

/** How long a question waits for its answer. */
export const REPLY_SECONDS = 60 * 60;

/** A value holds 64 KiB; a character takes up to two bytes. */
const PART_CHARACTERS = 30_000;
/** A commit holds 800 KiB. */
const PARTS_PER_COMMIT = 12;

/** An open question has no parts yet. */
interface Reply extends Expiring {
  parts?: number;
}

/** Questions and answers in Deno KV. */
export interface ReplyStore {
  /** Opens a question, before it is written to the stream. */
  expect(sessionId: string, requestId: string): Promise<void>;
  /** Takes a posted answer, once; false when nobody waits for it. */
  save(sessionId: string, response: RpcResponse): Promise<boolean>;
  /**
   * Waits for the answer and removes it.
   *
   * @throws the signal's reason when it fires first
   */
  take(
    sessionId: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<RpcResponse>;
}

/** Questions and answers in a database. */
export function replyStore(kv: Deno.Kv): ReplyStore {
  async function close(
    sessionId: string,
    requestId: string,
    parts: number,
  ): Promise<void> {
    const keys = Array.from(
      { length: parts },
      (_, part) => replyKey(sessionId, requestId, part),
    );
    await commit(
      kv,
      (operation) =>
        [replyKey(sessionId, requestId), ...keys].reduce(
          (operation, key) => operation.delete(key),
          operation,
        ),
    );
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
      if (!found || found.value.parts !== undefined) return false;
      const { value: { expiresAt }, versionstamp } = found;
      const parts = cut(JSON.stringify(response));
      const options = expireIn({ expiresAt });
      for (let i = 0; i < parts.length; i += PARTS_PER_COMMIT) {
        await commit(
          kv,
          (operation) =>
            parts.slice(i, i + PARTS_PER_COMMIT).reduce(
              (operation, part, j) =>
                operation.set(
                  replyKey(sessionId, response.id, i + j),
                  part,
                  options,
                ),
              operation,
            ),
        );
      }
      const answered: Reply = { expiresAt, parts: parts.length };
      return await commit(
        kv,
        (operation) =>
          operation.check({ key, versionstamp }).set(key, answered, options),
      );
    },

    async take(sessionId, requestId, signal) {
      const key = replyKey(sessionId, requestId);
      let count = 0;
      try {
        const reply = await waitFor<Reply>(
          kv,
          key,
          (reply) => reply === null || reply.parts !== undefined,
          signal,
        );
        count = reply?.parts ?? 0;
        let text = "";
        for (let part = 0; part < count; part++) {
          const entry = await reach(() =>
            kv.get<string>(replyKey(sessionId, requestId, part))
          );
          text += entry.value;
        }
        return JSON.parse(text);
      } finally {
        await close(sessionId, requestId, count);
      }
    },
  };
}

function cut(text: string): string[] {
  const parts = [];
  for (let at = 0; at < text.length; at += PART_CHARACTERS) {
    parts.push(text.slice(at, at + PART_CHARACTERS));
  }
  return parts;
}
