/**
 * Turns exceptions into responses, everywhere outside `/mcp`.
 * @module
 */
import type { Context, ErrorHandler } from "@hono/hono";
import { ChallengeError, HttpError, OAuthError } from "../errors.ts";
import { logFailure, type Logger } from "../log/log.ts";
import type { AppEnv } from "../http/client_address.ts";
import { errorPage } from "../pages/error_page.tsx";
import { prefersPage } from "../pages/respond.ts";

/**
 * Makes the function that responds to an exception of a route, with a page or
 * JSON.
 */
export function errorAnswer(
  { log, page, challenge }: {
    log: Logger;
    /** The facts about the server for an error page. */
    page: Omit<Parameters<typeof errorPage>[2], "reference">;
    /** Formats `WWW-Authenticate` for a refusal by an author's route. */
    challenge(refusal: ChallengeError): string;
  },
): ErrorHandler<AppEnv> {
  return (error, c) => {
    const reference = c.get("reference");
    const own = exceptionResponse(error);
    if (own) {
      if (own.status >= 500) logFailure(log, error, { reference });
      return c.newResponse(own.body, own);
    }
    const { status, code, description, headers } = printed(error, c, challenge);
    if (status >= 500) {
      const isRefusal = error instanceof OAuthError ||
        error instanceof HttpError;
      if (isRefusal) logFailure(log, error, { reference });
      else log.error("Internal error", { reference, error });
    }
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    if (prefersPage(c) && !(error instanceof ChallengeError)) {
      return errorPage(c, error, { ...page, reference });
    }
    return c.json({
      error: code,
      ...(description !== undefined && { error_description: description }),
      ...(status >= 500 && { reference }),
    }, status as 400);
  };
}

/**
 * Returns the response of a Hono `HTTPException` that an author's route or
 * middleware throws; undefined for other errors. It is recognized by its
 * method, because the author may use another copy of Hono.
 */
function exceptionResponse(
  error: Error & { getResponse?(): unknown },
): Response | undefined {
  try {
    const response = error.getResponse?.();
    return response instanceof Response ? response : undefined;
  } catch {
    // The response has an invalid status, or its body was already used.
  }
}

/** Returns the status, code, description and headers of an error. */
function printed(
  error: Error,
  c: Context,
  challenge: (refusal: ChallengeError) => string,
) {
  if (error instanceof ChallengeError) {
    const { status, error: code = "unauthorized", description } = error;
    return {
      status,
      code,
      description,
      headers: { "WWW-Authenticate": challenge(error) },
    };
  }
  if (error instanceof OAuthError) {
    const { code, description, status } = error;
    return { status, code, description, headers: headersFor(error, c) };
  }
  if (error instanceof HttpError) {
    const { status, message: description, headers } = error;
    return { status, code: oauthCodeOf(status), description, headers };
  }
  return {
    status: 500,
    code: "server_error",
    description: undefined,
    headers: {},
  };
}

function headersFor(
  { code, status }: OAuthError,
  c: Context,
): Record<string, string> {
  // RFC 6749 §5.2: only for clients that sent an `Authorization` header,
  // because a browser would ask for a password.
  if (code === "invalid_client" && c.req.header("authorization")) {
    return { "WWW-Authenticate": 'Basic realm="clients"' };
  }
  return status === 503 ? { "Retry-After": "5" } : {};
}

/**
 * Returns an error code for a status: one of RFC 6749 §4.1.2.1, if any fits.
 */
function oauthCodeOf(status: number): string {
  switch (status) {
    case 404:
      return "not_found";
    case 429:
    case 503:
      return "temporarily_unavailable";
    default:
      return status < 500 ? "invalid_request" : "server_error";
  }
}
