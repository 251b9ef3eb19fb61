/**
 * Questions to 2025 clients and their answers: one process sends the question
 * on its stream, the answer may be posted to any other.
 *
 * @module
 */
import type { RpcResponse } from "../protocol/messages.ts";
import type { Database, Entry, Expiring, Found } from "../kv/database.ts";
import { repliesOfKey, replyKey } from "../kv/keys.ts";
import { persist, tidy } from "../kv/persist.ts";
import {
  deleteText,
  findText,
  keysOf,
  saveText,
  type TextRef,
} from "../kv/texts.ts";

/** The time for which a question waits for its answer, in seconds. */
export const REPLY_SECONDS = 60 * 60;

/** A question; it is open while it has no answer. */
interface Reply extends Expiring {
  answer?: TextRef;
}

export type ReadReply = Found<Reply>;

/** Deletes the questions of a session that has ended, with their answers. */
export async function forgetReplies(
  database: Database,
  session: Deno.KvKey,
): Promise<void> {
  const asked = await database.list<Reply>(repliesOfKey(session));
  for (const { key, value: { answer } } of asked) {
    await database.commit((transaction) =>
      transaction.delete(key, ...answer ? keysOf(answer) : [])
    );
  }
}

export type ReplyStore = ReturnType<typeof replyStore>;

export function replyStore(database: Database) {
  /**
   * Removes a question, and its answer if there is one.
   *
   * @param read the entry, if it was just read
   */
  function remove(key: Deno.KvKey, read?: Entry<Reply>): Promise<void> {
    return database.change(key, (transaction, { value }) => {
      const { answer } = value ?? {};
      transaction.delete(key, ...answer ? keysOf(answer) : []);
    }, read);
  }

  /** Removes an answered question in the background. */
  function removeAnswered(key: Deno.KvKey, answer: TextRef): void {
    tidy(() =>
      database.commit((transaction) =>
        transaction.delete(key, ...keysOf(answer))
      )
    );
  }

  function read(
    sessionId: string,
    requestId: string | number,
  ): Promise<ReadReply | undefined> {
    return database.find<Reply>(replyKey(sessionId, requestId));
  }

  return {
    read,

    /** Opens a question, before it is written to the stream. */
    async expect(sessionId: string, requestId: string): Promise<void> {
      const reply: Reply = { expiresAt: database.now() + REPLY_SECONDS };
      await database.commit((transaction) =>
        transaction.create(replyKey(sessionId, requestId), reply)
      );
    },

    /**
     * Accepts a posted answer, once. Returns false if no question waits for it.
     * Nothing is written before `allowed` has resolved.
     *
     * @param options `reading`: the question, if it is being read already
     * @throws what `allowed` throws
     */
    async save(
      sessionId: string,
      response: RpcResponse,
      { allowed, reading }: {
        allowed?: Promise<unknown>;
        reading?: Promise<ReadReply | undefined>;
      } = {},
    ): Promise<boolean> {
      const [found] = await Promise.all([
        reading ?? read(sessionId, response.id),
        allowed,
      ]);
      if (!found || found.value.answer) return false;
      const { key, value } = found;
      const answer = await saveText(database, JSON.stringify(response), value);
      const isTaken = await database.commit((transaction) =>
        transaction.check(found).set(key, { ...value, answer })
      );
      if (!isTaken) await deleteText(database, answer);
      return isTaken !== undefined;
    },

    /**
     * Waits for the answer and removes it. Returns undefined if none came in
     * time.
     *
     * @throws the signal's reason when it fires first
     */
    async take(
      sessionId: string,
      requestId: string,
      signal: AbortSignal,
    ): Promise<RpcResponse | undefined> {
      const key = replyKey(sessionId, requestId);
      let answer: TextRef | undefined;
      try {
        const reply = await database.waitFor<Reply>(
          key,
          (reply) => reply === undefined || reply.answer !== undefined,
          signal,
        );
        const ref = answer = reply?.answer;
        if (!ref) return undefined;
        // The answer was accepted, so it must arrive.
        const text = await persist(() => findText(database, ref), { signal });
        return text === undefined ? undefined : JSON.parse(text);
      } finally {
        if (answer) removeAnswered(key, answer);
        else await tidy(() => remove(key));
      }
    },

    /**
     * Ends the open questions of a session once `ended` has resolved: they can
     * no longer be answered.
     *
     * @throws what `ended` throws
     */
    async deleteAllOf(
      sessionId: string,
      ended?: Promise<unknown>,
    ): Promise<void> {
      const [open] = await Promise.all([
        database.list<Reply>(replyKey(sessionId)),
        ended,
      ]);
      await Promise.all(open.map((entry) => remove(entry.key, entry)));
    },
  };
}
