/**
 * The account through which a tool uses a service. A class, because V8 keeps
 * each object literal with a getter, and the call behind it, until the old
 * generation is collected.
 *
 * @module
 */
import type { Account } from "../../authoring/account.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";

export class FoundAccount implements Account {
  readonly fetch: Account["fetch"];
  readonly reveal: Account["reveal"];
  /** The words for `callApi`'s errors. */
  readonly title: string;
  /** The keys that `callApi` hides in errors. */
  readonly given: GivenKeys;
  readonly #label: () => string | undefined;

  constructor(
    { fetch, reveal, title, given }: Omit<FoundAccount, "label">,
    label: () => string | undefined,
  ) {
    this.fetch = fetch;
    this.reveal = reveal;
    this.title = title;
    this.given = given;
    this.#label = label;
  }

  get label(): string | undefined {
    return this.#label();
  }
}
