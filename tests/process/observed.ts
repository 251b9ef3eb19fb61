/** A server whose tools do things that telemetry must report. */
import * as z from "zod";
import { resource, serve, tool, ToolError } from "../../src/mod.ts";

const look = tool({
  name: "look",
  input: z.object({ url: z.string() }),
  async run({ url }) {
    return await (await fetch(url)).text();
  },
});

const fail = tool({
  name: "fail",
  input: z.object({ text: z.string() }),
  run({ text }) {
    throw new ToolError(`It does not like ${text}`);
  },
});

const crash = tool({
  name: "crash",
  run() {
    throw new RangeError("It fell over");
  },
});

const rare = tool({
  name: "rare",
  limit: { callsPerMinute: 1 },
  run: () => "",
});

const ask = tool({
  name: "ask",
  async run(_input, { ask }) {
    const schema = z.object({ many: z.string() });
    return (await ask({ message: "How many?", schema })).action;
  },
});

const profile = tool({
  name: "profile",
  async run(_input, { upstream }) {
    return await (await upstream.fetch("/me")).text();
  },
});

const ponder = tool({
  name: "ponder",
  task: "required",
  input: z.object({ text: z.string() }),
  async run({ text }, { progress }) {
    await progress(1, 2, text);
    throw new ToolError(`It could not make sense of ${text}`);
  },
});

const wire = tool({
  name: "wire",
  input: z.object({ text: z.string() }),
  approval: { show: ({ text }) => ({ title: text }) },
  run: () => "",
});

const note = resource({
  uri: "note://{id}",
  name: "note",
  read: ({ id }) => `Note ${id}`,
});

await serve({
  name: "observed",
  version: "1.0.0",
  tools: [look, fail, crash, rare, ask, profile, ponder, wire],
  resources: [note],
});
