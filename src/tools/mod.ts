/**
 * Your tools. A file that is not listed here is not served.
 *
 * @module
 */
import type { Tool } from "../mcp/authoring.ts";
import choose from "./choose.ts";
import countdown from "./countdown.ts";
import { health, type Runtime } from "./health.ts";
import providerProfile from "./provider_profile.ts";
import whoami from "./whoami.ts";

/** Every tool, in the order in which clients list them. */
export function tools(runtime: Runtime): Tool[] {
  return [
    health(runtime),
    whoami,
    countdown,
    choose,
    providerProfile,
  ];
}
