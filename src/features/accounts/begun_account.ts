/**
 * The account at a service that a call, or durable work, has begun with: it goes
 * on with no other, unless its person says so.
 *
 * @module
 */
import type { BegunNeeds } from "../../core/mcp/exchange/needs.ts";
import type { AccountRecord } from "./accounts.ts";
import type { Found } from "../../core/kv/database.ts";
import type { KnownAccount } from "./revocation_record.ts";

/** The account at a service with which a call, or durable work, has begun. */
export type AccountOfCall = BegunNeeds[string];

/**
 * True if both are the same account: by the id that the service gives it, or by
 * its name.
 */
export function isSameAccount(one: KnownAccount, other: KnownAccount): boolean {
  return one.accountId !== undefined && other.accountId !== undefined
    ? one.accountId === other.accountId
    : one.label === other.label;
}

/** Picks the accounts at a service, the newest first. */
export function ofService(
  all: readonly Found<AccountRecord>[],
  { name }: { name: string },
): Found<AccountRecord>[] {
  return all.filter(({ value }) => value.service === name)
    .sort((a, b) => b.value.createdAt - a.value.createdAt);
}

/**
 * Finds the account that a call has begun with, or the one that is used in its
 * place.
 */
export function findBegun(
  own: readonly Found<AccountRecord>[],
  begun: AccountOfCall,
): Found<AccountRecord> | undefined {
  const found = own.find(({ value }) => isSameAccount(value, begun)) ??
    // Two accounts may have had the same name, but not the same id.
    own.find(({ value: { accountId, formerLabels } }) =>
      (accountId === undefined || begun.accountId === undefined) &&
      formerLabels?.includes(begun.label ?? "")
    );
  if (found && found.value.refusedAt === undefined) return found;
  return own.find(({ value }) =>
    value.standsInFor?.some((it) =>
      it.at >= begun.at && it.label === begun.label &&
      it.accountId === begun.accountId
    )
  ) ?? found;
}
