/**
 * Remembered approvals: a person who approves a call can let calls like it run
 * without approval for a while. The author words this offer.
 *
 * @module
 */
import type { PersonRecords } from "../../core/auth/grants/end_grant.ts";
import { seal, unseal } from "../../core/crypto/crypto.ts";
import type {
  Database,
  Entry,
  Expiring,
  Found,
  Write,
} from "../../core/kv/database.ts";
import { rememberedKey } from "../../core/kv/keys.ts";
import type { Grant } from "../../core/oauth/grant.ts";
import { findGrant } from "../questions/wait_record.ts";
import { secretStore } from "../../core/store/secrets.ts";

/**
 * The maximum number of a person's remembered approvals. A person who has them
 * is offered no more.
 */
const MAX_REMEMBERED = 50;

/**
 * The maximum number of runs under one remembered approval; the next call asks
 * again.
 */
export const MAX_REMEMBERED_RUNS = 100;

/**
 * The assumed maximum difference between the clocks of two processes, in
 * seconds.
 */
const CLOCK_SECONDS = 60;

const NAME = /^[\w-]{43}$/;

/** An author's offer to remember the approval of a call. */
export interface RememberOffer {
  /**
   * The name of the remembered approval: a hash of the client, the tool's
   * definition and the offer's key.
   */
  name: string;
  label: string;
  seconds: number;
}

interface RememberedRecord extends Expiring {
  tool: string;
  clientName?: string;
  /** The grant with which the remembered approval ends. */
  grantId?: string;
  at: number;
  runs: number;
  /**
   * The fingerprint of the server's version and the tool's definition, with
   * which the remembered approval ends. Undefined in records of older releases.
   */
  definition?: string;
  /** The author's label, encrypted. */
  sealed: string;
}

/** A remembered approval as its person sees it. */
export type RememberedApproval = Omit<RememberedRecord, "sealed"> & {
  name: string;
  /**
   * Undefined if the label cannot be decrypted. The remembered approval then
   * allows no call.
   */
  label?: string;
};

