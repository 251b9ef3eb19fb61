/**
 * The account that a call or task began with, and the account that a new one
 * replaces. A call continues with no other account at that service, unless the
 * person says so. A new account replaces the only one at its service. If a
 * person may have several there, it replaces only the same account.
 *
 * @module
 */
import type { BegunNeeds } from "../../core/mcp/exchange/needs.ts";
import { ToolError } from "../../authoring/tool.ts";
import { accountName, type AccountRecord } from "./accounts.ts";
import type { Found } from "../../core/kv/database.ts";
import { isOtherAccount, type KnownAccount } from "./revocation_record.ts";
import type { AccountService } from "../../authoring/account.ts";
import { fingerprint, randomId } from "../../core/crypto/crypto.ts";
import { accountKey } from "../../core/kv/keys.ts";

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
 * Returns the ID by which an approval names an account: for an account without
 * ID and name, the time of connection.
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

export interface NewAccount extends
  Pick<
    AccountRecord,
    | "subject"
    | "service"
    | "label"
    | "accountId"
    | "oauth"
    | "scopes"
    | "given"
    | "wider"
    | "api"
  > {
  /** True if a person may have several accounts at the service. */
  several?: boolean;
}

/** Fingerprints the ID that the service gave an account, if any. */
export function accountIdOf(
  { subject, service }: Pick<NewAccount, "subject" | "service">,
  id: string | undefined,
): string | undefined {
  return id === undefined
    ? undefined
    : fingerprint(JSON.stringify(["account id", subject, service, id]));
}

/** Caches API origins: parsing a URL in every call is too slow. */
const origins = new WeakMap<object, string>();

export function originOf(service: Pick<AccountService, "api">): string {
  const origin = origins.get(service) ?? new URL(service.api).origin;
  origins.set(service, origin);
  return origin;
}

/**
 * True if a pasted key may be sent to a service: the API still has the origin
 * for which the key was pasted.
 */
export function isKeyFor(
  { api, oauth }: Pick<AccountRecord, "api" | "oauth">,
  service: Pick<AccountService, "kind" | "api">,
): boolean {
  return service.kind === "personalKey" && oauth === undefined &&
    api === originOf(service);
}

const MAX_FORMER_LABELS = 5;

/**
 * The account that a new one replaces, and the members that the new record
 * inherits.
 */
export interface AccountReplacement
  extends Pick<AccountRecord, "label" | "formerLabels" | "standsInFor"> {
  /** Undefined if the new account replaces none. */
  replaced?: Found<AccountRecord>;
}

/** Finds which of the person's accounts a new one replaces, and a free name. */
export function findReplaced(
  own: readonly Found<AccountRecord>[],
  account: NewAccount,
): AccountReplacement {
  const { service, label, accountId, several } = account;
  const there = own.filter(({ value }) => value.service === service);
  if (!several) {
    const replaced = there.find(isSingle);
    return { replaced, label, ...keptMembers(replaced, account) };
  }
  const isSame = ({ value }: Found<AccountRecord>) =>
    value.accountId !== undefined && value.accountId === accountId;
  const replaced = there.find(isSame) ??
    there.find(({ value }) =>
      value.label === label && !isOtherAccount(value, account)
    );
  const others = there.filter((it) => it !== replaced);
  const before = replaced?.value.label;
  const kept = label === undefined ? undefined : freeName(label, {
    before,
    taken: new Set(others.map(({ value }) => value.label)),
  });
  const former = replaced?.value.formerLabels ?? [];
  const formerLabels = before === undefined || before === kept
    ? former
    : [before, ...former].slice(0, MAX_FORMER_LABELS);
  return {
    replaced,
    label: kept,
    ...formerLabels.length > 0 && { formerLabels },
    ...keptMembers(replaced, account),
  };
}

/**
 * Returns the members that a record keeps when the same account gets a new key.
 */
function keptMembers(
  replaced: Found<AccountRecord> | undefined,
  account: NewAccount,
): Pick<AccountReplacement, "standsInFor"> {
  if (!replaced || !isSameAccount(replaced.value, account)) return {};
  const { standsInFor } = replaced.value;
  return standsInFor ? { standsInFor } : {};
}

/** Makes the database key of an account that replaces no other. */
export function newAccountKey(
  { subject, service, several }: NewAccount,
): Deno.KvKey {
  return accountKey(subject, several ? randomId(16) : singleId(service));
}

/**
 * Returns the last part of the database key for a person's only account at a
 * service.
 */
function singleId(service: string): string {
  return fingerprint(JSON.stringify([service, ""]));
}

function isSingle({ key, value }: Found<AccountRecord>): boolean {
  return key.at(-1) === singleId(value.service);
}

/**
 * Returns `name`, with a number if another account has that name. If `before`
 * is such a numbered name and still free, returns `before`.
 */
function freeName(
  name: string,
  { before, taken }: {
    before?: string;
    taken: ReadonlySet<string | undefined>;
  },
): string {
  const isNumbered = before?.startsWith(`${name} (`) && /\(\d+\)$/.test(before);
  if (isNumbered && !taken.has(before)) return before!;
  for (let nth = 1;; nth++) {
    const numbered = nth === 1 ? name : `${name} (${nth})`;
    if (!taken.has(numbered)) return numbered;
  }
}
