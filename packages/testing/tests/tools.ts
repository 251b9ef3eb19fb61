/**
 * Tools of an imagined author, one for each feature of the test kit.
 *
 * @module
 */
import * as z from "zod";
import { prompt, resource, tool, ToolError } from "../../../src/mod.ts";

export const searchMail = tool({
  name: "search_mail",
  scopes: ["mail:read"],
  input: z.object({ query: z.string(), limit: z.int().default(10) }),
  output: z.object({ subjects: z.array(z.string()) }),
  settings: { MAIL_FOLDER: z.string().default("inbox") },
  async run({ query, limit }, { settings, upstream }) {
    const search = new URLSearchParams({ q: query, n: `${limit}` });
    const response = await upstream.fetch(`/${settings.MAIL_FOLDER}?${search}`);
    if (!response.ok) throw new ToolError("The mailbox is closed. Try later.");
    return await response.json();
  },
});

export const whoami = tool({
  name: "whoami",
  output: z.object({
    subject: z.string(),
    scopes: z.string(),
    clientId: z.string().optional(),
    name: z.string().optional(),
  }),
  run: (_input, { caller }) => ({
    subject: caller.subject,
    scopes: `${caller.scopes}`,
    clientId: caller.clientId,
    name: caller.identity?.name,
  }),
});

export const list = tool({
  name: "list",
  output: z.array(z.int()),
  run: () => [1, 2],
});

export const greet = tool({
  name: "greet",
  input: z.object({
    region: z.string().meta({ "x-mcp-header": "Region" }).default("EU"),
  }),
  run: ({ region }, { client }) => `${client.revision} ${region}`,
});

export const steps = tool({
  name: "steps",
  async run(_input, { progress, log }) {
    await progress(1, 2, "half");
    await log("debug", { step: 1 });
    await progress(2, 2);
    return [{ type: "text", text: "one" }, { type: "text", text: "two" }];
  },
});

export const interview = tool({
  name: "interview",
  async run(_input, { ask, sample, roots, progress }) {
    await progress(1);
    const name = await ask({
      message: "Your name?",
      schema: z.object({ name: z.string() }),
    });
    if (name.action !== "accept") return name.action;
    const { content } = await sample({
      messages: [{
        role: "user",
        content: { type: "text", text: `Greet ${name.content.name}` },
      }],
      maxTokens: 10,
    });
    const uris = (await roots()).map(({ uri }) => uri);
    return `${(content as { text: string }).text} ${uris}`;
  },
});

export const wait = tool({
  name: "wait",
  run: async (_input, { signal, progress }) => {
    await progress(0);
    return await new Promise<string>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  },
});

export const crash = tool({
  name: "crash",
  run() {
    throw new TypeError("x is not a number", { cause: "a cause" });
  },
});

export const build = tool({
  name: "build",
  task: "required",
  input: z.object({ n: z.int() }),
  output: z.object({ doubled: z.int() }),
  async run({ n }, { ask, progress }) {
    await progress(1, 2, "Half way");
    const sure = await ask({ message: "Sure?", schema: z.object({}) });
    if (sure.action !== "accept") throw new ToolError("Not without consent.");
    if (n < 0) throw new RangeError("n is below zero");
    return { doubled: 2 * n };
  },
});

export const edit = tool({
  name: "edit",
  async run(_input, { resourceUpdated, listChanged }) {
    await resourceUpdated("notes://1");
    await listChanged("tools");
    return "";
  },
});

export const note = resource({
  uri: "notes://{id}",
  name: "note",
  complete: { id: (value) => [`${value}1`] },
  read: ({ id }) => id === "none" ? undefined : `Note ${id}`,
});

export const review = prompt({
  name: "review",
  args: z.object({ code: z.string(), style: z.string().optional() }),
  complete: { style: (value, { code }) => [`${value} ${code}`] },
  get: ({ code }) => `Review ${code}`,
});

export const tools = [
  searchMail,
  whoami,
  list,
  greet,
  steps,
  interview,
  wait,
  crash,
  build,
  edit,
];

export const everything = { tools, resources: [note], prompts: [review] };
