/**
 * Your prompts. A file that is not listed here is not served.
 *
 * @module
 */
import type { Prompt } from "../mod.ts";
import explain from "./explain.ts";

/** Every prompt, in the order in which clients list them. */
export const prompts: Prompt[] = [explain];
