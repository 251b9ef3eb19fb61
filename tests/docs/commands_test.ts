/**
 * The commands, settings and data of the documents.
 *
 * @module
 */
import {
  ACCOUNT_PRESETS,
  type AccountPreset,
} from "../../src/authoring/account_presets.ts";
import { account, accountSettings } from "../../src/authoring/oauth_account.ts";
import assert from "node:assert/strict";
import { load } from "js-yaml";
import { VERBS } from "../../packages/cli/mod.ts";
import { ADDABLE_FILES } from "../../packages/create/container_files.ts";
import { projectFiles } from "../../packages/create/project.ts";
import { groupSettings } from "../../src/core/settings/providers.ts";
import { SETTINGS_TABLE } from "../../packages/create/settings.ts";
import { REPOSITORY } from "../kit/process.ts";
import {
  type Block,
  isForUsers,
  isThere,
  type Page,
  readPages,
} from "./pages.ts";
import { type Command, parseShell } from "./shell.ts";

/** Programs that are not of this project, and of which no more is checked. */
const PROGRAMS = new Set(
  ("alias cd claude code codex cp curl date denokv docker echo export git install ln " +
    "mkdir node npm npx on-volume openssl pg_dump pg_restore printf prometheus psql " +
    "sha256sum sqlite3 " +
    "systemctl systemd-analyze umask").split(" "),
);

/** Variables of other programs, of a shell, and of tests and measurements. */
const OTHERS =
  /^(PROCESSES|TO_(KV_ACCESS_TOKEN|PGPASSWORD)|TOOL_SERVER_TOKEN|XDG_CONFIG_HOME|TOKEN|SECRET|PWD|NPM_CONFIG_REGISTRY|SSL_CERT_FILE|(HTTPS?|NO)_PROXY|DENO_\w+|OTEL_\w+|SERVER_URL|_HEADERS|_PROTOCOL)$/;

/** Folders whose files a command may name. */
const FOLDER = /^(bench|deploy|docs|examples|packages|scripts|src|tests)\//;

const { tasks: ownTasks } = JSON.parse(
  await Deno.readTextFile(new URL("deno.json", REPOSITORY)),
);
const project = {
  ...projectFiles({ name: "my-tools" }),
  ...await ADDABLE_FILES.docker(),
  ...await ADDABLE_FILES.workflow(),
};
const tasks: Record<string, string> = {
  ...JSON.parse(project["deno.json"]).tasks,
  ...ownTasks,
};

/** The help of `deno run`, for its flags. */
const help = await denoHelp("run", "--help=full");
const subcommands = await denoHelp("--help");

async function denoHelp(...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args,
    env: { NO_COLOR: "1" },
  }).output();
  return new TextDecoder().decode(stdout);
}

