/**
 * The account with which a call or task began. The call continues with no other
 * account at that service, unless the person says so.
 *
 * @module
 */
import type { BegunNeeds } from "../../core/mcp/exchange/needs.ts";
import { ToolError } from "../../authoring/tool.ts";
import { accountName, type AccountRecord } from "./accounts.ts";
import type { Found } from "../../core/kv/database.ts";
import type { KnownAccount } from "./revocation_record.ts";

/** The account at one service with which a call or task began. */
export type AccountOfCall = BegunNeeds[string];

/**
 * True if both have the same ID at the service or, if one has no ID, the same
 * name.
 */
export function isSameAccount(one: KnownAccount, other: KnownAccount): boolean {
  return one.accountId !== undefined && other.accountId !== undefined
    ? one.accountId === other.accountId
    : one.label === other.label;
}

/** Filters the accounts at a service, newest first. */
export function accountsAt(
  all: readonly Found<AccountRecord>[],
  { name }: { name: string },
): Found<AccountRecord>[] {
  return all.filter(({ value }) => value.service === name)
    .sort((a, b) => b.value.createdAt - a.value.createdAt);
}

/** True if a call began with this account, perhaps under a former name. */
function isBegun({ value }: Found<AccountRecord>, begun: AccountOfCall) {
  const { accountId, formerLabels } = value;
  return isSameAccount(value, begun) ||
    // Two accounts may have had the same name, but not the same ID.
    (accountId === undefined || begun.accountId === undefined) &&
      formerLabels?.includes(begun.label ?? "") === true;
}

/**
 * Returns the ID of an account in an approval. For an account without ID and
 * name, that is its time of connection.
 */
export function idToApprove(
  { accountId, label, createdAt }: AccountOfCall,
): unknown[] {
  const isKnown = accountId !== undefined || label !== undefined;
  return [accountId, label, isKnown ? undefined : createdAt];
}

/**
 * Finds the account that a call began with, or the one that has replaced it.
 */
export function findBegun(
  own: readonly Found<AccountRecord>[],
  begun: AccountOfCall,
): Found<AccountRecord> | undefined {
  const found = own.find(({ value }) => isSameAccount(value, begun)) ??
    own.find((it) => isBegun(it, begun));
  if (found && found.value.refusedAt === undefined) return found;
  return own.find(({ value }) =>
    value.standsInFor?.some((it) =>
      it.at >= begun.at && it.label === begun.label &&
      it.accountId === begun.accountId
    )
  ) ?? found;
}

/**
 * Finds the account that the person approved.
 *
 * @throws {ToolError} if another account has replaced it since
 */
export function findApproved(
  own: readonly Found<AccountRecord>[],
  begun: AccountOfCall,
  title: string,
): Found<AccountRecord> | undefined {
  const found = findBegun(own, begun);
  if (!found) return undefined;
  const createdAt = idToApprove(begun).at(-1);
  const isConnection = createdAt === undefined ||
    createdAt === found.value.createdAt;
  if (isConnection && isBegun(found, begun)) return found;
  const name = accountName(begun);
  throw new ToolError(
    `${title}: this may act with no account but the one that was approved, ${name}. Nothing was done with another.`,
  );
}
