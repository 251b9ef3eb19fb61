/**
 * Your resources. A file that is not listed here is not served.
 *
 * @module
 */
import type { Resource } from "../mod.ts";
import addingATool from "./adding_a_tool.ts";
import time from "./time.ts";

/** Every resource, in the order in which clients list them. */
export const resources: Resource[] = [addingATool, time];
