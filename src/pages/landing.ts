/**
 * The answer for a browser at `/` and `/mcp`.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { About } from "../authoring/about.ts";
import type { Config } from "../settings/config.ts";
import type { Catalogue } from "../mcp/catalogue/catalogue.ts";
import { isForModels } from "../mcp/catalogue/view_resource.ts";
import { accessOf } from "./client_guides.ts";
import { LandingPage } from "./landing_page.tsx";
import { page } from "./respond.ts";

/**
 * Shows the landing page, with another status and a notice in place of another
 * page.
 */
type ShowLanding = (
  c: Context,
  options?: { status?: number; notice?: string },
) => Response;

/** Shows how to connect to this server. */
export function landing(
  { config, about, baseUrl, catalogue }: {
    config: Config;
    about?: About;
    baseUrl: string;
    catalogue: Catalogue;
  },
): ShowLanding {
  const facts = {
    serverTitle: config.title,
    about,
    baseUrl,
    tools: [...catalogue.tools.values()].filter(isForModels),
    access: accessOf(config.auth),
  };
  return (c, { status, notice } = {}) =>
    page(c, LandingPage({ ...facts, notice }), { status });
}
