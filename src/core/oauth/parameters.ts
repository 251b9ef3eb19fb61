/**
 * Request parameters by RFC 6749 §3.1: none may be repeated, and an empty one
 * counts as absent.
 *
 * @module
 */
import { OAuthError, type Situation } from "../errors.ts";

export function invalidRequest(
  description: string,
  situation?: Situation,
): OAuthError {
  return new OAuthError("invalid_request", description, { situation });
}

/**
 * Makes an `invalid_grant` error, for a refused code, token or assertion.
 *
 * @param cause for the log
 */
export function invalidGrant(description: string, cause?: unknown): OAuthError {
  return new OAuthError("invalid_grant", description, { cause });
}

/**
 * Parameter names that an error may repeat. Other names may have characters
 * that are not allowed in `error_description` (RFC 6749 §5.2).
 */
const NAMES: ReadonlySet<string> = new Set(
  (
    "assertion client_assertion client_assertion_type client_id " +
    "client_secret code code_challenge code_challenge_method code_verifier " +
    "error grant_type iss login_hint max_age prompt redirect_uri " +
    "refresh_token request request_uri response_mode response_type scope state token token_type_hint"
  ).split(" "),
);

/**
 * The maximum number of parameters in a request, which limits the cost of
 * parsing.
 */
const MAX_PARAMETERS = 1000;

/** The parameters of a request. `resource` may be repeated (RFC 8707 §2). */
export class Parameters {
  readonly #values = new Map<string, string[]>();

  /**
   * @param repeatable names that may be repeated
   * @throws {OAuthError} `invalid_request` for another repeated name, or too
   * many parameters
   */
  constructor(
    entries: Iterable<[string, string]>,
    repeatable: readonly string[] = ["resource"],
  ) {
    let count = 0;
    for (const [name, value] of entries) {
      if (++count > MAX_PARAMETERS) {
        throw invalidRequest(`At most ${MAX_PARAMETERS} parameters`);
      }
      if (value === "") continue;
      const before = this.#values.get(name);
      if (before && !repeatable.includes(name)) {
        throw invalidRequest(
          NAMES.has(name)
            ? `Parameter given twice: ${name}`
            : "A parameter is given twice",
        );
      }
      if (before) before.push(value);
      else this.#values.set(name, [value]);
    }
  }

  /** Returns all values of a parameter that may be repeated. */
  all(name: "resource" | "scope"): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  get(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  /** @throws {OAuthError} `invalid_request` if the parameter is missing */
  require(name: string): string {
    const value = this.get(name);
    if (value !== undefined) return value;
    throw invalidRequest(`Missing parameter: ${name}`);
  }
}
