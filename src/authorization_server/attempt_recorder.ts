/**
 * Writes down how attempts to connect end, seen from outside the endpoints.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError, OAuthError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Attempt, AttemptStore } from "../store/attempts.ts";
import type { Endpoint } from "./sign_in_endpoints.ts";

/**
 * Wraps every endpoint that an attempt to connect passes. One that reads its
 * client from a body names it in the context, as `clientId`.
 */
export function attemptRecorder(
  { baseUrl, attempts, log }: {
    baseUrl: string;
    attempts: AttemptStore;
    log: Logger;
  },
): (endpoint: Endpoint) => Endpoint {
  async function save(
    c: Context,
    outcome: Pick<Attempt, "client" | "failure">,
  ): Promise<void> {
    const step = `${c.req.method} ${c.req.path}`;
    const client = c.req.query("client_id") ?? c.get("clientId");
    try {
      await attempts.save({ step, client, ...outcome });
    } catch (error) {
      // The answer stands, whatever becomes of the note about it.
      log.warning("An attempt was not written down", { error });
    }
  }

  return (endpoint) => async (c) => {
    try {
      const response = await endpoint(c);
      const outcome = parseAnswer(response.headers.get("location"), baseUrl);
      if (outcome) await save(c, outcome);
      return response;
    } catch (error) {
      await save(c, { failure: wordsFor(error) });
      throw error;
    }
  };
}

/**
 * The authorization response in a redirect to a client, known by its `iss`
 * (RFC 9207); undefined for a step that leads on to another.
 */
function parseAnswer(
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
