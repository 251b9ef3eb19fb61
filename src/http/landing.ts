/**
 * What a browser gets at `/` and `/mcp`.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Config } from "../config.ts";
import type { Catalogue } from "../mcp/catalogue.ts";
import { accessOf } from "../pages/connect.ts";
import { LandingPage } from "../pages/landing.tsx";
import { page } from "../pages/respond.ts";

/** The landing page, with another status and a notice where it stands in. */
export type ShowLanding = (
  c: Context,
  options?: { status?: number; notice?: string },
) => Response;

/** Shows how to connect to this server. */
export function landing(
  { config, baseUrl, catalogue }: {
    config: Config;
    baseUrl: string;
    catalogue: Catalogue;
  },
): ShowLanding {
  const facts = {
    serverTitle: config.title,
    baseUrl,
    tools: [...catalogue.tools.values()],
    access: accessOf(config.auth),
  };
  return (c, { status, notice } = {}) =>
    page(c, LandingPage({ ...facts, notice }), { status });
}

/** Whether whoever sent this request would rather read a page than JSON. */
export function prefersPage(c: Context): boolean {
  const accept = c.req.header("accept") ?? "";
  const html = accept.indexOf("text/html");
  const json = accept.indexOf("application/json");
  return html >= 0 && (json < 0 || html < json);
}
