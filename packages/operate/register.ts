/**
 * The register of a server: its people and clients with their records, and
 * functions that end them.
 *
 * @module
 */
import {
  endClient,
  endSubject,
  makeEndGrants,
} from "../../src/core/auth/grants/end_grant.ts";
import { shortClientId } from "../../src/core/oauth/client.ts";
import { personData } from "../../src/core/auth/grants/person_data.ts";
import type { Logger } from "../../src/core/log/log.ts";
import { reportRun } from "../../src/core/mcp/exchange/report.ts";
import { accessTokenStore } from "../../src/core/store/access_tokens.ts";
import { clientConnectionStore } from "../../src/core/store/connections.ts";
import { keyRing } from "../../src/core/crypto/crypto.ts";
import { accountStore } from "../../src/features/accounts/accounts.ts";
import { resealAll } from "../../src/features/accounts/reseal.ts";
import { approvalRecords } from "../../src/features/approvals/approval_records.ts";
import { passkeyStore } from "../../src/features/approvals/passkey_store.ts";
import { accountSessionStore } from "../../src/features/account_page/account_sessions.ts";
import { blockStore } from "../../src/core/store/blocks.ts";
import type { Database } from "../../src/core/kv/database.ts";
import { grantStore } from "../../src/core/store/grants.ts";
import { findLastStart } from "../../src/core/store/last_start.ts";
import { ledgerStore } from "../../src/features/ledger/ledger.ts";
import { peopleStore } from "../../src/core/store/people.ts";
import { sessionStore } from "../../src/core/store/sessions.ts";
import { taskStore } from "../../src/features/work/tasks.ts";
import { waitRecords } from "../../src/features/questions/wait_records.ts";
import { waitStore } from "../../src/features/questions/waits.ts";

/**
 * Longer than `OAUTH_LEDGER_DAYS` may be, so that all stored calls are shown.
 */
const LEDGER_SECONDS = 366 * 24 * 60 * 60;

/** A client that people have connected. */
interface RegisteredClient {
  clientId: string;
  clientName: string;
  connections: number;
  usedAt: number;
}

export function openRegister(database: Database, log: Logger) {
  const grants = grantStore(database);
  const sessions = sessionStore(database);
  const { clock } = database;
  const tasks = taskStore(database, {
    onCancelled: (...run) => reportRun({ log, clock }, ...run, "cancelled"),
  });
  const people = peopleStore(database, grants);
  const blocks = blockStore(database);
  const endGrants = makeEndGrants({ grants, sessions, tasks, database });
  const records = [
    accountSessionStore(database),
    accountStore(database),
    waitRecords(waitStore(database)),
    ...approvalRecords(database),
  ];
  const ending = { records, database, endGrants, grants, sessions, tasks };

  const data = personData({
    ...ending,
    blocks,
    connections: clientConnectionStore(database, grants),
    accessTokens: accessTokenStore(database),
    ledger: ledgerStore(database, { keepSeconds: LEDGER_SECONDS, log }),
    findBaseUrl: () => findLastStart(database),
  });

  return {
    list: people.list,
    blocks,
    passkeys: passkeyStore(database),
    endPerson: (subject: string) => endSubject(subject, ending),
    endClient: (shortId: string) => endClient(shortId, ending),

    ...data,

    /** Encrypts all accounts again, with the first of these keys. */
    reseal: (keys: readonly string[]) => resealAll(database, keyRing(keys)),

    /** Lists the clients that people have allowed, the last used first. */
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
      await database.idle();
    },
  };
}

export type Register = ReturnType<typeof openRegister>;
