/**
 * `deno task ts import SOURCE`: an API, or another source, becomes tools: files
 * that the author reads, changes and keeps.
 *
 * @module
 */
import { notUnderstood } from "../call/failure.ts";
import { print } from "../call/standard_output.ts";
import { harmless } from "../call/terminal.ts";
import { CreateError, UsageError } from "../create/files.ts";
import { printCount } from "../doctor/list_cost.ts";
import { ImportError, parseDocument, readSource } from "./document.ts";
import { diffOf } from "./imported_file.ts";
import { camelCase, isTaken, snakeCase } from "./names.ts";
import { mcpSource } from "./mcp.ts";
import { openApiSource } from "./openapi.ts";
import {
  MOST_AT_ONCE,
  pick,
  printItems,
  summary,
  tick,
  tokensOf,
} from "./picks.ts";
import { ImportProject, type NewFile } from "./project.ts";
import type { ImportItem, ImportSource } from "./source.ts";

const USAGE = `Usage: import SOURCE [--pick PATTERN …] [--as NAME]
SOURCE is a file or an address of an OpenAPI document (3.0, 3.1, 3.2, or Swagger
2.0), or the address of an MCP server that ends in /mcp. Writes services/NAME.ts,
and a file and a test for each tool; again, what the document has changed.

  --pick PATTERN   what to take: 'GET /invoices*', an operationId, a tool's name
  --as NAME        the name of the service; by default made of the title
  --url ADDRESS    the address of the API, where the document has none
  --list           only lists what is there
  --check          only compares: exit code 1 if the document has changed
  --take, --keep   what you and the document have changed: take the document's,
                   or keep yours`;

/** The choices of a command line. */
interface Flags {
  source: string;
  picks: string[];
  as?: string;
  url?: string;
  only?: "list" | "check";
  changed?: "take" | "keep";
}

/** Parses a command line. @throws {UsageError} */
export function parseFlags(args: readonly string[]): Flags {
  const flags: Partial<Flags> & { picks: string[] } = { picks: [] };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [flag, given] = /^(--\w+)=(.*)$/s.exec(arg)?.slice(1) ?? [arg];
    const value = () => {
      const found = given ?? rest.shift();
      if (found) return found;
      throw new UsageError(`${flag} wants a value.\n${USAGE}`);
    };
    if (flag === "--pick") flags.picks.push(value());
    else if (flag === "--as") flags.as = value();
    else if (flag === "--url") flags.url = value();
    else if (flag === "--list" || flag === "--check") {
      flags.only = flag.slice(2) as Flags["only"];
    } else if (flag === "--take" || flag === "--keep") {
      flags.changed = flag.slice(2) as Flags["changed"];
    } else if (arg.startsWith("-") || flags.source !== undefined) {
      throw new UsageError(notUnderstood(arg, USAGE));
    } else flags.source = arg;
  }
  if (flags.source === undefined) throw new UsageError(USAGE);
  return flags as Flags;
}

/** The part of a terminal that the command needs; a test gives its own. */
export interface ImportTerminal {
  print(text: string): void;
  /** Asks for a line; undefined if no one is there to answer. */
  ask?(question: string): string | null;
}

/** Opens a source. @throws {ImportError} */
export async function openSource(
  source: string,
  { url }: { url?: string } = {},
): Promise<ImportSource> {
  const server = URL.parse(source);
  if (
    /^https?:$/.test(server?.protocol ?? "") &&
    server!.pathname.endsWith("/mcp")
  ) {
    return await mcpSource(server!.href, await accessTo(server!.href));
  }
  const { text, address } = await readSource(source);
  return openApiSource(await parseDocument(text, source, address), { url });
}

/** Makes the way to an MCP server, to which the author signs in if need be. */
async function accessTo(url: string) {
  const { Access } = await import("../call/access.ts");
  const { KeptSignInFile, signInDirectory } = await import(
    "../call/kept_sign_in.ts"
  );
  const directory = signInDirectory((name) => Deno.env.get(name));
  return new Access({
    url,
    headers: {},
    file: directory === undefined
      ? undefined
      : await KeptSignInFile.of(directory, url),
    show: (address) => console.error(`Sign in here: ${harmless(address)}`),
    signal: AbortSignal.timeout(600_000),
  }).fetch;
}

/**
 * Runs the command in a folder, and returns its exit code.
 *
 * @throws {CreateError} with words for the author
 */
