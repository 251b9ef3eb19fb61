/**
 * Documents by which machines find a server: its card, the catalogue of its
 * host, `llms.txt`, and the challenge of a directory.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import { DISCOVERY } from "./settings.ts";

export const discoveryFeature: Feature = {
  name: "discovery",
  settings: { title: "The server", rows: DISCOVERY },
  async routes(app, site) {
    const { discoveryRoutes } = await import("./routes.ts");
    app.route("/", discoveryRoutes(site));
  },
};
