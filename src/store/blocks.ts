/**
 * Blocks: people and clients that an operator shut out while servers run. Every
 * commit that makes a grant live, or signs someone in to the account page,
 * rests on the absence of theirs. The open ones are ended after the block.
 *
 * @module
 */
import type { OAuthErrorCode } from "../errors.ts";
import { shortClientId } from "../auth/rules/client_id.ts";
import type { Grant } from "../auth/rules/grant.ts";
import { refusedByBlock } from "../auth/rules/sign_in_grant.ts";
import { machineSubject } from "../auth/rules/subject.ts";
import type { Database } from "./database.ts";
import { blockKey } from "./keys.ts";
import { absent, type Transaction } from "./transaction.ts";

/** The block of a person or a client. */
export interface Block {
  /** The subject of the person, or `client:` and the short ID of the client. */
  name: string;
  /** The time at which it was made, in epoch seconds. */
  at: number;
  /** The operator who made it. */
  by: string;
  reason?: string;
}

type Named = Pick<Grant, "subject"> & Partial<Pick<Grant, "clientId">>;

function keysOf({ subject, clientId }: Named): Deno.KvKey[] {
  const names = new Set([subject]);
  if (clientId) names.add(machineSubject(shortClientId(clientId)));
  return [...names].map((name) => blockKey(name));
}

/** Makes a commit fail if a person or their client is blocked. */
export function unlessBlocked(
  transaction: Transaction,
  named: Named,
): Transaction {
  return transaction.check(...keysOf(named).map(absent));
}

/**
 * Tells if a block made a commit fail, so that it is not tried for ever.
 *
 * @throws {import("../errors.ts").OAuthError} with `code`, if there is one
 */
export async function checkBlocks(
  database: Database,
  named: Named,
  code?: OAuthErrorCode,
): Promise<void> {
  const blocks = await database.getMany<Block[]>(keysOf(named));
  if (blocks.some(({ value }) => value)) throw refusedByBlock(code);
}

export type BlockStore = ReturnType<typeof blockStore>;

/** Opens the blocks of a database. */
export function blockStore(database: Database) {
  return {
    async find(name: string): Promise<Block | undefined> {
      return (await database.find<Block>(blockKey(name)))?.value;
    },

    /** Lists every block, newest first. */
    async list(): Promise<Block[]> {
      const found = await database.list<Block>(blockKey());
      return found.map(({ value }) => value)
        .toSorted((one, other) => other.at - one.at);
    },

    /** Makes a block, and gives it; one that is there stays as it is. */
    async block(
      name: string,
      { by, reason }: Pick<Block, "by" | "reason">,
    ): Promise<Block> {
      for (;;) {
        const entry = await database.get<Block>(blockKey(name));
        if (entry.value) return entry.value;
        const at = database.now();
        const block: Block = { name, at, by, ...reason && { reason } };
        await database.commit((transaction) =>
          transaction.check(entry).setForever(entry.key, block)
        );
        // Read again: another operator may have been faster.
      }
    },

    /** Lifts a block, and gives it; undefined if there is none. */
    async lift(name: string): Promise<Block | undefined> {
      const found = await database.find<Block>(blockKey(name));
      if (!found) return undefined;
      await database.commit((transaction) => transaction.delete(found.key));
      return found.value;
    },
  };
}
