/**
 * The documents by which clients and directories find a server: its server
 * card, the AI catalogue of its host, `llms.txt`, and the token by which a
 * directory verifies its owner.
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
