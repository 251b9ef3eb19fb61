/**
 * A new tool, resource or prompt: its name, its file, its test, and its entry
 * in the module that lists its kind and in `server.ts`.
 *
 * @module
 */
import { Exit } from "../call/failure.ts";
import { CreateError } from "./files.ts";
import { PACKAGE } from "./source.ts";

/**
 * The kinds of definitions, each listed by the `mod.ts` of a folder with the
 * plural name.
 */
export type Kind = "tool" | "resource" | "prompt";

/** Parses `searchMail` and `search-mail` as `search_mail`. */
export function parseDefinitionName(kind: Kind, given: string): string {
  const name = given.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_").toLowerCase();
  if (/^[a-z][a-z0-9_]*$/.test(name)) return name;
  const like = name.replaceAll(/[^a-z0-9]+/g, "_").replace(/^[_\d]+|_+$/g, "");
  throw new CreateError(
    `A ${kind}'s name must be letters, digits and _, with a letter first, ` +
      `such as ${like || "search_mail"}: got ${JSON.stringify(given)}.`,
    Exit.usage,
  );
}

/** Converts `search_mail` to `Search mail`. */
export function titleOf(name: string): string {
  const words = name.replaceAll(/[-_.]+/g, " ");
  return words[0].toUpperCase() + words.slice(1);
}

/** Converts `search_mail` to `searchMail`. */
function variableOf(name: string): string {
  return name.replaceAll(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/**
 * Makes the files of a definition, keyed by path. In a clone its folder is in
 * `src/`.
 */
export function definitionFiles(
  kind: Kind,
  name: string,
  folder = `${kind}s`,
): Record<string, string> {
  const here = (text: string) =>
    folder.startsWith("src/")
      ? text.replace(`"${PACKAGE}"`, '"../mod.ts"')
        .replace(`"${PACKAGE}/testing"`, '"../../packages/testing/mod.ts"')
      : text;
  return {
    [`${folder}/${name}.ts`]: here(FILES[kind](name)),
    [`${folder}/${name}_test.ts`]: here(testFile(kind, name)),
  };
}

const FILES: Readonly<Record<Kind, (name: string) => string>> = {
  tool: (name) =>
    `import { tool, z } from "${PACKAGE}";

export default tool({
  name: "${name}",
  title: "${titleOf(name)}",
  description: "Tell the model what this does, and when to use it.",
  input: z.object({ text: z.string().describe("What to work on.") }),
  run: ({ text }) => text,
});
`,
  resource: (name) =>
    `import { resource } from "${PACKAGE}";

export default resource({
  uri: "${uriOf(name)}",
  name: "${name}",
  title: "${titleOf(name)}",
  description: "Tell people and models what this holds.",
  mimeType: "text/plain",
  read: () => "Tea",
});
`,
  prompt: (name) =>
    `import { prompt, z } from "${PACKAGE}";

export default prompt({
  name: "${name}",
  title: "${titleOf(name)}",
  description: "Tell people which conversation this begins.",
  args: z.object({ text: z.string().describe("What it is about.") }),
  get: ({ text }) => text,
});
`,
};

function uriOf(name: string): string {
  return `data://${name.replaceAll("_", "-")}`;
}

function testFile(kind: Kind, name: string): string {
  const variable = variableOf(name);
  const asked = {
    tool: `call(${variable}, { text: "Tea" })`,
    resource: `read("${uriOf(name)}")`,
    prompt: `prompt(${variable}, { text: "Tea" })`,
  };
  return `import assert from "node:assert/strict";
import { testServer } from "${PACKAGE}/testing";
import ${variable} from "./${name}.ts";

// Change it with the ${kind}; "deno task test --no-check" runs the rest.
Deno.test("${name} answers", async () => {
  await using server = await testServer({ ${kind}s: [${variable}] });
  const { text } = await server.${asked[kind]};
  assert.equal(text, "Tea");
});
`;
}

/** Generates the module that lists a kind without definitions. */
export function emptyList(kind: Kind): string {
  const type = titleOf(kind);
  return `import type { ${type} } from "${PACKAGE}";

/** Every ${kind}, in the order in which clients list them. */
export const ${kind}s: ${type}[] = [];
`;
}

/**
 * Adds a definition to the source of the module that lists its kind. Undefined
 * if the module does not have the form that this command writes.
 */
export function listDefinition(
  kind: Kind,
  list: string,
  name: string,
): string | undefined {
  const variable = variableOf(name.replace(/^.*\//, ""));
  const declaration = `${kind}s: ${titleOf(kind)}[] = `;
  const imports = [...list.matchAll(/^import .*\n/gm)].at(-1);
  const before = list.indexOf(`${declaration}[`);
  const start = before + declaration.length + 1;
  const end = list.indexOf("]", start);
  if (!imports || before < 0 || end < 0) return undefined;
  const names = list.slice(start, end).split(",").map((item) => item.trim())
    .filter(Boolean);
  const line = `[${[...names, variable].join(", ")}]`;
  const isShort = `export const ${declaration}${line};`.length <= 80;
  const printed = isShort && !list.slice(start, end).includes("\n")
    ? line
    : `[\n${[...names, variable].map((item) => `  ${item},\n`).join("")}]`;
  const importEnd = imports.index + imports[0].length;
  return list.slice(0, importEnd) +
    `import ${variable} from "./${name}.ts";\n` +
    list.slice(importEnd, start - 1) + printed + list.slice(end + 1);
}

/**
 * Returns the source of a server that also serves the definitions of a kind.
 * Undefined if it does not have the form that this command writes.
 */
export function serveList(kind: Kind, server: string): string | undefined {
  const list = `${kind}s`;
  if (new RegExp(`\\b${list}\\b`).test(server)) return server;
  const imports = [...server.matchAll(/^import .*\n/gm)].at(-1);
  const tools = /^ {2}tools(?:: .*)?,\n/m.exec(server);
  if (!imports || !tools) return undefined;
  const importEnd = imports.index + imports[0].length;
  const toolsEnd = tools.index + tools[0].length;
  return server.slice(0, importEnd) +
    `import { ${list} } from "./${list}/mod.ts";\n` +
    server.slice(importEnd, toolsEnd) + `  ${list},\n` +
    server.slice(toolsEnd);
}
