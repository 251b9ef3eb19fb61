/**
 * Request parameters as RFC 6749 §3.1 wants them read: none twice, an empty
 * one as if it were absent.
 *
 * @module
 */
import { OAuthError } from "../errors.ts";

/** Parameters by name; `resource` may be given several times (RFC 8707 §2). */
export class Parameters {
  readonly #values = new Map<string, string>();
  readonly #lists = new Map<string, string[]>();

  /**
   * @param repeatable those that may be given several times
   * @throws {OAuthError} `invalid_request` when another is given twice
   */
  constructor(
    entries: Iterable<[string, string]>,
    repeatable: readonly string[] = ["resource"],
  ) {
    for (const name of repeatable) this.#lists.set(name, []);
    for (const [name, value] of entries) {
      if (value === "") continue;
      const list = this.#lists.get(name);
      if (list) {
        list.push(value);
      } else if (this.#values.has(name)) {
        throw new OAuthError(
          "invalid_request",
          "A parameter is given more than once",
        );
      } else {
        this.#values.set(name, value);
      }
    }
  }

  /** Every value of `resource`. */
  get resources(): readonly string[] {
    return this.#lists.get("resource") ?? [];
  }

  /** Every value of `scope`, where it may be given several times. */
  get scopes(): readonly string[] {
    return this.#lists.get("scope") ?? [];
  }

  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** @throws {OAuthError} `invalid_request` when it is missing */
  require(name: string): string {
    const value = this.#values.get(name);
    if (value === undefined) {
      throw new OAuthError("invalid_request", `Missing parameter: ${name}`);
    }
    return value;
  }
}
