/**
 * A new project, file by file.
 *
 * @module
 */
import * as z from "zod";
import { Exit } from "../call/failure.ts";
import { CreateError } from "./files.ts";
import { agentsFile, readmeFile } from "./project_words.ts";
import {
  firstSettingsExample,
  grantedVariables,
  printList,
} from "./settings.ts";
import { PACKAGE, type PackageCopy, PUBLISHED_COPY } from "./source.ts";
import { titleOf } from "./definition_files.ts";

interface ProjectOptions {
  /** The name for programs: `my-tools`. */
  name: string;
  /**
   * The copy of the package that the project uses; by default the published
   * one.
   */
  source?: PackageCopy;
}

/**
 * Parses the name of a project: the last part of its directory. @throws
 * {CreateError}
 */
export function parseProjectName(directory: string): string {
  const name = directory.replace(/[/\\]+$/, "").split(/[/\\]/).at(-1)!;
  if (/^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i.test(name)) return name;
  throw new CreateError(
    `A project's name must begin and end with a letter or a digit, with "-", ` +
      `"_" and "." between them, such as my-tools: got ${
        JSON.stringify(name)
      }.`,
    Exit.usage,
  );
}

/** Makes the files of a new project, keyed by path. */
export function projectFiles(options: ProjectOptions): Record<string, string> {
  const { name, source = PUBLISHED_COPY } = options;
  return {
    "deno.json": configuration(source),
    "main.ts": MAIN,
    "server.ts": serverFile(name),
    "tools/mod.ts": TOOLS,
    "tools/greet.ts": GREET,
    "tools/greet_test.ts": GREET_TEST,
    ".env.example": firstSettingsExample(SETTINGS),
    ".gitignore":
      "/.env*\n!/.env.example\n/backups/\n/dist/\n/node_modules/\n/coverage/\n/*.tgz\n/*.ts.lock\n",
    // Makes the folder a part of every copy of the project, even before it has
    // files.
    "data/.gitignore": "*\n!.gitignore\n",
    "README.md": readmeFile(name, source),
    "AGENTS.md": agentsFile(name, source),
    ".mcp.json": printJson({ mcpServers: { [name]: CONNECTION } }),
    ".vscode/settings.json": printJson({ "deno.enable": true }),
  };
}

function printJson(value: unknown): string {
  return JSON.stringify(value, null, 2) + "\n";
}

const CONNECTION = { type: "http", url: "http://127.0.0.1:3000/mcp" };

const CHECK = "deno check --quiet --watch --no-clear-screen main.ts";
// Without --quiet Deno warns twice if there is no .env, and reports each
// restart, which the server does too.
const WATCH = "deno run --quiet --watch --no-clear-screen -P --no-prompt " +
  "--env-file=.env main.ts --no-drain --views";

export const TASKS: Readonly<Record<string, string>> = {
  "dev": `${CHECK} & ${WATCH}`,
  "dev:oauth": `${CHECK} & AUTH_STRATEGY=oauth OAUTH_PROVIDER=dev ${WATCH}`,
  "start":
    "deno run --quiet -P --no-prompt --env-file=.env main.ts --with-parent",
  "test": "deno test -P --no-prompt",
  // All checks run, so that one run reports everything that is wrong.
  "ci": "a=0; deno fmt --check || a=1; deno lint || a=1; deno check || a=1; " +
    "deno task -q test || a=1; deno task -q ts settings --check || a=1; " +
    "deno task -q ts skills --check || a=1; exit $a",
  "ts": `deno run -qA --env-file ${PACKAGE}/cli`,
};

/** Generates `deno.json` with short lists on few lines. */
function configuration(
  { configuration, host, read = [] }: PackageCopy,
): string {
  const lists = {
    env: grantedVariables([], SETTINGS, []),
    read: [".env", "data", "dist/postgres_package.js", ...read],
  };
  const members = {
    ...configuration,
    unstable: ["kv", "no-legacy-abort"],
    exclude: ["data", "dist", "vendor"],
    // YAML files may be OpenAPI documents, and `fmt` can change their meaning.
    fmt: { exclude: ["deno.json", "**/*.yaml", "**/*.yml"] },
    permissions: {
      default: {
        env: { allow: lists.env, ignore: true },
        net: true,
        read: lists.read,
        write: ["data"],
      },
    },
    tasks: host === undefined ? TASKS : importing(TASKS, host),
  };
  return printJson(members).replaceAll(
    /^( *)(.*)\[\n([^[\]{}]*?)\n *\]/gm,
    (_, indent, before, items) =>
      indent + before + printList(JSON.parse(`[${items}]`), indent, before),
  ).replace(/\{\s+("exclude": .*)\s+\}/, "{ $1 }");
}

/** Allows every task to import modules from a host, besides the registry. */
function importing(
  tasks: Readonly<Record<string, string>>,
  host: string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [
      name,
      task.replaceAll(
        /\bdeno (?:run|check|test)\b(?![^&]* -qA )/g,
        `$& --allow-import=${host},jsr.io`,
      ),
    ]),
  );
}

const MAIN = `import { serve } from "${PACKAGE}";
import server from "./server.ts";

// Durable tools on Deno Deploy, which sleeps between requests, need this line,
// and wake in the import. It wakes the app every minute.
// Deno.cron?.("work", "* * * * *", wake);

await serve(server);
`;

function serverFile(name: string): string {
  return `import { defineServer } from "${PACKAGE}";
import { tools } from "./tools/mod.ts";

/** The name, version and tools of this server. */
export default defineServer({
  name: "${name}",
  title: "${titleOf(name)}",
  version: "0.1.0",
  tools,
});
`;
}

const TOOLS = `import type { Tool } from "${PACKAGE}";
import greet from "./greet.ts";

/** Every tool, in the order in which clients list them. */
export const tools: Tool[] = [greet];
`;

/** The setting of the first tool, as its file declares it. */
const SETTINGS = new Map([[
  "GREETING",
  z.string().default("Hello").describe("How people are greeted."),
]]);

const GREET = `import { tool, z } from "${PACKAGE}";

export default tool({
  name: "greet",
  title: "Greet",
  description: "Greets someone by name.",
  input: z.object({ name: z.string().min(1).describe("Who is greeted.") }),
  settings: {
    GREETING: z.string().default("Hello").describe("How people are greeted."),
  },
  run: ({ name }, { settings }) => \`\${settings.GREETING}, \${name}!\`,
});
`;

const GREET_TEST = `import assert from "node:assert/strict";
import { testServer } from "${PACKAGE}/testing";
import greet from "./greet.ts";

Deno.test("greet greets by name", async () => {
  await using server = await testServer({ tools: [greet] });
  const { text } = await server.call(greet, { name: "Ada" });
  assert.equal(text, "Hello, Ada!");
});

Deno.test("greet says what GREETING says", async () => {
  const env = { GREETING: "Good morning" };
  await using server = await testServer({ tools: [greet], env });
  const { text } = await server.call(greet, { name: "Ada" });
  assert.equal(text, "Good morning, Ada!");
});
`;