/** The names that follow a task: of verbs, suites and measurements. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  ts: Object.keys(VERBS),
  test: await namesIn("tests/run.ts"),
  bench: await namesIn("bench/bench.ts"),
};

/** Reads the members of the table in a program that runs one of them. */
async function namesIn(path: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(path, REPOSITORY));
  return [...text.matchAll(/^ {2}(\w+): [`"]/gm)].map(([, name]) => name);
}

/** Reads the sources next to the file that a task or a verb runs. */
async function sourcesOf(task: string, name?: string): Promise<string> {
  const verb = name !== undefined && task === tasks.ts && VERBS[name];
  const [, loaded] = /import\("\.\.\/(.+?)"\)/.exec(`${verb && verb[1]}`) ??
    [];
  const entry = verb
    ? `packages/${loaded}`
    : task.split(" ").findLast((word) => /\.ts$/.test(word)) ?? "main.ts";
  if (!FOLDER.test(entry)) return "";
  const folder = new URL(entry.replace(/[^/]*$/, ""), REPOSITORY);
  let text = "";
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".ts")) {
      text += await Deno.readTextFile(new URL(name, folder));
    }
  }
  return text;
}

/** Finds the faults of a command on a page. */
async function commandFaults(
  { assignments, program, args }: Command,
  page: Pick<Page, "blocks">,
): Promise<string[]> {
  const faults: string[] = [];
  for (const assignment of assignments) {
    const name = assignment.slice(0, assignment.indexOf("="));
    if (!isVariable(name)) faults.push(`${name} is no setting`);
  }
  for (const arg of args) {
    if (!FOLDER.test(arg) || /[*<$…]/.test(arg)) continue;
    if (!await isThere(arg) && project[arg] === undefined) {
      faults.push(`${arg} is not there`);
    }
  }
  if (program === "deno") faults.push(...await denoFaults(args, page));
  else if (program !== undefined && !PROGRAMS.has(program)) {
    faults.push(`${program} is no program of which these documents know`);
  }
  return faults;
}

async function denoFaults(
  [subcommand, ...args]: readonly string[],
  { blocks }: Pick<Page, "blocks">,
): Promise<string[]> {
  if (!new RegExp(`^ +${subcommand}\\b`, "m").test(subcommands)) {
    return [`deno has no ${subcommand}`];
  }
  if (subcommand === "task") {
    const [name, ...rest] = args.filter((arg, at) =>
      at > 0 || !/^(-q|--quiet)$/.test(arg)
    );
    if (tasks[name] === undefined) return [`there is no task ${name}`];
    const [first] = rest;
    const isNamed = first !== undefined && /^\w/.test(first);
    if (isNamed && NAMES[name] && !NAMES[name].includes(first)) {
      return [`the task ${name} has no ${first}`];
    }
    const flags = rest.filter((arg) => /^--\w/.test(arg));
    if (flags.length === 0) return [];
    // A suite and a measurement have flags of their own.
    if (isNamed && (name === "test" || name === "bench")) return [];
    const sources = await sourcesOf(tasks[name], first);
    return flags.map((flag) => flag.slice(2).replace(/=.*/s, ""))
      .filter((flag) => !sources.includes(flag))
      .map((flag) => `the task ${name} ${first} has no --${flag}`);
  }
  if (subcommand !== "run") return [];
  const script = args.findIndex((arg) => !arg.startsWith("-"));
  const flags = args.slice(0, script).filter((arg) => arg.startsWith("--"))
    .map((flag) => flag.replace(/=.*/s, ""));
  const faults = flags.filter((flag) =>
    flag !== "--quiet" && !help.includes(flag)
  )
    .map((flag) => `deno run has no ${flag}`);
  const path = args[script];
  const isKnown = /^(https:|jsr:|npm:)/.test(path) || path === "main.ts" ||
    path === "dist/main.js" || path.startsWith("/") ||
    blocks.some(({ file }) => file === path) ||
    await isThere(path) || await isThere(`packages/operate/${path}`);
  return isKnown ? faults : [...faults, `${path} is not there`];
}

/** True for a variable of the server, of an example, or of another program. */
function isVariable(name: string): boolean {
  return SETTINGS_TABLE.has(name) || OTHERS.test(name) ||
    declared.has(name) || isOfGroup(name) || isOfAccount(name);
}

/** True for a setting of one of several providers. */
function isOfGroup(name: string): boolean {
  const key = /^OAUTH_([A-Z0-9]+)_/.exec(name)?.[1].toLowerCase();
  return groupSettings({ OAUTH_PROVIDER: `${key},other` })
    .some((setting) => setting.name === name);
}

/** True for a setting of a service that `account()` knows, or a page declares. */
function isOfAccount(name: string): boolean {
  return [...Object.keys(ACCOUNT_PRESETS), ...accounts].some((service) =>
    Object.hasOwn(accountSettings(account(service as AccountPreset)), name)
  );
}

const pages = await readPages();

/** The variables that examples declare, or make up within a family. */
const declared = new Set(
  pages.flatMap(({ blocks }) => blocks)
    .filter(({ language }) => language === "ts" || language === "json")
    .flatMap(({ text }) =>
      text.match(/\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b/g) ?? []
    ),
);

/** The services of which pages declare accounts. */
const accounts = pages.flatMap(({ text }) =>
  [...text.matchAll(/\baccount\("([\w-]+)"/g)].map(([, name]) => name)
);

/** Collects the faults of blocks in some languages. */
async function faultsOf(
  languages: readonly string[],
  find: (block: Block, page: Page) => string[] | Promise<string[]>,
): Promise<string[]> {
  const faults: string[] = [];
  let count = 0;
  for (const page of pages) {
    for (const block of page.blocks) {
      if (!languages.includes(block.language)) continue;
      count++;
      for (const fault of await find(block, page)) {
        faults.push(`${block.page}:${block.line} ${fault}`);
      }
    }
  }
  assert(count > 0, `there is no block in ${languages}`);
  return faults;
}

Deno.test("commandFaults() finds what is not there", async () => {
  const faults = async (script: string) => {
    const found = parseShell(script).map((command) =>
      commandFaults(command, { blocks: [] })
    );
    return (await Promise.all(found)).flat();
  };
  assert.deepEqual(
    await faults(`BASE_ULR=x deno task nope # "a comment
      deno run --allow-nothing main.ts && deno task ts doctor --stoer claude; deno task ts doktor
      deno run -A examples/none.ts; deno fly; rn x | cp deploy/none /etc`),
    [
      "BASE_ULR is no setting",
      "there is no task nope",
      "deno run has no --allow-nothing",
      "the task ts doctor has no --stoer",
      "the task ts has no doktor",
      "examples/none.ts is not there",
      "examples/none.ts is not there",
      "deno has no fly",
      "rn is no program of which these documents know",
      "deploy/none is not there",
    ],
  );
  assert.deepEqual(
    await faults(`PORT=1 deno run --allow-net=127.0.0.1 \\
      main.ts; (umask 077; deno task -q ts doctor "a b" --store=claude)`),
    [],
  );
});

Deno.test("every command of the documents is there, with its files and flags", async () => {
  const faults = await faultsOf(["sh"], async ({ text }, page) => {
    const found = parseShell(text).map((command) =>
      commandFaults(command, page)
    );
    return (await Promise.all(found)).flat();
  });
  assert.deepEqual(faults, []);
});

Deno.test("every line of an environment in the documents sets a setting", async () => {
  const faults = await faultsOf(
    ["env"],
    ({ text }) =>
      text.replaceAll(/"[^"]*"/g, "").trim().split("\n")
        .filter((line) => !isVariable(/^([A-Z_]+)=/.exec(line)?.[1] ?? line)),
  );
  assert.deepEqual(faults, []);
});

Deno.test("the JSON and YAML of the documents can be read", async () => {
  const json = await faultsOf(["json"], ({ text }) => {
    // A log is an event a line.
    const isLog = text.startsWith('{"@timestamp"');
    return (isLog ? text.trim().split("\n") : [text]).flatMap((it) =>
      faultOf(() => JSON.parse(it))
    );
  });
  const yaml = await faultsOf(
    ["yaml"],
    ({ text }) => faultOf(() => load(text)),
  );
  assert.deepEqual([...json, ...yaml], []);
});

function faultOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    return [`${(error as Error).message}`];
  }
}

Deno.test("every language of a block is one that is checked, or known not to be", () => {
  const known = "ts js sh sql env json yaml html md promql text".split(" ");
  const unknown = pages.filter(isForUsers).flatMap(({ blocks }) => blocks)
    .filter(({ language }) => !known.includes(language));
  assert.deepEqual(unknown.map(({ page, line }) => `${page}:${line}`), []);
});

Deno.test("docs/postgres.md makes the role and the database as deploy/postgres.sql does", async () => {
  const file = await Deno.readTextFile(
    new URL("deploy/postgres.sql", REPOSITORY),
  );
  const statements = file.split("\n")
    .filter((line) => /^([a-z]|\\connect)/.test(line)).join("\n");
  const { blocks } = pages.find(({ path }) => path === "docs/postgres.md")!;
  const [made] = blocks.filter(({ language }) => language === "sql");
  assert.equal(made.text.trim(), statements);
});

Deno.test("every setting that the documents name is one", () => {
  const faults = pages.filter(isForUsers).flatMap(({ path, prose }) =>
    [...prose.matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b[^`]*`/g)]
      .filter(([, name]) => !isVariable(name))
      .map(([, name]) => `${path}: ${name}`)
  );
  assert.deepEqual(faults, []);
});

Deno.test("every event that docs/operate.md lists is one of the log", async () => {
  const { text } = pages.find(({ path }) => path === "docs/operate.md")!;
  const [, table] = /^## Events to know\n([^]*?)^## /m.exec(text)!;
  const events = [...table.matchAll(/^\| `(.+?)` +\|/gm)]
    .map(([, event]) => event);
  assert(events.length > 10);
  const code = (await Array.fromAsync(sources("src/"))).join("");
  assert.deepEqual(events.filter((it) => !code.includes(`"${it}`)), []);
});

/** Reads the TypeScript of a folder. */
async function* sources(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, REPOSITORY))) {
    const path = folder + entry.name;
    if (entry.isDirectory) yield* sources(`${path}/`);
    else if (/\.tsx?$/.test(path)) {
      yield await Deno.readTextFile(new URL(path, REPOSITORY));
    }
  }
}
