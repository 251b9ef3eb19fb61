/**
 * Requests outside `POST /mcp` as those see them who collect telemetry.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { routePath } from "@hono/hono/route";
import { basePathOf } from "./base_path.ts";
import { OAuthError } from "./errors.ts";
import type { Passing } from "./http/passing.ts";
import { judge } from "./request_log.ts";
import { telemetry } from "./telemetry.ts";

/** What an attempt to connect passes. */
const STEPS: ReadonlySet<string> = new Set([
  "POST /register",
  "GET /authorize",
  "POST /authorize",
  "GET /oauth/provider-callback",
  "POST /token",
  "POST /revoke",
]);

/** Names each request by its route, and measures the steps of a sign-in. */
export function observedRoutes(baseUrl: string): MiddlewareHandler<Passing> {
  const base = basePathOf(baseUrl);
  return async (c, next) => {
    if (!telemetry) return await next();
    const startedMilliseconds = performance.now();
    await next();
    const { method } = c.req;
    const route = routePath(c, -1);
    // What leads nowhere has no route, only that of what looked at it.
    if (route === "/*" || route === "*") return;
    telemetry.nameRoute(method, base + route);
    const step = `${method} ${route}`;
    if (!STEPS.has(step)) return;
    telemetry.tellStep({
      step,
      grantType: c.get("grantType"),
      outcome: judge(c).outcome,
      errorType: errorTypeOf(c),
      startedMilliseconds,
    });
  };
}

/** An error code of OAuth, or the status of what no code is for. */
function errorTypeOf(c: Context<Passing>): string | undefined {
  if (c.error instanceof OAuthError) return c.error.code;
  if (c.error) return String(c.res.status);
  // The error code comes first in what an attempt is written down with.
  return /^\w+/.exec(c.get("refusal") ?? "")?.[0];
}
