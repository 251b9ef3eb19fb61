/**
 * The page at `/`: what the server is, what its tools do, and how to connect.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";

export const landingFeature: Feature = {
  name: "landing",
  async homePage(site) {
    const { homePage } = await import("./landing_page.tsx");
    return homePage(site);
  },
  async announcement({ config, baseUrl }) {
    const { accessOf, clientGuides } = await import("./client_guides.ts");
    const access = accessOf(config.auth);
    return { guides: clientGuides({ title: config.title, baseUrl, access }) };
  },
};