export async function importTools(
  flags: Flags,
  terminal: ImportTerminal,
  { root = ".", open = openSource }: {
    root?: string;
    open?: (source: string, flags: Flags) => Promise<ImportSource>;
  } = {},
): Promise<number> {
  const source = await open(flags.source, flags);
  if (flags.only === "list") {
    terminal.print(`${summary(source)}\n${printItems(source.items)}`);
    return 0;
  }
  const project = await ImportProject.open(root);
  const name = serviceName(flags.as ?? source.name);
  const there = [...project.files.values()]
    .filter(({ service, id }) => service === name && isTool(id));
  const known = new Map(source.items.map((item) => [item.id, item]));
  const gone = there.filter(({ id }) => !known.has(id));
  const before = there.flatMap(({ id }) => known.get(id) ?? []);
  const picked = flags.only === "check"
    ? []
    : choose(source, flags.picks, before.length > 0, terminal);
  const wanted = source.items.filter((item) =>
    before.includes(item) || picked.includes(item)
  );
  if (wanted.length === 0 && gone.length === 0) {
    throw new ImportError(
      flags.only === "check"
        ? `Nothing was imported as ${name}: add --as NAME, if it has another.`
        : "Nothing was picked.",
    );
  }
  const plan = await planOf(source, project, name, wanted, terminal);
  for (const { id, path } of gone) {
    terminal.print(
      `${path}: ${id} is not in the document any more. Delete it, ` +
        "its test and its line in the list, if you do not need it.",
    );
  }
  if (flags.only === "check") return report(plan, gone.length, terminal);
  const isOpen = await apply(plan, project, flags, terminal);
  const listed = plan.names.filter((name) => plan.isNew.has(name));
  if (listed.length > 0 && !await project.list(listed)) {
    terminal.print(
      `List ${listed.join(", ")} in ${project.path("tools", "mod.ts")}: its ` +
        "list was changed by hand.",
    );
  }
  const tokens = wanted.reduce((sum, item) => sum + (tokensOf(item) ?? 0), 0);
  terminal.print(
    `${wanted.length} tools of ${name}, about ${
      printCount(tokens)
    } tokens in ` +
      "each conversation.\nNext: read them, run deno task ts settings, and " +
      "deno task ci.",
  );
  return isOpen ? 1 : 0;
}

function isTool(id: string): boolean {
  return id !== "service" && !id.startsWith("test of ");
}

/** Makes the name of a service. @throws {UsageError} */
function serviceName(given: string): string {
  const name = snakeCase(given, 40);
  if (name !== "") return name;
  throw new UsageError(
    `--as must be letters, digits and _, with a letter first: got ${
      JSON.stringify(given)
    }.`,
  );
}

/** Finds what is to be imported besides what is there. @throws {ImportError} */
function choose(
  source: ImportSource,
  patterns: readonly string[],
  isAgain: boolean,
  terminal: ImportTerminal,
): readonly ImportItem[] {
  if (patterns.length > 0) return pick(source.items, patterns);
  if (isAgain) return [];
  terminal.print(summary(source));
  const usual = source.items.filter(({ isDeprecated }) => !isDeprecated);
  if (terminal.ask === undefined) {
    if (usual.length <= MOST_AT_ONCE) return usual;
    throw new ImportError(
      `${usual.length} tools are more than a model chooses from well. Name ` +
        `those you want: --pick ${
          JSON.stringify(usual[0].id)
        }. --list shows all.`,
    );
  }
  const ticked = new Set(usual.length <= MOST_AT_ONCE ? usual : []);
  terminal.print(printItems(source.items, ticked));
  while (true) {
    const answer = terminal.ask(
      `${ticked.size} are ticked. Numbers such as 1-3 7, a group, a pattern ` +
        "such as GET*; Enter takes them:",
    )?.trim();
    if (!answer) return [...ticked];
    const wrong = tick(source.items, ticked, answer);
    terminal.print(wrong ?? printItems([...ticked]));
  }
}

/** A file, and what is to be done with it. */
interface Step {
  file: NewFile;
  /** The text that is there, if there is one. */
  before?: string;
  kind: "new" | "same" | "changed" | "both changed";
}

interface Plan {
  steps: Step[];
  /** The names of the tools. */
  names: string[];
  isNew: ReadonlySet<string>;
}

