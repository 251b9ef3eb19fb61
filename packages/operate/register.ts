/**
 * The register of a server: its people and clients, with what is kept of them,
 * and their end.
 *
 * @module
 */
import { endOfAll } from "../../src/auth/grants/end_all.ts";
import { grantsEnd } from "../../src/auth/grants/end_grant.ts";
import { shortClientId } from "../../src/auth/rules/client_id.ts";
import {
  bindingOf,
  type Grant,
  ledgerIdOf,
} from "../../src/auth/rules/grant.ts";
import type { Logger } from "../../src/log/log.ts";
import { accessTokenStore } from "../../src/store/access_tokens.ts";
import { connectionStore } from "../../src/store/connections.ts";
import { accountSessionStore } from "../../src/store/account_sessions.ts";
import { blockStore } from "../../src/store/blocks.ts";
import type { Database } from "../../src/store/database.ts";
import { grantStore } from "../../src/store/grants.ts";
import { ledgerStore } from "../../src/store/ledger.ts";
import { peopleStore } from "../../src/store/people.ts";
import { sessionStore } from "../../src/store/sessions.ts";
import { taskStore } from "../../src/store/tasks.ts";
import { waitStore } from "../../src/store/waits.ts";

/** Longer than `OAUTH_LEDGER_DAYS` may be. */
const LEDGER_SECONDS = 366 * 24 * 60 * 60;

/** A client, as the connections of people show it. */
export interface RegisteredClient {
  clientId: string;
  clientName: string;
  connections: number;
  usedAt: number;
}

/** Opens the register of a database. */
export function openRegister(database: Database, log: Logger) {
  const grants = grantStore(database);
  const sessions = sessionStore(database);
  const tasks = taskStore(database);
  const accountSessions = accountSessionStore(database);
  const waits = waitStore(database);
  const people = peopleStore(database, grants);
  const blocks = blockStore(database);
  const end = endOfAll({
    accountSessions,
    grants,
    endGrants: grantsEnd({ grants, sessions, tasks, database }),
  });

  /** The bindings of a person's sessions and tasks, live or not. */
  function bindingsOf(kept: readonly Grant[]): string[] {
    return [...new Set(kept.map(bindingOf))];
  }

  return {
    list: people.list,
    connections: (subject: string) => grants.listOfSubject(subject),
    blocks,
    endPerson: end.ofSubject,

    endClient: end.ofClient,

    /** Gathers everything that is kept about a person, without secrets. */
    async export(subject: string) {
      const kept = await grants.listKept(subject);
      const ledger = ledgerStore(database, {
        keepSeconds: LEDGER_SECONDS,
        log,
      });
      const calls = await ledger.list(kept.map(ledgerIdOf));
      const bindings = bindingsOf(kept);
      const counts = await Promise.all(
        bindings.map((binding) => sessions.countsOf(binding)),
      );
      return {
        subject,
        block: await blocks.find(subject) ?? null,
        connections: kept.map((
          { refreshKey: _secret, listedAs: _list, ...grant },
          index,
        ) => ({ ...grant, calls: calls[index] })),
        sessions: counts.reduce(
          (sum, { of }) => sum + [...of.values()].reduce((a, b) => a + b, 0),
          0,
        ),
        tasks: (await Promise.all(bindings.map(tasks.listOf))).flat(),
        accountSessions: await accountSessions.listOf(subject),
        waits: (await waits.listKept(subject)).map((
          { key: _key, id: _id, ...wait },
        ) => wait),
      };
    },

    /** Ends everything of a person, and deletes what is kept about them. */
    async erase(subject: string): Promise<number> {
      const kept = await grants.listKept(subject);
      const count = await end.ofSubject(subject);
      for (const binding of bindingsOf(kept)) await tasks.forgetAllOf(binding);
      await grants.unlist(kept.filter(({ kind }) => kind !== "client"));
      await grants.forget(subject);
      await connectionStore(database, grants).forget(subject);
      await accessTokenStore(database).forget(subject);
      await waits.forgetAllOf(subject);
      return count;
    },

    /** Lists the clients that people have allowed, by the last use. */
    async clients(): Promise<RegisteredClient[]> {
      const found = new Map<string, RegisteredClient>();
      for await (const open of grants.open()) {
        for (const { value: { clientId: id, clientName, usedAt } } of open) {
          if (id === "") continue;
          const clientId = shortClientId(id);
          const known = found.get(clientId);
          found.set(clientId, {
            clientId,
            clientName,
            connections: (known?.connections ?? 0) + 1,
            usedAt: Math.max(known?.usedAt ?? 0, usedAt),
          });
        }
      }
      return [...found.values()].sort((a, b) => b.usedAt - a.usedAt);
    },

    async close(): Promise<void> {
      people.close();
      await database.idle();
    },
  };
}

export type Register = ReturnType<typeof openRegister>;
