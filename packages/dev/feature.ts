/**
 * The development page, which shows the views of tools.
 *
 * @module
 */
import type { Feature } from "../../src/core/server/feature.ts";
import { toolViews } from "../../src/features/views/tool_views.ts";

export const developmentFeature: Feature = {
  name: "development",
  async routes(app, site) {
    if (!site.isDevelopment) return;
    const { viewHostRoutes } = await import("./routes.ts");
    app.route("/", viewHostRoutes(site));
  },
  announcement({ catalogue, baseUrl, isDevelopment }) {
    const hasViews = (catalogue.part(toolViews)?.size ?? 0) > 0;
    const pages = { views: `${baseUrl}/views` };
    return Promise.resolve(isDevelopment && hasViews ? { pages } : {});
  },
};
