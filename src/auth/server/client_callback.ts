/**
 * `GET /oauth/callback`: the page a browser lands on when a client uses this
 * server's own address as its redirect URI.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { About } from "../../authoring/about.ts";
import type { Config } from "../../settings/config.ts";
import {
  type CallbackMessage,
  CallbackPage,
} from "../../pages/callback_page.tsx";
import { page } from "../../pages/respond.ts";

/**
 * Shows the outcome of an authorization request and tells the window that
 * opened this one, if it is at our own origin or one of `ALLOWED_ORIGINS`. A
 * loopback page is not among them: its port does not tell to whom it belongs.
 */
export function callback(
  { config, about, baseUrl }: {
    config: Config;
    about?: About;
    baseUrl: string;
  },
): (c: Context) => Response {
  const { title: serverTitle, allowedOrigins } = config;
  const origins = [baseUrl, ...allowedOrigins.filter((item) => item !== "*")];
  return (c) => {
    const message = parseResponse(new URL(c.req.url).searchParams);
    return page(c, CallbackPage({ serverTitle, about, message, origins }), {
      status: message ? 200 : 400,
    });
  };
}

/**
 * Parses an authorization response (RFC 6749 §4.1.2); undefined if it is not
 * one. A repeated parameter makes it invalid (RFC 6749 §3.1).
 */
export function parseResponse(
  parameters: URLSearchParams,
): CallbackMessage | undefined {
  const known = ["code", "state", "error", "error_description"] as const;
  const [code, state, error, error_description] = known.map((name) =>
    parameters.get(name) ?? undefined
  );
  if (known.some((name) => parameters.getAll(name).length > 1)) return;
  const type = "oauth_callback";
  if (error !== undefined) {
    return { type, error, error_description, state };
  }
  return code === undefined ? undefined : { type, code, state };
}
