/**
 * Ledgers, and grants with calls in them.
 *
 * @module
 */
import { silentLogger } from "../../kit/log.ts";
import { DEFAULT_LIFETIMES } from "../../../src/core/oauth/lifetimes.ts";
import {
  makeMachineGrant,
  openPersonalGrant,
} from "../../../src/core/oauth/new_grant.ts";
import {
  type EndedCall,
  type LedgerStore,
  ledgerStore,
} from "../../../src/features/ledger/ledger.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { setGrant } from "../../../src/core/store/grants.ts";

export const DAY = 24 * 60 * 60;

export function range(length: number): number[] {
  return Array.from({ length }, (_, n) => n);
}

export function ledgerOn(kv: Deno.Kv, keepSeconds = 30 * DAY): LedgerStore {
  const database = new Database(kv);
  return ledgerStore(database, { keepSeconds, log: silentLogger });
}

const WHOSE = {
  issuer: "https://tools.example.com",
  resource: "https://tools.example.com/mcp",
  scopes: [],
};

/** Makes a live grant, without its token. */
export async function newGrant(kv: Deno.Kv, seconds = 365 * DAY) {
  const database = new Database(kv);
  const grant = openPersonalGrant({
    ...WHOSE,
    subject: "dev:jo",
    identity: { subject: "jo" },
    name: "Backup",
    seconds,
    now: database.now(),
  });
  await database.commit((transaction) => setGrant(transaction, grant));
  return grant;
}

export async function newMachineGrant(kv: Deno.Kv) {
  const database = new Database(kv);
  const grant = makeMachineGrant({
    ...WHOSE,
    clientId: "ci",
    clientName: "Nightly build",
    now: database.now(),
  }, DEFAULT_LIFETIMES);
  await database.commit((transaction) => setGrant(transaction, grant));
  return grant;
}

export function call(tool = "search", outcome: EndedCall["outcome"] = "ok") {
  return { at: Math.floor(Date.now() / 1000), tool, outcome };
}
