/**
 * The tools of each server, for the pages that only some of them need.
 *
 * @module
 */
import type { Catalogue } from "../../core/catalogue/catalogue.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";

/** The tools of a server by name. */
export const approvalTools = new WeakMap<OpenedServer, Catalogue["tools"]>();
