/**
 * `tool-server VERB …`, in a project `deno task ts VERB …`: one program for
 * everything on a command line. Each verb loads only what it needs.
 *
 * ```sh
 * deno task ts --help           # in a project, or in a clone
 * deno install --global --allow-all --name tool-server \
 *   --config deno.json packages/cli/mod.ts   # in a clone: by name
 * ```
 *
 * @module
 */
import { print } from "../call/standard_output.ts";

/**
 * A program of the package. It takes a command line and returns the exit code.
 */
type Main = (args: readonly string[]) => Promise<number>;

/**
 * The help text of a verb, its program, and the permissions that it keeps
 * besides network and environment. All by default, because SQLite copies a
 * database only if nothing is forbidden.
 */
type Verb = [
  words: string,
  load: () => Promise<Main>,
  keeps?: readonly ("read" | "write" | "run" | "sys" | "ffi")[],
];

/** Makes a program that inserts a word before the other arguments. */
const after = (word: string, { main }: { main: Main }): Main => (args) =>
  main([word, ...args]);
const create = (verb: string) => async () =>
  after(verb, await import("../create/mod.ts"));
const operate = (noun: string) => async () =>
  after(noun, await import("../operate/mod.ts"));
const isHelp = (arg?: string) => arg === "--help" || arg === "-h";
const list = async () => after("--list", await import("../call/mod.ts"));

async function cores(): Promise<Main> {
  const { main } = await import("../../src/core/process/cores.ts");
  const { WITH_PARENT } = await import("../../src/core/process/signals.ts");
  return (args) => {
    if (isHelp(args[0])) {
      print(`cores ${VERBS.cores[0]}, by default:\n  ${SERVER_COMMAND}`);
      return Promise.resolve(0);
    }
    return main([
      WITH_PARENT,
      ...args.length > 0 ? args : SERVER_COMMAND.split(" "),
    ]);
  };
}

/** The command that the verb `cores` of {@linkcode VERBS} runs by default. */
export const SERVER_COMMAND =
  "deno run --quiet -P --no-prompt --unstable-net " +
  "--env-file=.env main.ts";

const CALLS = ["read", "write", "run"] as const;
const OPERATES = ["read", "write", "sys"] as const;

/** The verbs, in the order in which `--help` lists them. */
export const VERBS: Readonly<Record<string, Verb>> = {
  call: [
    "NAME key=value …  call a tool",
    async () => (await import("../call/mod.ts")).main,
    CALLS,
  ],
  list: ["list tools, and with --all resources and prompts", list, CALLS],
  doctor: [
    "[URL]  examine a running server",
    async () => (await import("../doctor/mod.ts")).main,
    [],
  ],
  people: ["list, block, export or erase people", operate("people"), OPERATES],
  clients: ["list, end or block clients", operate("clients"), OPERATES],
  backup: [
    "DATABASE COPY  copy a database while servers run",
    async () => (await import("../operate/backup.ts")).main,
  ],
  restore: [
    "COPY DATABASE  put a copy back",
    async () => (await import("../operate/restore.ts")).main,
  ],
  move: [
    "FROM TO  move all records to another database",
    async () => (await import("../operate/move.ts")).main,
  ],
  cores: ["[COMMAND …]  run a server process for each core", cores],
  bundle: ["[--postgres]  write the server to dist/", create("bundle")],
  create: [
    "DIRECTORY  make a project",
    async () => (await import("../create/mod.ts")).main,
  ],
  tool: ["NAME  add a tool and its test", create("tool")],
  resource: ["NAME  add a resource and its test", create("resource")],
  prompt: ["NAME  add a prompt and its test", create("prompt")],
  import: [
    "SOURCE  make tools of an API's OpenAPI document",
    async () => (await import("../import/mod.ts")).main,
  ],
  settings: [
    "[--check|--all]  write what was declared, or print all settings",
    create("settings"),
  ],
  skills: ["[--check]  list the folders of skills/", create("skills")],
  add: [
    "docker|workflow  add what an image or a check of each push needs",
    create("add"),
  ],
  guide: [
    "print a project that shows all that a server can have",
    create("guide"),
  ],
  update: [
    "CLONE  take the package from a clone into vendor/",
    create("update"),
  ],
};

function help(): string {
  const width = Math.max(...Object.keys(VERBS).map((it) => it.length));
  const lines = Object.entries(VERBS).map(([name, [words]]) =>
    `  ${name.padEnd(width)}  ${words}`
  );
  return `tool-server VERB …   in a project: deno task ts VERB …

${lines.join("\n")}

VERB --help explains one. Addresses, keys and databases come from flags, the
environment and .env. Exit codes: 0 done, 1 failed, 2 the command line is wrong,
3 the server cannot be reached or refuses, 4 not signed in or not allowed, 5 a
question is unanswered, 130 Ctrl+C.`;
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || isHelp(name)) {
    print(help());
    return name === undefined ? 2 : 0;
  }
  if (!Object.hasOwn(VERBS, name)) {
    const { didYouMean } = await import("../call/failure.ts");
    const proposal = didYouMean(name, Object.keys(VERBS));
    console.error(
      `There is no verb ${JSON.stringify(name)}` +
        (proposal || ". --help lists them."),
    );
    return 2;
  }
  const [, load, keeps] = VERBS[name];
  const run = await load();
  // Gives up the permissions that the verb does not need.
  for (const name of ["read", "write", "run", "sys", "ffi"] as const) {
    if (keeps?.includes(name) === false) {
      await Deno.permissions.revoke({ name });
    }
  }
  return await run(rest);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
