/**
 * Blocks: people and clients that an operator shut out while servers run. Every
 * commit that makes a grant active, or signs someone in to the account page,
 * checks that neither person nor client is blocked. Grants and sessions are
 * read together with one record, the head, which changes with every block. So a
 * block takes effect at once, before the grants and sessions are ended.
 * @module
 */
import type { OAuthErrorCode } from "../errors.ts";
import { shortClientId } from "../oauth/client.ts";
import type { Grant } from "../oauth/grant.ts";
import { refusedByBlock } from "../oauth/allowed_users.ts";
import { machineSubject } from "../oauth/subject.ts";
import {
  absent,
  type Database,
  type Entry,
  type Transaction,
} from "../kv/database.ts";
import { blockHeadKey, blockKey } from "../kv/keys.ts";

export interface Block {
  /** The subject of the person, or `client:` and the short ID of the client. */
  name: string;
  /** The time at which the block was made, in epoch seconds. */
  at: number;
  /** The operator who made the block. */
  by: string;
  reason?: string;
}

/** The maximum number of blocks. Every process remembers their names. */
export const MAX_BLOCKS = 10_000;
/** The maximum number of versions of the head that a process remembers. */
const MAX_HEADS = 100;

/**
 * The number of blocks. The head changes whenever a block is made or lifted.
 */
export interface BlockHead {
  count: number;
}

type PersonOrClient = Partial<Pick<Grant, "subject" | "clientId">>;

function namesOf({ subject, clientId }: PersonOrClient): string[] {
  const names = new Set(subject === undefined ? [] : [subject]);
  if (clientId) names.add(machineSubject(shortClientId(clientId)));
  return [...names];
}

function keysOf(named: PersonOrClient): Deno.KvKey[] {
  return namesOf(named).map((name) => blockKey(name));
}

/** Makes a commit fail if a person or their client is blocked. */
export function unlessBlocked(
  transaction: Transaction,
  named: PersonOrClient,
): Transaction {
  return transaction.check(...keysOf(named).map(absent));
}

/**
 * Throws if a block made a commit fail, so that the commit is not sent again.
 * @throws {import("../errors.ts").OAuthError} with `code`, if a person or
 * client is blocked
 */
export async function checkBlocks(
  database: Database,
  named: PersonOrClient,
  code?: OAuthErrorCode,
): Promise<void> {
  const blocks = await database.getMany<Block[]>(keysOf(named));
  if (blocks.some(({ value }) => value)) throw refusedByBlock(code);
}

/**
 * Makes a process's cache of blocks. The head ({@linkcode blockHeadKey}) is
 * read with every record of a person or a client. The blocks are read only if
 * the head has changed.
 */
export function knownBlocks(database: Database) {
  let names: Promise<ReadonlySet<string>>;
  /** The versions of the head for which the blocks have been read. */
  const heads = new Set<string>();

  async function read(): Promise<ReadonlySet<string>> {
    const found = await database.list<Block>(blockKey(), { limit: MAX_BLOCKS });
    return new Set(found.map(({ value }) => value.name));
  }

  /** True if the person or the client was blocked when the head was read. */
  return async (
    { value, versionstamp }: Entry<BlockHead>,
    named: PersonOrClient,
  ): Promise<boolean> => {
    if (!value?.count || versionstamp === null) return false;
    // Versions cannot be compared, so the blocks are read for each new version.
    if (!heads.has(versionstamp)) {
      if (heads.size === MAX_HEADS) heads.clear();
      heads.add(versionstamp);
      const reading = names = read();
      reading.catch(() => {
        if (names === reading) heads.clear();
      });
    }
    const known = await names!;
    return namesOf(named).some((name) => known.has(name));
  };
}

/**
 * Makes a function that returns true for blocked people. It is for tokens of
 * other issuers, for which no record of the person is read.
 */
export function blockedPeople(
  database: Database,
): (subject: string) => Promise<boolean> {
  const isBlocked = knownBlocks(database);
  return async (subject) =>
    await isBlocked(await database.get<BlockHead>(blockHeadKey()), { subject });
}

export type BlockStore = ReturnType<typeof blockStore>;

export function blockStore(database: Database) {
  /** Changes the head and a block, after one read of both. */
  async function change<R>(
    name: string,
    update: (
      transaction: Transaction,
      head: Entry<BlockHead>,
      block: Entry<Block>,
    ) => R,
  ): Promise<R> {
    const [read, block] = await database.getMany<[BlockHead, Block]>([
      blockHeadKey(),
      blockKey(name),
    ]);
    return await database.change<BlockHead, R>(
      read.key,
      async (transaction, head, before) => {
        const entry = before ? await database.get<Block>(block.key) : block;
        return update(transaction.check(entry), head, entry);
      },
      read,
    );
  }

  return {
    async find(name: string): Promise<Block | undefined> {
      return (await database.find<Block>(blockKey(name)))?.value;
    },

    async list(): Promise<Block[]> {
      const found = await database.list<Block>(blockKey());
      return found.map(({ value }) => value)
        .toSorted((one, other) => other.at - one.at);
    },

    /**
     * Makes a block, or finds the existing one, and returns it. Always changes
     * the head, as {@linkcode lift} does, so that an earlier commit that timed
     * out cannot be applied later.
     *
     * @throws {RangeError} if there are too many blocks
     */
    block(
      name: string,
      { by, reason }: Pick<Block, "by" | "reason">,
    ): Promise<Block> {
      return change(name, (transaction, head, entry) => {
        const { count = 0 } = head.value ?? {};
        const at = database.now();
        const block = entry.value ??
          { name, at, by, ...reason && { reason } };
        if (!entry.value && count >= MAX_BLOCKS) {
          throw new RangeError(
            `There are ${MAX_BLOCKS} blocks already: lift some first`,
          );
        }
        transaction.setForever(entry.key, block)
          .setForever(head.key, { count: entry.value ? count : count + 1 });
        return block;
      });
    },

    /** Lifts a block, and returns it; undefined if there is none. */
    lift(name: string): Promise<Block | undefined> {
      // If the result of a commit was lost, the next try no longer finds the
      // block.
      let lifted: Block | undefined;
      return change(name, (transaction, head, entry) => {
        const { count = 0 } = head.value ?? {};
        transaction.delete(entry.key)
          .setForever(head.key, { count: entry.value ? count - 1 : count });
        return lifted ??= entry.value;
      });
    },
  };
}
