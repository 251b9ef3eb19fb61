/**
 * The reports of a request outside `POST /mcp`: one log line with the client,
 * the route and the failure; and telemetry.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { routePath } from "@hono/hono/route";
import { STEPS } from "../auth/server/authorization_server.ts";
import { HttpError, OAuthError } from "../errors.ts";
import type { AppEnv } from "../http/client_address.ts";
import type { Logger } from "../log/log.ts";
import { printAddress } from "../net/address.ts";
import { basePathOf } from "../net/url.ts";
import { telemetry } from "../telemetry/current.ts";
import { methodName } from "../telemetry/redaction.ts";

/**
 * Matches routes that machines request all day. They are logged at `debug`
 * unless the status is 500 or more.
 */
const ROUTINE = /^\/(?:health|ready|mcp|\.well-known\/.*)?$/;

/**
 * Makes the middleware that logs requests, by route and not by path, because
 * paths may contain secrets.
 */
export function requestLog(log: Logger): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const startedMilliseconds = performance.now();
    await next();
    const level = levelFor(c);
    if (!log.isEnabledFor(level)) return;
    const { refusal, outcome } = outcomeOf(c);
    const address = c.get("address");
    log[level]("Request", {
      reference: c.get("reference"),
      clientId: c.get("clientId"),
      grantId: c.get("grantId"),
      address: address && printAddress(address),
      method: `${methodName(c.req.method)} ${routePath(c, -1)}`,
      status: c.res.status,
      durationMilliseconds: Math.round(performance.now() - startedMilliseconds),
      outcome,
      refusal,
    });
  };
}

function levelFor(c: Context<AppEnv>): keyof Logger & ("debug" | "info") {
  const { status } = c.res;
  if (status >= 500) return "info";
  // Scanners try every possible path.
  return status === 404 || ROUTINE.test(routePath(c, -1)) ? "debug" : "info";
}

function outcomeOf(c: Context<AppEnv>): { outcome: string; refusal?: string } {
  const { error } = c;
  const refusal = c.get("refusal");
  if (error === undefined) {
    if (refusal) return { outcome: "refused", refusal };
    const { status } = c.res;
    if (status < 400) return { outcome: "ok" };
    return { outcome: status < 500 ? "refused" : "internal_error" };
  }
  const isOurs = error instanceof OAuthError || error instanceof HttpError;
  if (!isOurs) {
    // Below 500 it is an `HTTPException` of the author's; its text is not
    // logged.
    return { outcome: c.res.status < 500 ? "refused" : "internal_error" };
  }
  return { outcome: "refused", refusal: error.message };
}

/**
 * Makes the middleware that names each request by its route, and measures the
 * steps of a sign-in.
 */
export function observedRoutes(baseUrl: string): MiddlewareHandler<AppEnv> {
  const base = basePathOf(baseUrl);
  return async (c, next) => {
    if (!telemetry) return await next();
    const startedMilliseconds = performance.now();
    await next();
    const { method } = c.req;
    const route = routePath(c, -1);
    // At a path without a route, only middleware matches.
    if (route === "/*" || route === "*") return;
    telemetry.nameRoute(method, base + route);
    const step = `${method} ${route}`;
    if (!STEPS.includes(step)) return;
    telemetry.reportStep({
      step,
      grantType: c.get("grantType"),
      outcome: outcomeOf(c).outcome,
      errorType: errorTypeOf(c),
      startedMilliseconds,
    });
  };
}

/**
 * Returns the OAuth error code of a failed request, or its status if there is
 * no code.
 */
function errorTypeOf(c: Context<AppEnv>): string | undefined {
  if (c.error instanceof OAuthError) return c.error.code;
  if (c.error) return String(c.res.status);
  // The recorded failure of an attempt begins with its error code.
  return /^\w+/.exec(c.get("refusal") ?? "")?.[0];
}
