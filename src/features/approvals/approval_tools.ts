/**
 * The tools of each server, for pages that are there only if a tool needs them,
 * and its version.
 *
 * @module
 */
import type { Catalogue } from "../../core/catalogue/catalogue.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";

/** The tools of a server by name, and its version. */
export const approvalTools = new WeakMap<
  OpenedServer,
  Pick<Catalogue, "tools" | "serverInfo">
>();
