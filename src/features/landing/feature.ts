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
};
