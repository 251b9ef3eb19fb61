/**
 * Receipts: each tells which call was approved or refused, by whom, and how the
 * run ended. A receipt is shown to the caller, the person who answered, and
 * operators. Receipts outlive their connection, and are stored for as long as
 * calls in the ledger.
 *
 * @module
 */
import { seal, unseal } from "../../core/crypto/crypto.ts";
import {
  type Database,
  type Entry,
  type Expiring,
  type Found,
  isFound,
  type Transaction,
  type Write,
} from "../../core/kv/database.ts";
import {
  listedReceiptKey,
  rangeOf,
  receiptKey,
  receiptsOfKey,
} from "../../core/kv/keys.ts";
import { OwnerList } from "../../core/kv/owner_list.ts";
import type { PersonRecords } from "../../core/auth/grants/end_grant.ts";
import type { Outcome } from "../../core/log/log.ts";
import { makeOncePerServer } from "../../core/store/opened_server.ts";
import { secretStore } from "../../core/store/secrets.ts";
import type { Config } from "../../core/settings/config.ts";
import type { Progress } from "../questions/wait_receipt.ts";

/** The encrypted texts of a receipt. */
export interface ReceiptWords {
  title: string;
  facts: Readonly<Record<string, string>>;
  /** The caller's name. */
  caller: string;
  /**
   * The name of the person who answered. Absent once they have erased their
   * data.
   */
  approver?: string;
  /** The name of the passkey that signed the answer. */
  passkey?: string;
  reason?: string;
  /**
   * The author's label of the remembered approval, if that approved the run.
   */
  remembered?: string;
}

/** The members of a receipt about the answer. Times are epoch seconds. */
interface Press {
  /** The subject of the caller. */
  subject: string;
  /**
   * The subject of the person who answered. Absent once they have erased their
   * data.
   */
  by?: string;
  tool: string;
  clientName?: string;
  /**
   * The time of the answer; with a remembered approval, the start of the run.
   */
  at: number;
  isRefused?: true;
}

interface ReceiptRecord extends Expiring, Press, Progress {
  sealed: string;
}

export type Receipt = Press & Progress & ReceiptWords & { id: string };

/** The text on a page in place of texts that cannot be decrypted. */
export const NO_WORDS = "Words that cannot be read";

/** The maximum number of receipts on a page. */
const MAX_RECEIPTS = 200;
const MAX_READ = 2000;

/** The name of the list of everyone's receipts. No subject has this form. */
const EVERYONE = JSON.stringify(["everyone"]);

/** Returns a call's outcome, derived from the state of its approval. */
export function outcomeOfReceipt(
  { isRefused, begunAt, outcome }: Receipt,
): Outcome {
  if (isRefused) return "refused";
  if (begunAt === undefined || outcome === "withdrawn") return "cancelled";
  if (outcome === "asked") return "input_required";
  if (outcome === "failed") return "internal_error";
  return outcome === undefined || outcome === "unknown" || outcome === "cut"
    ? "stopped"
    : outcome;
}

export type Receipts = ReturnType<typeof receiptStore>;

/**
 * @param keepSeconds the time for which a new receipt is stored. 0 stores none:
 *   such a store only lists and deletes
 */
