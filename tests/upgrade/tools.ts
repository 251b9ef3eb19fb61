/**
 * The tools of a release and of the version after it.
 *
 * @module
 */
import * as z from "zod";
import type { tool as Tool } from "../../src/authoring/tool.ts";

/** A text longer than one record of the database. */
export const LONG = "x".repeat(40_000);

/** @param tool the function of the version that serves them */
export function toolsOf(tool: typeof Tool) {
  return [
    tool({ name: "greet", run: () => "hello" }),
    tool({
      name: "confirm",
      run: async (_, { ask }) => {
        const { action } = await ask({
          message: "Really?",
          schema: z.object({}),
        });
        return action;
      },
    }),
    tool({ name: "work", task: "required", run: () => LONG }),
    tool({
      name: "upstream",
      run: async (_, { upstream }) => await upstream.token(),
    }),
  ];
}
