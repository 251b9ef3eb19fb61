/**
 * One log line for each request outside `/mcp`: the client, the route, and the
 * failure.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { routePath } from "@hono/hono/route";
import { printAddress } from "../net/address.ts";
import { HttpError, OAuthError } from "../errors.ts";
import { methodName } from "../net/method.ts";
import type { Passing } from "../http/passing.ts";
import type { Logger } from "../log/log.ts";

/**
 * Routes that machines ask for all day; only their failures are worth a line.
 */
const ROUTINE = /^\/(?:health|ready|mcp|\.well-known\/.*)?$/;

/** Logs requests. A path is told as its route: the rest may hold secrets. */
export function requestLog(log: Logger): MiddlewareHandler<Passing> {
  return async (c, next) => {
    const startedMilliseconds = Date.now();
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
      durationMilliseconds: Date.now() - startedMilliseconds,
      outcome,
      refusal,
    });
  };
}

function levelFor(c: Context<Passing>): keyof Logger & ("debug" | "info") {
  const { status } = c.res;
  if (status >= 500) return "info";
  // Scanners try every possible address.
  return status === 404 || ROUTINE.test(routePath(c, -1)) ? "debug" : "info";
}

/** Tells the outcome of a request outside `/mcp`. */
export function outcomeOf(
  c: Context<Passing>,
): { outcome: string; refusal?: string } {
  const { error } = c;
  const refusal = c.get("refusal");
  if (error === undefined) {
    if (refusal) return { outcome: "refused", refusal };
    const { status } = c.res;
    if (status < 400) return { outcome: "ok" };
    return { outcome: status < 500 ? "refused" : "internal_error" };
  }
  const isOurs = error instanceof OAuthError || error instanceof HttpError;
  if (!isOurs) return { outcome: "internal_error" };
  return { outcome: "refused", refusal: error.message };
}
