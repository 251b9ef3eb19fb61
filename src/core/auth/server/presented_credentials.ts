/**
 * Finds credentials in requests from a network over its rate limit: a session,
 * a consent, an authorization request, a code, a token. A valid one lets the
 * request pass.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { now } from "../../clock.ts";
import { parseCredential } from "../../oauth/credential.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import { refreshTokenState } from "../../oauth/refresh_token.ts";
import { resourceOf } from "../../oauth/resource.ts";
import { readParameters } from "../../http/body.ts";
import { browserCookieOf, readCookie } from "../../http/browser.ts";
import type {
  ListCredentials,
  PresentedCredential,
} from "../../http/rate_limit.ts";
import type { AuthServices } from "../services.ts";
import type { SignedInPages } from "./signed_in_pages.ts";

/** The maximum number of forms read at a time for networks over their limit. */
const MAX_FORMS = 100;
let formCount = 0;

/**
 * Reads a copy of a form, so that the endpoint can read it, too. Undefined if
 * the form is malformed, or if too many forms are being read. Their number is
 * limited, because a form may never end.
 */
async function readForm(c: Context): Promise<Parameters | undefined> {
  if (formCount >= MAX_FORMS) return undefined;
  formCount++;
  try {
    const copy = c.req.raw.clone();
    return await readParameters(c, ["resource", "scope"], undefined, copy);
  } catch {
    return undefined;
  } finally {
    formCount--;
  }
}

/** Returns a list of one credential; empty if `value` is undefined. */
function only(
  value: string | undefined,
  isValid: (value: string) => Promise<boolean>,
): PresentedCredential[] {
  return value === undefined ? [] : [{ value, isValid: () => isValid(value) }];
}

export function presentedCredentials(
  { baseUrl, consents, requests, clock, ...stores }: AuthServices,
  pages: () => SignedInPages | undefined,
): Record<"session" | "authorizing" | "returning" | "token", ListCredentials> {
  const { codes, accessTokens, refreshTokens } = stores;

  const session = (c: Context) =>
    only(
      readCookie(c, { name: "account", baseUrl }),
      async () => await pages()?.find(c) !== undefined,
    );

  /**
   * Lists the handle of an authorization request. The handle is valid if the
   * request began in this browser.
   */
  const request = (c: Context, handle: string | undefined) =>
    only(handle, async (handle) => {
      const browser = browserCookieOf(c, baseUrl) ?? "";
      return await requests.find(handle, browser) !== undefined;
    });

  /**
   * Lists the browser's cookie. The cookie is valid if the client was approved
   * in this browser before.
   */
  const consent = (c: Context) =>
    only(browserCookieOf(c, baseUrl), async (browser) => {
      const { client_id: clientId = "", redirect_uri: redirectUri = "" } = c.req
        .query();
      const resource = resourceOf(baseUrl);
      const asked = { clientId, redirectUri, resource };
      return await consents.find(browser, asked) !== undefined;
    });

  async function isLive(token: string): Promise<boolean> {
    switch (parseCredential(token)?.kind) {
      case "code":
        return !!(await codes.read(token))?.code.value;
      case "refresh_token": {
        const read = await refreshTokens.read(token);
        const grant = read?.grant.value;
        if (grant?.status !== "active" || read?.isBlocked) return false;
        const state = refreshTokenState(token, grant, now(clock));
        return state !== undefined && state !== "reused";
      }
      default:
        return await accessTokens.find(token) !== undefined;
    }
  }

  return {
    session,
    async authorizing(c) {
      if (c.req.method === "POST") {
        return request(c, (await readForm(c))?.get("request"));
      }
      return [...session(c), ...consent(c)];
    },
    returning: (c) => request(c, c.req.query("state")),
    async token(c) {
      const form = await readForm(c);
      return ["refresh_token", "code", "token"].flatMap((name) =>
        only(form?.get(name), isLive)
      );
    },
  };
}
