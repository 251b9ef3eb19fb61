/**
 * The `WWW-Authenticate` of an MCP server's refusals.
 *
 * @see RFC 6750 §3, RFC 9728 §5.1
 * @module
 */
import { SCOPE_TOKEN } from "../../authoring/scope.ts";

/** The maximum number of scopes that a server may ask for. */
const MAX_SCOPES = 50;

/** The challenge of a refusal; without members if there is none. */
export interface Challenge {
  error?: string;
  /** The URL of the protected resource metadata. */
  metadata?: string;
  /** The scopes that the server asks for. */
  scopes: string[];
}

export function challengeIn(headers?: Headers): Challenge {
  const header = headers?.get("www-authenticate") ?? "";
  const parameter = (name: string) =>
    new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"([^"\\\\]*)"|([^\\s,"]+))`, "i")
      .exec(header)?.slice(1).find((it) => it !== undefined);
  return {
    error: parameter("error"),
    metadata: parameter("resource_metadata"),
    scopes: scopesIn(parameter("scope")?.split(" ")),
  };
}

/** Returns the scopes in a list, without what is none. */
export function scopesIn(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((it) => typeof it === "string" && SCOPE_TOKEN.test(it))
      .slice(0, MAX_SCOPES)
    : [];
}
