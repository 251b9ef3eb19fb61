/**
 * The place of an account among those of its person: one for a service, or one
 * for each account of several. An account is known by the service's id of it, and
 * by its name where the service tells no id.
 *
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import { fingerprint, randomId } from "../../core/crypto/crypto.ts";
import type { AccountRecord } from "./accounts.ts";
import { isSameAccount } from "./begun_account.ts";
import type { Found } from "../../core/kv/database.ts";
import { accountKey } from "../../core/kv/keys.ts";
import { isOtherAccount } from "./revocation_record.ts";

/** An account to keep. */
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
    | "api"
  > {
  /** True if a person may have several accounts of the service. */
  several?: boolean;
}

/** Makes the id of an account from the service's own. Undefined without one. */
export function accountIdOf(
  { subject, service }: Pick<NewAccount, "subject" | "service">,
  id: string | undefined,
): string | undefined {
  return id === undefined
    ? undefined
    : fingerprint(JSON.stringify(["account id", subject, service, id]));
}

/** The origins of APIs: to parse an address in every call takes too long. */
const origins = new WeakMap<object, string>();

/** Gives the origin of a service's API. */
export function originOf(service: Pick<AccountService, "api">): string {
  const origin = origins.get(service) ?? new URL(service.api).origin;
  origins.set(service, origin);
  return origin;
}

/** True if a pasted key may go to a service: its API is the one it was for. */
export function goesTo(
  { api, oauth }: Pick<AccountRecord, "api" | "oauth">,
  service: Pick<AccountService, "kind" | "api">,
): boolean {
  return service.kind === "personalKey" && oauth === undefined &&
    api === originOf(service);
}

/** The most former names of an account that are kept. */
const MAX_FORMER_LABELS = 5;

/** The place of an account. */
export interface AccountPlace
  extends Pick<AccountRecord, "label" | "formerLabels" | "standsInFor"> {
  /** The account that it takes the place of. */
  replaced?: Found<AccountRecord>;
}

/** Finds the place of an account among those of its person. */
export function placeAmong(
  own: readonly Found<AccountRecord>[],
  account: NewAccount,
): AccountPlace {
  const { service, label, accountId, several } = account;
  const there = own.filter(({ value }) => value.service === service);
  if (!several) {
    const replaced = there.find(isSingle);
    return { replaced, label, ...whatStays(replaced, account) };
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
    ...whatStays(replaced, account),
  };
}

/** Gives the part of a record that another key of the same account leaves. */
function whatStays(
  replaced: Found<AccountRecord> | undefined,
  account: NewAccount,
): Pick<AccountPlace, "standsInFor"> {
  if (!replaced || !isSameAccount(replaced.value, account)) return {};
  const { standsInFor } = replaced.value;
  return standsInFor ? { standsInFor } : {};
}

/** Makes the key for an account that takes no other's place. */
export function keyOf({ subject, service, several }: NewAccount): Deno.KvKey {
  return accountKey(subject, several ? randomId(16) : singleId(service));
}

/** Names the record of a service with one account. */
function singleId(service: string): string {
  return fingerprint(JSON.stringify([service, ""]));
}

function isSingle({ key, value }: Found<AccountRecord>): boolean {
  return key.at(-1) === singleId(value.service);
}

/** Gives a name that no other account has: the one before, or with a number. */
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
