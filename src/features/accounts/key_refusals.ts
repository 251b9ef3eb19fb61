/**
 * Finds out, by the answers in one call, that a service refuses a person's key.
 * The key stays, because the service may have refused only one resource.
 *
 * @module
 */
import { type AccountService, titleOf } from "../../authoring/account.ts";
import { originOf } from "./account_place.ts";
import type { AccountRecord } from "./accounts.ts";
import type { AccountVault } from "./account_vault.ts";
import type { Found } from "../../core/kv/database.ts";

export class KeyRefusals {
  /**
   * By service: true if the service accepted its key in this call, false if it
   * refused the key.
   */
  readonly #isTaken = new Map<string, boolean>();

  constructor(private readonly vault: Pick<AccountVault, "noteRefusalLater">) {}

  /**
   * Records a refusal of the key, or its end, by the status of an answer. A 401
   * is ignored if the service accepted the key for another request of the same
   * call.
   */
  note(found: Found<AccountRecord>, status: number): void {
    const { service, refusedAt } = found.value;
    const before = this.#isTaken.get(service);
    const isTaken = status < 300;
    if (!isTaken && (status !== 401 || before)) return;
    this.#isTaken.set(service, isTaken);
    const wasTaken = before ?? refusedAt === undefined;
    if (isTaken !== wasTaken) this.vault.noteRefusalLater(found, !isTaken);
  }
}

/** Explains why a connected account cannot be used; empty if it can be. */
export function refusalWords(
  service: AccountService,
  { refusedAt, scopes, api }: AccountRecord,
): string {
  const title = titleOf(service);
  if (api !== undefined && api !== originOf(service)) {
    return `Your key of ${title} was for ${api}, and is not sent elsewhere. `;
  }
  if (refusedAt === undefined) return "";
  const day = new Date(refusedAt * 1000).toISOString().slice(0, 10);
  const what = scopes === undefined ? "key" : "token";
  return `${title} did not take your ${what} on ${day}. `;
}
