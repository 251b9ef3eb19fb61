/**
 * Blocks: people and clients that an operator shut out while servers run. Every
 * commit that makes a grant live, or signs someone in to the account page,
 * checks that neither is blocked. Open records are read together with a head,
 * which changes with every block: so a block holds even before the records are
 * closed.
 *
 * @module
 */
import type { OAuthErrorCode } from "../errors.ts";
import { shortClientId } from "../oauth/client_id.ts";
import type { Grant } from "../oauth/grant.ts";
import { refusedByBlock } from "../oauth/allowed_users.ts";
import { machineSubject } from "../oauth/subject.ts";
import type { Database, Entry } from "../kv/database.ts";
import { blockHeadKey, blockKey } from "../kv/keys.ts";
import { absent, type Transaction } from "../kv/transaction.ts";

export interface Block {
  /** The subject of the person, or `client:` and the short ID of the client. */
  name: string;
  /** The time at which the block was made, in epoch seconds. */
  at: number;
  /** The operator who made the block. */
  by: string;
  reason?: string;
}

/** The most blocks: every process remembers their names. */
export const MAX_BLOCKS = 10_000;
/** The most versions of the head that a process remembers. */
const MAX_HEADS = 100;

/** The number of blocks. Its version changes with every block and its end. */
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
 * Throws if a block made a commit fail: trying the commit again would never
 * help.
 *
 * @throws {import("../errors.ts").OAuthError} with `code`, if there is one
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
 * Opens a process's cache of blocks. {@linkcode blockHeadKey} is read with
 * every record of a person or a client. The blocks are read only when the head
 * has changed.
 */
export function knownBlocks(database: Database) {
  let names: Promise<ReadonlySet<string>>;
  /** The versions of the head for which the names have been read. */
  const heads = new Set<string>();

  async function read(): Promise<ReadonlySet<string>> {
    const found = await database.list<Block>(blockKey(), { limit: MAX_BLOCKS });
    return new Set(found.map(({ value }) => value.name));
  }

  /** Returns true if one of these was blocked when the head was read. */
  return async (
    { value, versionstamp }: Entry<BlockHead>,
    named: PersonOrClient,
  ): Promise<boolean> => {
    if (!value?.count || versionstamp === null) return false;
    // Versions have no order, so the names are read for each version that is
    // new here.
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
 * Makes a function that returns true for blocked people. It is for callers with
 * another issuer's tokens, of whom no record is read.
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
  /** Changes the head and a block, which are read in one round trip. */
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

    /** Lists every block, newest first. */
    async list(): Promise<Block[]> {
      const found = await database.list<Block>(blockKey());
      return found.map(({ value }) => value)
        .toSorted((one, other) => other.at - one.at);
    },

    /**
     * Makes a block, or finds the existing one, and returns it. It always
     * changes the head, as {@linkcode lift} does: so no earlier commit that was
     * given up is applied after it.
     *
     * @throws {RangeError} if there are too many
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
      // If the answer of a commit was lost, the next try finds no block any
      // more.
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
