/**
 * The telemetry of requests outside `POST /mcp`.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { routePath } from "@hono/hono/route";
import { STEPS } from "../auth/server/sign_in.ts";
import { basePathOf } from "../net/base_path.ts";
import { OAuthError } from "../errors.ts";
import type { Passing } from "../http/passing.ts";
import { outcomeOf } from "./request_log.ts";
import { telemetry } from "../telemetry/current.ts";

/** Names each request by its route, and measures the steps of a sign-in. */
export function observedRoutes(baseUrl: string): MiddlewareHandler<Passing> {
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
    telemetry.tellStep({
      step,
      grantType: c.get("grantType"),
      outcome: outcomeOf(c).outcome,
      errorType: errorTypeOf(c),
      startedMilliseconds,
    });
  };
}

/** Gives an error code of OAuth, or the status if there is no code. */
function errorTypeOf(c: Context<Passing>): string | undefined {
  if (c.error instanceof OAuthError) return c.error.code;
  if (c.error) return String(c.res.status);
  // The recorded text of an attempt begins with its error code.
  return /^\w+/.exec(c.get("refusal") ?? "")?.[0];
}
