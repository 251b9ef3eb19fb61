/**
 * The accounts of people whose calls have needed them here before. They are
 * read while the credential of a call is read again, so that such a call waits
 * for one round trip to the database, not for two.
 *
 * @module
 */
import type { Caller } from "../../core/caller.ts";
import { LatestMap } from "../../core/latest_map.ts";
import type { AccountVault } from "./account_vault.ts";

export class AccountsAhead {
  /**
   * Subjects by grant; those of callers without one by themselves. A grant is of
   * one person for ever, so nothing here grows old.
   */
  readonly #subjects = new LatestMap<string>();

  constructor(private readonly vault: Pick<AccountVault, "readAhead">) {}

  /** Remembers that calls of a caller need accounts. */
  note({ grantId, subject }: Pick<Caller, "grantId" | "subject">): void {
    const name = grantId ?? subject;
    if (!this.#subjects.get(name)) this.#subjects.set(name, subject);
  }

  /**
   * Begins to read the accounts of a caller who needed them before.
   *
   * @param name the grant of the caller, or the subject of one without
   */
  read(name: string): void {
    const subject = this.#subjects.get(name);
    if (subject !== undefined) this.vault.readAhead(subject);
  }
}