export function rememberedStore(database: Database) {
  const secrets = secretStore(database);

  async function open(
    subject: string,
    { key, value: { sealed, ...own } }: Found<RememberedRecord>,
  ): Promise<RememberedApproval> {
    const name = String(key[2]);
    const secret = await secrets.find("remembered");
    const label = await unseal(secret, sealed, contextOf(subject, name))
      .catch(() => undefined);
    return { ...own, name, label };
  }

  function contextOf(subject: string, name: string): string {
    return JSON.stringify(["remembered", subject, name]);
  }

  /**
   * Finds the grant of a remembered approval, unless it has ended or is paused.
   */
  async function findLive(grantId: string): Promise<Found<Grant> | undefined> {
    const grant = await findGrant(database, grantId);
    return grant?.value.pausedAt === undefined ? grant : undefined;
  }

  const listAll = (subject: string) =>
    database.list<RememberedRecord>(rememberedKey(subject));

  /** True if a person may have one more remembered approval. */
  const hasRoom = async (subject: string): Promise<boolean> =>
    (await listAll(subject)).length < MAX_REMEMBERED;

  /**
   * Makes the write for one more run. Undefined if the remembered approval
   * cannot be used now.
   */
  async function usable(
    { key, value, versionstamp }: Entry<RememberedRecord>,
    subject: string,
    grantId: string | undefined,
  ): Promise<{ remembered: RememberedApproval; write: Write } | undefined> {
    if (!value || value.grantId !== grantId) return undefined;
    // If the clock was set back, the remembered approval does not count:
    // otherwise it would last longer.
    const isBefore = database.now() < value.at - CLOCK_SECONDS;
    if (isBefore || value.runs >= MAX_REMEMBERED_RUNS) return undefined;
    const grant = grantId && await findLive(grantId);
    if (grantId && !grant) return undefined;
    const found = { key, value, versionstamp: versionstamp! };
    const remembered = await open(subject, found);
    if (remembered.label === undefined) return undefined;
    return {
      remembered,
      write(transaction) {
        if (grant) transaction.check(grant);
        transaction.check(found).set(key, { ...value, runs: value.runs + 1 });
      },
    };
  }

  return {
    /** Finds a remembered approval for one run, and the write that uses it. */
    async find(
      subject: string,
      { name, grantId }: Pick<RememberOffer, "name"> & { grantId?: string },
    ) {
      const entry = await database.get<RememberedRecord>(
        rememberedKey(subject, name),
      );
      return await usable(entry, subject, grantId);
    },

    hasRoom,

    /**
     * Makes the write that stores a remembered approval. Undefined without an
     * offer, or if the person may not have one more.
     */
    async writing(
      subject: string,
      { offer, definition }: { offer?: RememberOffer; definition?: string },
      of: Pick<RememberedRecord, "tool" | "clientName" | "grantId">,
    ): Promise<Write | undefined> {
      if (!offer) return undefined;
      const { name, label, seconds } = offer;
      // Every new one changes this head. So two at once cannot both be stored
      // if there is room for only one.
      const head = await database.get(rememberedKey(subject));
      if (!await hasRoom(subject)) return undefined;
      const at = database.now();
      const expiresAt = at + seconds;
      const secret = await secrets.find("remembered");
      const sealed = await seal(secret, label, contextOf(subject, name));
      return (transaction) =>
        transaction.check(head).set(head.key, { expiresAt })
          .set<RememberedRecord>(rememberedKey(subject, name), {
            ...of,
            definition,
            at,
            runs: 0,
            sealed,
            expiresAt,
          });
    },

    /** Makes the write that ends a remembered approval. */
    ending:
      (subject: string, { name }: RememberOffer): Write => (transaction) =>
        transaction.expire(rememberedKey(subject, name)),

    /**
     * Uses a remembered approval for one run. Undefined if there is none that a
     * call under this grant can use now.
     *
     * @param receipt makes the write of the run's receipt
     */
    async use(
      subject: string,
      { name, grantId }: Pick<RememberOffer, "name"> & { grantId?: string },
      receipt: (entry: RememberedApproval) => Promise<Write>,
    ): Promise<RememberedApproval | undefined> {
      return await database.change(
        rememberedKey(subject, name),
        async (transaction, entry: Entry<RememberedRecord>) => {
          const found = await usable(entry, subject, grantId);
          if (!found) return undefined;
          found.write(transaction);
          (await receipt(found.remembered))(transaction);
          return found.remembered;
        },
      );
    },

    /**
     * Lists a person's remembered approvals, except those whose grant has ended
     * or is paused.
     */
    async list(subject: string): Promise<RememberedApproval[]> {
      const all = await listAll(subject);
      const live = await Promise.all(
        all.map(({ value: { grantId } }) => !grantId || findLive(grantId)),
      );
      const shown = all.filter((_, index) => live[index]);
      return await Promise.all(shown.map((found) => open(subject, found)));
    },

    /**
     * Deletes one remembered approval of a person, and returns it. Undefined if
     * there is none.
     */
    async end(subject: string, name: string) {
      if (!NAME.test(name)) return undefined;
      return await database.change(
        rememberedKey(subject, name),
        (transaction, { key, value }: Entry<RememberedRecord>) => {
          if (value) transaction.expire(key);
          return value;
        },
      );
    },

    records: {
      name: "remembered",
      async listOf(subject) {
        const all = await listAll(subject);
        const opened = await Promise.all(all.map((it) => open(subject, it)));
        return opened.map(({ name: _, definition: __, ...entry }) => entry);
      },
      async endAllOf(subject) {
        const all = await listAll(subject);
        await database.commit((transaction) => {
          for (const { key } of all) transaction.expire(key);
          transaction.delete(rememberedKey(subject));
        });
      },
    } satisfies PersonRecords,
  };
}
