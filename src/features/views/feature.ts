/**
 * Views: pages that clients show for a tool's results, as MCP Apps has them.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import { toolViews } from "./tool_views.ts";

export const viewsFeature: Feature = { name: "views", catalogue: toolViews };
