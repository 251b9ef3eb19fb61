/**
 * Finds the authorization request that this browser began, and makes the error
 * for one that was already answered.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { OAuthError } from "../../errors.ts";
import type { FoundRequest } from "../../store/authorization_requests.ts";
import { shortClientId } from "../../oauth/client.ts";
import { browserCookieOf } from "../../http/browser.ts";
import { invalidRequest } from "../../oauth/parameters.ts";
import type { AuthServices } from "../services.ts";

/**
 * Finds an authorization request by its handle. `browser` is the cookie that
 * decrypts it.
 * @throws {OAuthError} `invalid_request`, the same for an unknown request and
 * for a request of another browser
 */
export async function findBrowserRequest(
  c: Context,
  handle: string,
  { baseUrl, requests }: Pick<AuthServices, "baseUrl" | "requests">,
): Promise<{ found: FoundRequest; browser: string }> {
  const browser = browserCookieOf(c, baseUrl);
  const found = browser && await requests.find(handle, browser);
  if (browser && found) {
    const { clientName, request } = found.value;
    c.set("client", clientName);
    c.set("clientId", shortClientId(request.clientId));
    return { found, browser };
  }
  throw invalidRequest(
    "This sign-in has expired, or it began in another browser",
    "expired",
  );
}

/**
 * Makes the error for an authorization request that was answered, or is being
 * answered.
 */
export function requestAnswered(found?: FoundRequest): OAuthError {
  return invalidRequest(
    "This sign-in has finished, or another window is finishing it",
    found?.value.isSignedIn ? "signed in" : "finished",
  );
}
