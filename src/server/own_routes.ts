/**
 * The routes of the author's own.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import type { Gate } from "../auth/doors/gate.ts";
import { isStranger } from "../caller.ts";
import { ChallengeError } from "../errors.ts";
import type { Passing } from "../http/passing.ts";
import type { RoutesContext } from "./server_options.ts";
import type { ServerParts } from "./server_parts.ts";

/**
 * Adds the author's routes last, so that none takes the place of the server's.
 *
 * @throws {Error} for one that would
 */
export function addOwnRoutes(
  app: Hono<Passing>,
  { plan: { options, lifecycle }, engine, waits, gate }:
    & Pick<ServerParts, "plan" | "engine" | "waits">
    & { gate: Gate },
): void {
  if (!options.routes) return;
  const { checkOrigin } = engine;
  const context: RoutesContext = {
    ...lifecycle.provide(options),
    async authenticate(request) {
      checkOrigin(request);
      const found = await gate.authenticate(request.headers);
      // Strangers may try tools, but a route that authenticates wants a known
      // caller.
      if (!isStranger(found.caller)) return found;
      throw new ChallengeError("Sign in first");
    },
    answer: (token, data) => waits.tell(token, data),
  };
  const own = new Hono();
  options.routes(own, context);
  const taken = new Set(
    app.routes.filter(({ path }) => path !== "/*")
      .map(({ method, path }) => method + path),
  );
  for (const { method, path } of own.routes) {
    if (!taken.has(method + path) && !/^\/mcp\/?$/.test(path)) continue;
    throw new Error(`routes: ${method} ${path} is the server's own`);
  }
  app.route("/", own);
}
