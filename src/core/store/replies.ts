/**
 * Questions to MCP 2025 clients and the responses. One process sends the
 * question on its stream; the client may POST the response to any other.
 * @module
 */
import type { RpcResponse } from "../protocol/messages.ts";
import type { Database, Entry, Expiring, Found } from "../kv/database.ts";
import { repliesOfKey, replyKey } from "../kv/keys.ts";
import { bestEffort, untilReachable } from "../kv/operations.ts";
import {
  deleteText,
  findText,
  saveText,
  textKeysOf,
  type TextRef,
} from "../kv/texts.ts";

/** The time for which a question waits for the response. */
export const REPLY_SECONDS = 60 * 60;

/** A question, which is open until it has a response. */
interface Reply extends Expiring {
  answer?: TextRef;
}

export type FoundReply = Found<Reply>;

/** Deletes the questions of a session that has ended, and the responses. */
export async function forgetReplies(
  database: Database,
  session: Deno.KvKey,
): Promise<void> {
  const asked = await database.list<Reply>(repliesOfKey(session));
  for (const { key, value: { answer } } of asked) {
    await database.commit((transaction) =>
      transaction.delete(key, ...answer ? textKeysOf(answer) : [])
    );
  }
}

export type ReplyStore = ReturnType<typeof replyStore>;

export function replyStore(database: Database) {
  /**
   * Deletes a question and its response.
   * @param read the entry, if it was just read
   */
  function remove(key: Deno.KvKey, read?: Entry<Reply>): Promise<void> {
    return database.change(key, (transaction, { value }) => {
      const { answer } = value ?? {};
      transaction.delete(key, ...answer ? textKeysOf(answer) : []);
    }, read);
  }

  /** Deletes a question with its response in the background. */
  function removeAnswered(key: Deno.KvKey, answer: TextRef): void {
    bestEffort(() =>
      database.commit((transaction) =>
        transaction.delete(key, ...textKeysOf(answer))
      )
    );
  }

  function read(
    sessionId: string,
    requestId: string | number,
  ): Promise<FoundReply | undefined> {
    return database.find<Reply>(replyKey(sessionId, requestId));
  }

  return {
    read,

    /** Stores an open question, before it is sent. */
    async expect(sessionId: string, requestId: string): Promise<void> {
      const reply: Reply = { expiresAt: database.now() + REPLY_SECONDS };
      await database.commit((transaction) =>
        transaction.create(replyKey(sessionId, requestId), reply)
      );
    },

    /**
     * Stores the first response to a question. Returns false if no question
     * waits for it. Writes nothing before `allowed` has resolved.
     * @param options `reading`: the read of the question, if it was already
     * started
     * @throws the error of `allowed`
     */
    async save(
      sessionId: string,
      response: RpcResponse,
      { allowed, reading }: {
        allowed?: Promise<unknown>;
        reading?: Promise<FoundReply | undefined>;
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
     * Waits for the response and deletes it. Returns undefined if none came in
     * time.
     *
     * @throws the signal's reason if the signal fires first
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
        // The response was accepted, so this read must succeed.
        const text = await untilReachable(() => findText(database, ref), {
          signal,
        });
        return text === undefined ? undefined : JSON.parse(text);
      } finally {
        if (answer) removeAnswered(key, answer);
        else await bestEffort(() => remove(key));
      }
    },

    /**
     * Deletes the open questions of a session once `ended` has resolved.
     * @throws the error of `ended`
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
