/**
 * Middleware that records the outcome of clients' attempts to connect.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { HttpError, OAuthError } from "../../errors.ts";
import { shortClientId } from "../../oauth/client_id.ts";
import type { Attempt } from "../../store/attempts.ts";
import type { AuthServices } from "../services.ts";

/**
 * Makes the middleware. An endpoint that has found its client sets `client` to
 * the client's name; one that anyone may call sets `claimedName`.
 */
export function attemptRecorder(
  { baseUrl, attempts }: Pick<AuthServices, "baseUrl" | "attempts">,
): MiddlewareHandler {
  function note(c: Context, end: Partial<Attempt>): void {
    const step = `${c.req.method} ${c.req.path}`;
    const known: string | undefined = c.get("client");
    const named = c.req.query("client_id");
    const client = known ?? c.get("claimedName") ??
      (named && shortClientId(named));
    // Only for a known client is the browser sent to its redirect URI.
    const isStranger = known === undefined && end.client === undefined;
    // A client's name is more useful than its redirect URI.
    attempts.note({ step, isStranger, ...end, client: client ?? end.client });
  }

  return async (c, next) => {
    await next();
    if (c.error) return note(c, { failure: wordsFor(c.error) });
    const end = endOf(c.res.headers.get("location"), baseUrl);
    if (!end) return;
    c.set("refusal", end.failure);
    note(c, end);
  };
}

/**
 * Parses an authorization response from a redirect. Undefined without this
 * server's `iss` (RFC 9207).
 */
function endOf(
  location: string | null,
  issuer: string,
): Pick<Attempt, "client" | "failure"> | undefined {
  if (location === null) return undefined;
  const [client, query] = location.split("?");
  const answer = new URLSearchParams(query);
  if (answer.get("iss") !== issuer) return undefined;
  if (answer.has("code")) return { client };
  const error = answer.get("error");
  return { client, failure: `${error}: ${answer.get("error_description")}` };
}

function wordsFor(error: unknown): string {
  if (error instanceof OAuthError) return error.message;
  if (error instanceof HttpError) return `${error.status}: ${error.message}`;
  return "Internal error: the log tells more";
}