/** Prints every file, and compares it with what is there. */
async function planOf(
  source: ImportSource,
  project: ImportProject,
  name: string,
  wanted: readonly ImportItem[],
  terminal: ImportTerminal,
): Promise<Plan> {
  const variable = camelCase(name, "api");
  const written = source.write({ name, variable }, wanted);
  const service = project.files.get(`${name} service`);
  const own = service?.path ?? project.path("services", `${name}.ts`);
  if (!service && await project.has(own)) {
    throw new ImportError(`${own} is there already: add --as NAME.`);
  }
  for (const note of written.notes) terminal.print(`Note: ${note}`);
  const drafts = [{
    path: own,
    service: name,
    id: "service",
    text: written.service,
  }];
  const names: string[] = [];
  const isNew = new Set<string>();
  for (const item of wanted) {
    const there = project.files.get(`${name} ${item.id}`);
    const tool = there
      ? there.path.replace(/^.*\/|\.ts$/g, "")
      : await freeName(item.name, name, names, project);
    try {
      const files = written.tool(item, tool);
      const place = (end: string) => project.path("tools", `${tool}${end}`);
      const test = project.files.get(`${name} test of ${item.id}`);
      drafts.push({
        path: there?.path ?? place(".ts"),
        service: name,
        id: item.id,
        text: files.tool,
      });
      // A test that the author has deleted stays away.
      if (test || !there) {
        drafts.push({
          path: test?.path ?? place("_test.ts"),
          service: name,
          id: `test of ${item.id}`,
          text: files.test,
        });
      }
      names.push(tool);
      if (!there) isNew.add(tool);
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      terminal.print(`${item.id} is left out: ${error.message}`);
    }
  }
  if (names.length === 0) {
    throw new ImportError("No tool can be made of these.");
  }
  const files = await project.formatted(drafts);
  return { steps: files.map((file) => stepOf(file, project)), names, isNew };
}

function stepOf(file: NewFile, project: ImportProject): Step {
  const there = project.files.get(`${file.service} ${file.id}`);
  if (!there) return { file, kind: "new" };
  const kind = there.fingerprint === file.fingerprint
    ? "same"
    : there.isChanged
    ? "both changed"
    : "changed";
  return { file, before: there.text, kind };
}

/** Finds a name of a tool whose file is not there yet. */
async function freeName(
  wanted: string,
  service: string,
  names: readonly string[],
  project: ImportProject,
): Promise<string> {
  const isFree = async (name: string) =>
    !names.includes(name) && !isTaken(camelCase(name, "")) &&
    !isTaken(name) && name !== service &&
    !await project.has(project.path("tools", `${name}.ts`)) &&
    !await project.has(project.path("tools", `${name}_test.ts`));
  if (await isFree(wanted)) return wanted;
  const own = `${wanted.slice(0, 60 - service.length)}_${service}`;
  for (let count = 1;; count++) {
    const name = count === 1 ? own : `${own}_${count}`;
    if (await isFree(name)) return name;
  }
}

/** Says what a check has found, and returns the exit code. */
function report(
  { steps }: Plan,
  gone: number,
  terminal: ImportTerminal,
): number {
  const changed = steps.filter(({ kind }) => kind !== "same" && kind !== "new");
  for (const { file, before } of changed) {
    terminal.print(
      `${file.path}: the document has changed\n${diffOf(before!, file.text)}`,
    );
  }
  if (changed.length + gone > 0) return 1;
  terminal.print("Nothing has changed.");
  return 0;
}

/** Writes the files. Returns true if a choice is left to the author. */
async function apply(
  { steps }: Plan,
  project: ImportProject,
  { changed }: Flags,
  terminal: ImportTerminal,
): Promise<boolean> {
  let isOpen = false;
  for (const { file, before, kind } of steps) {
    if (kind === "same") continue;
    if (kind !== "both changed") {
      await project.write(file);
      terminal.print(`${kind === "new" ? "Made" : "Changed"} ${file.path}`);
      continue;
    }
    terminal.print(
      `${file.path}: you and the document have changed it\n${
        diffOf(before!, file.text)
      }`,
    );
    const answer = changed ??
      (terminal.ask && (/^y/i.test(
          terminal.ask("Take the document's, without your changes? (y/N)") ??
            "",
        )
        ? "take"
        : "keep"));
    if (answer === "take") await project.write(file);
    // Written with the new fingerprint, so that the next import does not ask.
    else if (answer === "keep") await project.write({ ...file, text: before! });
    else isOpen = true;
  }
  if (isOpen) {
    terminal.print(
      "Say --take for the document's, or --keep for yours: nothing of these " +
        "was written.",
    );
  }
  return isOpen;
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    print(USAGE);
    return 0;
  }
  const isSeen = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  try {
    return await importTools(parseFlags(args), {
      print: (text) => print(harmless(text)),
      ...isSeen && { ask: (question) => prompt(question) },
    });
  } catch (error) {
    if (!(error instanceof CreateError)) throw error;
    console.error(harmless(error.message));
    return error instanceof UsageError ? 2 : 1;
  }
}
