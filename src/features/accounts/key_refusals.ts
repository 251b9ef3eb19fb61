/**
 * Detects from a call's responses that a service refuses a person's key. The
 * key is kept: perhaps only one resource was refused.
 *
 * @module
 */
import { type AccountService, titleOf } from "../../authoring/account.ts";
import { originOf } from "./account_replacement.ts";
import type { AccountRecord } from "./accounts.ts";
import type { AccountVault } from "./account_vault.ts";
import type { Found } from "../../core/kv/database.ts";

export class KeyRefusalWatch {
  /**
   * Per service: true if it accepted its key in this call, false if it refused
   * it.
   */
  readonly #isTaken = new Map<string, boolean>();

  constructor(private readonly vault: Pick<AccountVault, "noteRefusalLater">) {}

  /**
   * Records a response's status: the service refuses the key, or accepts it
   * again. A 401 is ignored if the service accepted the key earlier in this
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

/** Explains why a connected account cannot be used; empty if it can. */
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
