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

/** A program of the package. It returns the exit code. */
type Main = (args: readonly string[]) => Promise<number>;

interface Verb {
  words: string;
  load(): Promise<Main>;
  /**
   * The permissions that it keeps, besides network and environment; by default
   * all: SQLite copies a database only where nothing is forbidden.
   */
  keeps?: readonly ("read" | "write" | "run" | "sys" | "ffi")[];
}

const create = (verb: string) => async (): Promise<Main> => {
  const { main } = await import("../create/mod.ts");
  return (args) => main([verb, ...args]);
};

const operate = (noun: string) => async (): Promise<Main> => {
  const { main } = await import("../operate/mod.ts");
  return (args) => main([noun, ...args]);
};

function isHelp(args: readonly string[]): boolean {
  return args.some((arg) => arg === "--help" || arg === "-h");
}

/** The command that {@linkcode VERBS} `cores` runs where none is given. */
export const SERVER = "deno run --quiet -P --no-prompt --unstable-net " +
  "--env-file=.env main.ts";

const CALLS = ["read", "write", "run"] as const;
const OPERATES = ["read", "write", "sys"] as const;

/** The verbs, in the order in which `--help` lists them. */
export const VERBS: Readonly<Record<string, Verb>> = {
  call: {
    words: "NAME key=value …  call a tool",
    load: async () => (await import("../call/mod.ts")).main,
    keeps: CALLS,
  },
  list: {
    words: "list tools, and with --all resources and prompts",
    load: async () => {
      const { main } = await import("../call/mod.ts");
      // `--list` is left out for help, which is that of `call`.
      return (args) => main(isHelp(args) ? ["--help"] : ["--list", ...args]);
    },
    keeps: CALLS,
  },
  doctor: {
    words: "[URL]  examine a running server",
    load: async () => (await import("../doctor/mod.ts")).main,
    keeps: [],
  },
  people: {
    words: "list, block, export or erase people",
    load: operate("people"),
    keeps: OPERATES,
  },
  clients: {
    words: "list, end or block clients",
    load: operate("clients"),
    keeps: OPERATES,
  },
  backup: {
    words: "DATABASE COPY  copy a database while servers run",
    load: async () => (await import("../operate/backup.ts")).main,
  },
  restore: {
    words: "COPY DATABASE  put a copy back",
    load: async () => (await import("../operate/restore.ts")).main,
  },
  move: {
    words: "FROM TO  move all records to another database",
    load: async () => (await import("../operate/move.ts")).main,
  },
  cores: {
    words: "[COMMAND …]  run a server process for each core",
    load: async () => {
      const { main } = await import("../../src/core/process/cores.ts");
      const { WITH_PARENT } = await import("../../src/core/process/signals.ts");
      return (args) =>
        main([WITH_PARENT, ...args.length > 0 ? args : SERVER.split(" ")]);
    },
  },
  bundle: {
    words: "[--postgres]  write the server to dist/",
    load: create("bundle"),
  },
  create: {
    words: "DIRECTORY  make a project",
    load: async () => (await import("../create/mod.ts")).main,
  },
  tool: { words: "NAME  add a tool and its test", load: create("tool") },
  resource: {
    words: "NAME  add a resource and its test",
    load: create("resource"),
  },
  prompt: { words: "NAME  add a prompt and its test", load: create("prompt") },
  settings: {
    words: "[--check|--all]  write what was declared, or print all settings",
    load: create("settings"),
  },
  skills: {
    words: "[--check]  list the folders of skills/",
    load: create("skills"),
  },
  add: {
    words: "docker|workflow  add what an image or a check of each push needs",
    load: create("add"),
  },
  guide: {
    words: "print a project that shows all that a server can have",
    load: create("guide"),
  },
  update: {
    words: "CLONE  take the package from a clone into vendor/",
    load: create("update"),
  },
};

/** Lists the verbs. */
function help(): string {
  const width = Math.max(...Object.keys(VERBS).map((it) => it.length));
  const lines = Object.entries(VERBS).map(([name, { words }]) =>
    `  ${name.padEnd(width)}  ${words}`
  );
  return `tool-server VERB …   in a project: deno task ts VERB …

${lines.join("\n")}

VERB --help explains one. Addresses, keys and databases come from flags, the
environment and .env. Exit codes: 0 done, 1 failed, 2 the command line is wrong,
3 the server cannot be reached or refuses, 4 not signed in or not allowed, 5 a
question is unanswered, 130 Ctrl+C.`;
}

/** Gives up the permissions that a verb has no use for. */
async function drop({ keeps }: Verb): Promise<void> {
  if (keeps === undefined) return;
  for (const name of ["read", "write", "run", "sys", "ffi"] as const) {
    if (!keeps.includes(name)) await Deno.permissions.revoke({ name });
  }
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
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
  const verb = VERBS[name];
  const run = await verb.load();
  await drop(verb);
  return await run(rest);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