export function receiptStore(database: Database, keepSeconds: number) {
  const secrets = secretStore(database);
  const lists = new OwnerList<ReceiptRecord>(
    database,
    receiptsOfKey,
    listedReceiptKey,
  );

  const contextOf = (id: string, subject: string) =>
    JSON.stringify(["receipt", id, subject]);

  async function sealWords(
    id: string,
    subject: string,
    words: ReceiptWords,
  ): Promise<string> {
    const secret = await secrets.find("receipt");
    return await seal(secret, JSON.stringify(words), contextOf(id, subject));
  }

  async function openWords(
    id: string,
    { sealed, subject }: ReceiptRecord,
  ): Promise<ReceiptWords> {
    const secret = await secrets.find("receipt");
    return await unseal(secret, sealed, contextOf(id, subject))
      .then(JSON.parse)
      .catch(() => ({ title: NO_WORDS, facts: {}, caller: "someone" }));
  }

  async function open(
    { key, value }: Found<ReceiptRecord>,
  ): Promise<Receipt> {
    const id = String(key[1]);
    const { sealed: _, expiresAt: __, ...press } = value;
    return { id, ...press, ...await openWords(id, value) };
  }

  function ownersOf({ subject, by = subject }: Press): string[] {
    return [...new Set([subject, by, EVERYONE])];
  }

  return {
    isKept: keepSeconds > 0,

    async writing(
      id: string,
      press: Press & Progress,
      words: ReceiptWords,
    ): Promise<Write> {
      if (keepSeconds === 0) return () => {};
      const expiresAt = press.at + keepSeconds;
      const sealed = await sealWords(id, press.subject, words);
      return (transaction) => {
        transaction.set<ReceiptRecord>(receiptKey(id), {
          ...press,
          sealed,
          expiresAt,
        });
        for (const owner of ownersOf(press)) {
          transaction.set(receiptsOfKey(owner, id), { expiresAt });
        }
      };
    },

    /**
     * Makes the write of a run's progress into its receipt, unless the receipt
     * was deleted.
     */
    async progressing(id: string, progress: Progress): Promise<Write> {
      const found = keepSeconds > 0 &&
        await database.find<ReceiptRecord>(receiptKey(id));
      return (transaction) => {
        if (!found) return;
        const changed = { ...found.value, ...progress };
        transaction.check(found).set(found.key, changed);
      };
    },

    /**
     * Lists a person's newest receipts that `isWanted` accepts. Without a
     * person, lists everyone's.
     *
     * @param before the ID of a receipt; only older ones are listed
     * @returns `next`: the `before` of the next page, if there may be one
     */
    async list(
      subject: string = EVERYONE,
      isWanted: (receipt: Receipt) => boolean = () => true,
      before = "",
    ): Promise<{ receipts: Receipt[]; next?: string; hasAny: boolean }> {
      const receipts: Receipt[] = [];
      let read = 0;
      let next = isId(before) ? before : "";
      const list = receiptsOfKey(subject);
      const parts = database.rangeInParts<Expiring>(
        rangeOf(list, next),
        MAX_RECEIPTS,
      );
      for await (const part of parts) {
        if (receipts.length >= MAX_RECEIPTS || read >= MAX_READ) {
          return { receipts, next, hasAny: true };
        }
        read += part.length;
        next = String(part.at(-1)?.key.at(-1) ?? next);
        const keys = part.map(({ key }) => listedReceiptKey(key));
        const found = await database.getMany<ReceiptRecord[]>(keys);
        const all = await Promise.all(found.filter(isFound).map(open));
        receipts.push(...all.filter(isWanted));
      }
      return { receipts, hasAny: read > 0 };
    },

    /** The receipts as records about a person. They outlive connections. */
    records: {
      name: "receipts",
      async listOf(subject) {
        const all: Receipt[] = [];
        for await (const some of lists.records(subject)) {
          all.push(...await Promise.all(some.map(open)));
        }
        // The other person is named, as on the page.
        return all.map((
          { id: _, subject: caller, by, passkey, ...receipt },
        ) => ({
          ...receipt,
          ...caller === subject && { subject },
          ...by === subject && { by, passkey },
        }));
      },
      endAllOf: () => Promise.resolve(),
      async forgetAllOf(subject) {
        for await (const some of lists.records(subject)) {
          for (const found of some) await forget(found, subject);
        }
      },
    } satisfies PersonRecords as PersonRecords,
  };

  /**
   * Deletes a receipt for its caller. For the person who answered, deletes only
   * their name.
   */
  async function forget(
    found: Found<ReceiptRecord>,
    subject: string,
  ): Promise<void> {
    const id = String(found.key[1]);
    const change = async (
      transaction: Transaction,
      { key, value }: Entry<ReceiptRecord>,
    ) => {
      if (!value) return;
      if (value.subject === subject) {
        transaction.expire(key);
        for (const owner of ownersOf(value)) {
          transaction.delete(receiptsOfKey(owner, id));
        }
        return;
      }
      const { approver: _, passkey: __, ...words } = await openWords(id, value);
      const sealed = await sealWords(id, value.subject, words);
      transaction.set(key, { ...value, by: undefined, sealed })
        .delete(receiptsOfKey(subject, id));
    };
    await database.change(found.key, change, found);
  }
}

const isId = (text: string) => /^[\w-]{1,100}$/.test(text);

export function receiptSeconds({ auth: { oauth } }: Config): number {
  return (oauth?.ledgerDays ?? 0) * 86_400;
}

export const receiptsOf = makeOncePerServer(({ config, database }) =>
  receiptStore(database, receiptSeconds(config))
);
