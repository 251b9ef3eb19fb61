/**
 * A server with a tool that leaves things behind.
 *
 * @module
 */
import { GivenKeys } from "../../src/core/mcp/exchange/given_keys.ts";
import { serve, tool, z } from "../../src/mod.ts";

// As a call would have given it.
new GivenKeys().add("lin_keyofada");

/** An object of the kind that a match has its groups in. */
function bare(why: string): unknown {
  return Object.assign(Object.create(null), { why });
}

const leave = tool({
  name: "leave",
  input: z.object({ kind: z.enum(["rejection", "exception", "thrown"]) }),
  run({ kind }) {
    if (kind === "rejection") {
      Promise.reject(
        new Error("left lin_keyofada", {
          cause: bare("the reason of a rejection"),
        }),
      );
    } else if (kind === "exception") {
      setTimeout(() => {
        throw bare("the reason of an exception: lin_keyofada");
      });
    } else throw bare("the reason that was thrown");
    return "left";
  },
});

await serve({ name: "stray", version: "1.0.0", tools: [leave] });
