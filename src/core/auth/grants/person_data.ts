/**
 * The data stored about a person: a copy without secrets, and their erasure.
 *
 * @module
 */
import { HttpError } from "../../errors.ts";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import type { BlockStore } from "../../store/blocks.ts";
import type { ClientConnectionStore } from "../../store/connections.ts";
import type { Database } from "../../kv/database.ts";
import { markErased } from "../../store/erased.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { SessionStore } from "../../store/sessions.ts";
import {
  bindingAt,
  bindingOf,
  type Grant,
  ledgerIdOf,
} from "../../oauth/grant.ts";
import { jwtBindingOf } from "../../oauth/subject.ts";
import {
  type EndedCounts,
  type EndGrants,
  endSubject,
  type PersonRecords,
  type TaskCanceller,
} from "./end_grant.ts";

/** A grant in the copy of a person's data, active or ended, with its calls. */
type CopiedGrant =
  & Omit<Grant, "refreshKey" | "refreshTokens" | "listedAs">
  & {
    calls: readonly unknown[];
  };

/** Formats a value as JSON, with times in ISO 8601. */
function printCopied(value: unknown): string {
  return JSON.stringify(
    value,
    (key, value) =>
      typeof value === "number" && /^at$|At$/.test(key)
        ? new Date(value * 1000).toISOString()
        : value,
    2,
  );
}

const MAX_ROUNDS = 5;

/**
 * Finds and ends the tasks of a person, given their `binding` (issuer, resource
 * and subject).
 */
export interface PersonTasks extends TaskCanceller {
  forgetAllOf(binding: string): Promise<void>;
  listOf(binding: string): Promise<readonly { createdMilliseconds: number }[]>;
}

export interface PersonStores {
  database: Database;
  records: readonly PersonRecords[];
  accessTokens: Pick<AccessTokenStore, "forget">;
  blocks: Pick<BlockStore, "find">;
  connections: Pick<ClientConnectionStore, "forget" | "listOf">;
  grants: Pick<GrantStore, "forget" | "kept" | "listOpen" | "unlist">;
  /**
   * Lists the latest calls by ledger ID; undefined if calls are not recorded.
   */
  ledger?: {
    list(ids: readonly string[]): Promise<(readonly { at: number }[])[]>;
  };
  sessions: Pick<SessionStore, "closeAllOf" | "countsOf" | "forgetAllOf">;
  tasks?: PersonTasks;
  endGrants: EndGrants;
  /**
   * Returns the server's base URL; undefined if the server has never started.
   */
  findBaseUrl(): Promise<string | undefined>;
}

/** Lists the tasks of some bindings, for the copy. */
async function tasksOf(
  tasks: PersonTasks,
  bindings: ReadonlySet<string>,
): Promise<readonly object[]> {
  const listed = await Promise.all([...bindings].map(tasks.listOf));
  return listed.flat().map(({ createdMilliseconds, ...task }) => ({
    ...task,
    createdAt: Math.floor(createdMilliseconds / 1000),
  }));
}

