/** A hook around every tool call, here an audit: `deno run -A around.ts`. */
import {
  type Around,
  defineServer,
  serve,
  tool,
  z,
} from "@tool-server/tool-server";

const greet = tool({
  name: "greet",
  description: "Greets someone by name.",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});

/** Makes a hook that writes who called what, its end, and how long it took. */
export function auditTo(write: (line: string) => void): Around {
  return async ({ tool, context: { caller } }, next) => {
    const start = performance.now();
    // A ToolError, a crash, or a question whose answer comes with another call.
    let ending = "no answer";
    try {
      const result = await next();
      ending = "answered";
      return result;
    } finally {
      const milliseconds = Math.round(performance.now() - start);
      write(`${caller.subject} ${tool.name} ${ending} ${milliseconds} ms`);
    }
  };
}

export const server = defineServer({
  name: "greeter",
  version: "1.0.0",
  tools: [greet],
  around: auditTo(console.log),
});

if (import.meta.main) await serve(server);
