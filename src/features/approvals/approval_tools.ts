/**
 * The tools, the version and the base URLs of each server, for the pages of
 * approvals.
 *
 * @module
 */
import type { Catalogue } from "../../core/catalogue/catalogue.ts";
import type { Sites } from "../../core/server/feature.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";

export const approvalTools = new WeakMap<
  OpenedServer,
  Pick<Catalogue, "tools" | "serverInfo"> & Pick<Sites, "addresses">
>();
