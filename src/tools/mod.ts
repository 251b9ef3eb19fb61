/**
 * Your tools. A file that is not listed here is not served.
 *
 * @module
 */
import type { Tool } from "../mod.ts";
import choose from "./choose.ts";
import countdown from "./countdown.ts";
import greet from "./greet.ts";
import providerProfile from "./provider_profile.ts";
import whoami from "./whoami.ts";

/** Every tool, in the order in which clients list them. */
export const tools: Tool[] = [
  greet,
  whoami,
  countdown,
  choose,
  providerProfile,
];
