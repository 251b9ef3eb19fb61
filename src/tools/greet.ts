import * as z from "zod";
import { tool } from "../mod.ts";

/** The tool that the README begins with. */
export default tool({
  name: "greet",
  title: "Greet",
  description: "Greets someone by name.",
  input: z.object({ name: z.string() }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: false,
  },
  run: ({ name }) => `Hello, ${name}!`,
});
