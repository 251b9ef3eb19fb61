/**
 * The reports of a request outside `POST /mcp`: one line in the log, with the
 * client, the route and the failure, and telemetry.
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

/** Routes that machines request all day: at `debug`, below status 500. */
const ROUTINE = /^\/(?:health|ready|mcp|\.well-known\/.*)?$/;

/** Logs requests by their routes: paths may hold secrets. */
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
  // Scanners try every possible address.
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
    // Below 500 it is an `HTTPException` of the author's, whose text is not
    // logged.
    return { outcome: c.res.status < 500 ? "refused" : "internal_error" };
  }
  return { outcome: "refused", refusal: error.message };
}

/** Names each request by its route, and measures the steps of a sign-in. */
export function observedRoutes(baseUrl: string): MiddlewareHandler<AppEnv> {
  const base = basePathOf(baseUrl);
  return async (c, next) => {
    if (!telemetry) return await next();
    const startedMilliseconds = performance.now();
    await next();
    const { method } = c.req;
    const route = routePath(c, -1);
    // An unknown address has no route but that of a middleware.
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

/** Returns an error code of OAuth, or the status if there is no code. */
function errorTypeOf(c: Context<AppEnv>): string | undefined {
  if (c.error instanceof OAuthError) return c.error.code;
  if (c.error) return String(c.res.status);
  // The recorded text of an attempt begins with its error code.
  return /^\w+/.exec(c.get("refusal") ?? "")?.[0];
}
