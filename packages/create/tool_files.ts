/**
 * A new tool: its name, its file, its test, and its place in the list.
 *
 * @module
 */
import { CreateError } from "./files.ts";

/** Parses `searchMail` and `search-mail` as `search_mail`. */
export function parseToolName(given: string): string {
  const name = given.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_").toLowerCase();
  if (/^[a-z][a-z0-9_]*$/.test(name)) return name;
  throw new CreateError(
    "A tool's name must be letters, digits and _, with a letter first, such " +
      `as search_mail: got ${JSON.stringify(given)}.`,
  );
}

/** Prints `search_mail` as `Search mail`. */
export function titleOf(name: string): string {
  const words = name.replaceAll(/[-_.]+/g, " ");
  return words[0].toUpperCase() + words.slice(1);
}

/** Prints `search_mail` as `searchMail`. */
function variableOf(name: string): string {
  return name.replaceAll(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** Makes the files of a tool, by their path in the project. */
export function toolFiles(name: string): Record<string, string> {
  return {
    [`tools/${name}.ts`]: toolFile(name),
    [`tools/${name}_test.ts`]: testFile(name),
  };
}

function toolFile(name: string): string {
  return `import { tool, z } from "@tool-server/tool-server";

export default tool({
  name: "${name}",
  title: "${titleOf(name)}",
  description: "Tell the model what this does, and when to use it.",
  input: z.object({ text: z.string().describe("What to work on.") }),
  run: ({ text }) => text,
});
`;
}

function testFile(name: string): string {
  const variable = variableOf(name);
  return `import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import ${variable} from "./${name}.ts";

// Change them together with the tool.
const input = { text: "Tea" };
const answer = "Tea";

Deno.test("${name} answers", async () => {
  await using server = await testServer({ tools: [${variable}] });
  const { text } = await server.call(${variable}, input);
  assert.equal(text, answer);
});
`;
}

/**
 * Adds a tool to a list of tools; undefined if the list has another form than
 * the one made here.
 */
export function listTool(list: string, name: string): string | undefined {
  const variable = variableOf(name);
  const imports = [...list.matchAll(/^import .*\n/gm)].at(-1);
  const opening = /\btools: Tool\[\] = \[/.exec(list);
  const end = opening && list.indexOf("]", opening.index + opening[0].length);
  if (!imports || !opening || end === null || end < 0) return undefined;
  const start = opening.index + opening[0].length;
  const names = list.slice(start, end).split(",").map((item) => item.trim())
    .filter(Boolean);
  const line = `[${[...names, variable].join(", ")}]`;
  const isShort = `export const tools: Tool[] = ${line};`.length <= 80;
  const printed = isShort && !list.slice(start, end).includes("\n")
    ? line
    : `[\n${[...names, variable].map((item) => `  ${item},\n`).join("")}]`;
  const importEnd = imports.index + imports[0].length;
  return list.slice(0, importEnd) +
    `import ${variable} from "./${name}.ts";\n` +
    list.slice(importEnd, start - 1) + printed + list.slice(end + 1);
}
