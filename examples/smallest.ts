/** The smallest server: `deno run -A smallest.ts`. */
import { serve, tool, z } from "@tool-server/tool-server";

const greet = tool({
  name: "greet",
  description: "Greets someone by name.",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});

await serve({ name: "greeter", version: "1.0.0", tools: [greet] });
