/**
 * The development page, which shows the views of tools.
 *
 * @module
 */
import type { Feature } from "../../src/core/server/feature.ts";

export const developmentFeature: Feature = {
  name: "development",
  async routes(app, site) {
    if (!site.isDevelopment) return;
    const { viewHostRoutes } = await import("./routes.ts");
    app.route("/", viewHostRoutes(site));
  },
};
