/**
 * A new project, file by file.
 *
 * @module
 */
import * as z from "zod";
import { DOCKERFILE, DOCKERIGNORE } from "./container_files.ts";
import { agentsFile } from "./agents_words.ts";
import { CreateError } from "./files.ts";
import { readmeFile } from "./project_words.ts";
import { envExample, grantedVariables } from "./settings.ts";
import { PACKAGE, PUBLISHED, type Source } from "./source.ts";
import { titleOf } from "./tool_files.ts";

/** The choices for a new project. */
interface ProjectOptions {
  /** The name for programs: `my-tools`. */
  name: string;
  /**
   * The copy of the package that the project uses; by default the published
   * one.
   */
  source?: Source;
}

/** Parses a project's name: that of its directory. @throws {CreateError} */
export function parseProjectName(directory: string): string {
  const name = directory.replace(/[/\\]+$/, "").split(/[/\\]/).at(-1)!;
  if (/^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i.test(name)) return name;
  throw new CreateError(
    `A project's name must begin and end with a letter or a digit, with "-", ` +
      `"_" and "." between them, such as my-tools: got ${
        JSON.stringify(name)
      }.`,
  );
}

/** Makes the files of a new project, by their path in it. */
export function projectFiles(options: ProjectOptions): Record<string, string> {
  const { name, source = PUBLISHED } = options;
  return {
    "deno.json": printJson(configuration(source)),
    "main.ts": MAIN,
    "server.ts": serverFile(name),
    "tools/mod.ts": TOOLS,
    "tools/greet.ts": GREET,
    "tools/greet_test.ts": GREET_TEST,
    ".env.example": envExample(SETTINGS),
    ".gitignore": "/.env\n/dist/\n/node_modules/\n/coverage/\n/*.tgz\n",
    // Every copy of the project has the folder, also before the first file in
    // it.
    "data/.gitignore": "*\n!.gitignore\n",
    "README.md": readmeFile(name, source),
    "AGENTS.md": agentsFile(name, source),
    ".mcp.json": printJson({ mcpServers: { [name]: CONNECTION } }),
    ".vscode/mcp.json": printJson({ servers: { [name]: CONNECTION } }),
    ".vscode/settings.json": printJson({ "deno.enable": true }),
    "Dockerfile": DOCKERFILE,
    ".dockerignore": DOCKERIGNORE,
    ".github/workflows/ci.yml": WORKFLOW,
  };
}

function printJson(value: unknown): string {
  return JSON.stringify(value, null, 2) + "\n";
}

const DOCTOR = "deno run --quiet --allow-net " +
  "--allow-env=BASE_URL,HOST,PORT,TOOL_SERVER_TOKEN --env-file=.env " +
  `${PACKAGE}/doctor`;
const CONNECTION = { type: "http", url: "http://127.0.0.1:3000/mcp" };

const RUN =
  "deno run --quiet -P --no-prompt --env-file=.env main.ts --with-parent";
const CORES = "deno run --quiet --allow-run --allow-net " +
  "--allow-env=HOST,PORT,PROCESSES,OTEL_RESOURCE_ATTRIBUTES,OTEL_PROPAGATORS,OTEL_EXPORTER_OTLP_TIMEOUT " +
  `--env-file=.env ${PACKAGE}/cores --with-parent ` +
  "deno run --quiet -P --no-prompt --unstable-net --env-file=.env main.ts";
const BUNDLE =
  "rm -rf dist && deno bundle --quiet --code-splitting --outdir dist main.ts";
// The bundler takes a file, and no name that it would have to look up.
const BUNDLE_POSTGRES = "mkdir -p dist && " +
  `echo 'export * from "${PACKAGE}/postgres";' > dist/postgres.ts && ` +
  "deno bundle --quiet -o dist/postgres_package.js dist/postgres.ts";
const CALL = "deno run --quiet --allow-net --allow-read --allow-write " +
  "--allow-run=xdg-open,open,rundll32 " +
  "--allow-env=BASE_URL,HOST,PORT,TOOL_SERVER_TOKEN,HOME,XDG_CONFIG_HOME,APPDATA,DISPLAY,WAYLAND_DISPLAY " +
  `--env-file=.env ${PACKAGE}/call`;
const OPERATE = "deno run --quiet --unstable-kv " +
  "--allow-env=KV_PATH,DENO_KV_ACCESS_TOKEN,PGPASSWORD,SECRETS_KEYS " +
  "--ignore-env " +
  "--allow-net --allow-read --allow-write --allow-sys=username,uid,gid,homedir,userInfo " +
  `--env-file=.env ${PACKAGE}/operate`;
const CHECK = "deno check --quiet --watch --no-clear-screen main.ts";
// Without --quiet Deno warns twice where there is no .env, and tells of each
// restart, as the server does.
const WATCH = "deno run --quiet --watch --no-clear-screen -P --no-prompt " +
  "--env-file=.env main.ts --no-drain --views";

function configuration({ configuration, host, read = [] }: Source) {
  return {
    ...configuration,
    unstable: ["kv", "no-legacy-abort"],
    exclude: ["data", "dist"],
    permissions: {
      default: {
        env: { allow: grantedVariables([], SETTINGS, []), ignore: true },
        net: true,
        read: [".env", "data", "dist/postgres_package.js", ...read],
        write: ["data"],
      },
    },
    tasks: host === undefined ? TASKS : importing(TASKS, host),
  };
}

const TASKS: Readonly<Record<string, string>> = {
  "dev": `${CHECK} & ${WATCH}`,
  "dev:oauth": `${CHECK} & AUTH_STRATEGY=oauth OAUTH_PROVIDER=dev ${WATCH}`,
  "start": RUN,
  "start:cores": CORES,
  "start:bundle": RUN.replace("main.ts", "dist/main.js"),
  "bundle": BUNDLE,
  "bundle:postgres": BUNDLE_POSTGRES,
  "deploy": "deno deploy --prod",
  "backup": `deno run --allow-all ${PACKAGE}/backup`,
  "restore": `deno run --allow-all ${PACKAGE}/restore`,
  "move": "deno run --quiet --unstable-kv --allow-all --env-file=.env " +
    `${PACKAGE}/move`,
  "test": "deno test -P --no-prompt",
  "check": "deno check",
  "tool": `deno run -A ${PACKAGE}/create tool`,
  "settings": `deno run -A ${PACKAGE}/create settings`,
  "skills": `deno run -A ${PACKAGE}/create skills`,
  "call": CALL,
  "list": "deno task --quiet call --list",
  "people": `${OPERATE} people`,
  "clients": `${OPERATE} clients`,
  "doctor": DOCTOR,
  "ci": "deno fmt --check && deno lint && deno task check && " +
    "deno task test && deno task settings --check && " +
    "deno task skills --check",
};

/** Lets every task import modules from a host, besides the registry. */
function importing(
  tasks: Readonly<Record<string, string>>,
  host: string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [
      name,
      task.replaceAll(
        /\bdeno (?:run|check|test|bundle)\b(?![^&]* (?:-A|--allow-all) )/g,
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

const WORKFLOW = `name: ci
on: [push, pull_request]
permissions:
  contents: read
jobs:
  ci:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: denoland/setup-deno@v2
        with:
          deno-version: v2.x
      - run: deno task ci
`;
