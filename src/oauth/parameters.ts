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
  /** Every value of `resource`. */
  readonly resources: readonly string[];

  /** @throws {OAuthError} `invalid_request` when a parameter is given twice */
  constructor(entries: Iterable<[string, string]>) {
    const resources: string[] = [];
    for (const [name, value] of entries) {
      if (value === "") continue;
      if (name === "resource") {
        resources.push(value);
      } else if (this.#values.has(name)) {
        throw new OAuthError(
          "invalid_request",
          "A parameter is given more than once",
        );
      } else {
        this.#values.set(name, value);
      }
    }
    this.resources = resources;
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