/** Makes the functions that copy and erase the data stored about people. */
export function personData(stores: PersonStores) {
  const { database, grants, ledger, sessions, tasks, connections } = stores;
  const { records, accessTokens, blocks } = stores;

  /** Lists the bindings of a person that follow from their subject alone. */
  async function bindingsOf(subject: string): Promise<Set<string>> {
    const baseUrl = await stores.findBaseUrl();
    const bindings = [
      baseUrl && bindingAt(baseUrl, subject),
      jwtBindingOf(subject),
    ];
    return new Set(bindings.filter((binding) => binding !== undefined));
  }

  /** Yields the grants of a person with their calls, a few at once. */
  async function* grantsOf(subject: string): AsyncGenerator<CopiedGrant[]> {
    for await (const kept of grants.kept(subject)) {
      const calls = await ledger?.list(kept.map(ledgerIdOf));
      yield kept.map((
        { refreshKey: _, refreshTokens: __, listedAs: ___, ...grant },
        index,
      ) => ({ ...grant, calls: calls?.[index] ?? [] }));
    }
  }

  /** Reads all data of a person except grants. */
  async function restOf(subject: string, bindings: ReadonlySet<string>) {
    const counts = await Promise.all(
      [...bindings].map((binding) => sessions.countsOf(binding)),
    );
    return {
      changedConnections: await connections.listOf(subject),
      sessions: counts.reduce(
        (sum, { of }) => sum + [...of.values()].reduce((a, b) => a + b, 0),
        0,
      ),
      ...tasks && { tasks: await tasksOf(tasks, bindings) },
      ...Object.fromEntries(
        await Promise.all(records.map(async ({ name, listOf }) => [
          name,
          await listOf(subject),
        ])),
      ) as Record<string, readonly object[]>,
    };
  }

  /** Returns everything that is stored about a person, without secrets. */
  async function gather(subject: string) {
    const bindings = await bindingsOf(subject);
    const kept: CopiedGrant[] = [];
    for await (const some of grantsOf(subject)) kept.push(...some);
    for (const grant of kept) bindings.add(bindingOf(grant));
    return {
      subject,
      block: await blocks.find(subject) ?? null,
      connections: kept,
      ...await restOf(subject, bindings),
    };
  }

  /** True if the person has signed in again, or has new records. */
  async function hasSignedIn(subject: string): Promise<boolean> {
    const left = await Promise.all([
      ...records.map(({ listOf }) => listOf(subject)),
      grants.listOpen(subject),
    ]);
    return left.some(({ length }) => length > 0);
  }

  async function eraseOnce(subject: string): Promise<EndedCounts> {
    const counts = await endSubject(subject, stores);
    const bindings = await bindingsOf(subject);
    for await (const kept of grants.kept(subject)) {
      for (const grant of kept) bindings.add(bindingOf(grant));
      // From here on, running calls of these grants store nothing.
      await markErased(database, kept.map(({ id }) => id));
    }
    for (const binding of bindings) {
      await tasks?.forgetAllOf(binding);
      await sessions.forgetAllOf(binding);
    }
    for (const kept of records) await kept.forgetAllOf?.(subject);
    await connections.forget(subject);
    await accessTokens.forget(subject);
    await grants.unlist([{ subject }]);
    await grants.forget(subject);
    // Ends new sign-ins to the account page: the person may have signed in
    // again in the meantime.
    await records.at(0)?.endAllOf(subject);
    return counts;
  }

  return {
    gather,

    /** True if anything is stored about a person. */
    async isKnown(subject: string): Promise<boolean> {
      if (await blocks.find(subject)) return true;
      for await (const kept of grants.kept(subject)) {
        if (kept.length > 0) return true;
      }
      const bindings = await bindingsOf(subject);
      const { sessions: count, ...lists } = await restOf(subject, bindings);
      return count > 0 ||
        Object.values(lists).some(({ length }) => length > 0);
    },

    /** Yields the data of `gather` as JSON text while it is read. */
    async *print(subject: string): AsyncGenerator<string> {
      const bindings = await bindingsOf(subject);
      const block = await blocks.find(subject) ?? null;
      const head = printCopied({ subject, block });
      yield head.slice(0, -"\n}".length) + `,\n  "connections": [`;
      let isFirst = true;
      for await (const some of grantsOf(subject)) {
        for (const grant of some) {
          bindings.add(bindingOf(grant));
          yield `${isFirst ? "" : ","}\n${printCopied(grant)}`;
          isFirst = false;
        }
      }
      const rest = await restOf(subject, bindings);
      yield `\n  ],${printCopied(rest).slice(1)}\n`;
    },

    /**
     * Ends everything of a person and deletes what is stored about them.
     * Repeats this if the person signs in again meanwhile. The list of grants
     * is deleted last, so that the erasure can be repeated after a failure.
     * @throws {HttpError} 503 if the person signs in again and again
     */
    async erase(subject: string): Promise<EndedCounts> {
      const counts: EndedCounts = { grants: 0 };
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const ended = await eraseOnce(subject);
        for (const [name, count] of Object.entries(ended)) {
          counts[name] = (counts[name] ?? 0) + count;
        }
        if (!await hasSignedIn(subject)) return counts;
      }
      throw new HttpError(503, "There were sign-ins meanwhile: try again", {
        headers: { "retry-after": "5" },
      });
    },
  };
}
