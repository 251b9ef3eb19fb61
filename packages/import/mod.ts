/**
 * `deno task ts import SOURCE`: an API, or another source, becomes tools: files
 * that the author reads, changes and keeps.
 *
 * @module
 */
import { dirname, relative } from "node:path/posix";
import type { parseArgs } from "node:util";
import { print } from "../call/standard_output.ts";
import { terminalSafe } from "../call/terminal.ts";
import { isSystemError, parseOptions } from "../call/program.ts";
import { Exit, Failure, usageFailure } from "../call/failure.ts";
import { reserveProject } from "../create/files.ts";
import { countText } from "../doctor/list_cost.ts";
import { ImportError } from "./document.ts";
import { GivenToken } from "./given_token.ts";
import { withFullStop } from "./operations.ts";
import {
  diffOf,
  hasApproval,
  type ImportedFile,
  importPath,
  printImported,
  toolNameIn,
} from "./imported_file.ts";
import { snakeCase, TEST } from "./names.ts";
import { openSource } from "./open_source.ts";
import {
  costOf,
  findPicked,
  itemsToChoose,
  MAX_UNCHOSEN_ITEMS,
  printItems,
  sourceSummary,
  toggleItems,
} from "./picks.ts";
import { ImportProject, sayAnotherSource, TEST_OF } from "./project.ts";
import { givenAddress } from "./servers.ts";
import type { ImportItem, ImportSource } from "./source.ts";

const USAGE = `Usage: import SOURCE [--pick PATTERN … | --all] [--as NAME]
              [--url ADDRESS] [--list | --check] [--take | --keep]
SOURCE is a file or an address of an OpenAPI document (3.0, 3.1, 3.2, or Swagger
2.0), or the address of an MCP server that ends in /mcp. Writes services/NAME.ts,
and a file and a test for each tool. Run again, it takes what has changed there.

  --pick PATTERN   what to take: 'GET /invoices*', an operationId, a tool's name
  --all            takes all that is not deprecated, at most ${MAX_UNCHOSEN_ITEMS}
  --as NAME        the name of the service; by default made of the title
  --url ADDRESS    the address of the API, where the document has none
  --token TOKEN    of an MCP server; without it you sign in by a browser
  --no-browser     waits for that sign-in also where no terminal is
  --list           only lists what is there
  --check          only compares: exit code 1 for changes, 2 if nothing was read
  --take, --keep   of what both have changed: take the document's, or keep yours`;

const OPTIONS = {
  pick: { type: "string", multiple: true },
  as: { type: "string" },
  url: { type: "string" },
  token: { type: "string" },
  "no-browser": { type: "boolean" },
  all: { type: "boolean" },
  list: { type: "boolean" },
  check: { type: "boolean" },
  take: { type: "boolean" },
  keep: { type: "boolean" },
} as const;

/** The options of a command line. */
type Flags =
  & { source: string }
  & ReturnType<
    typeof parseArgs<{ options: typeof OPTIONS }>
  >["values"];

/** Parses a command line. @throws {Failure} */
export function parseFlags(args: readonly string[]): Flags {
  const { values, positionals: [source, ...more] } = parseOptions(
    args,
    OPTIONS,
  );
  for (const [one, other] of [["list", "check"], ["take", "keep"]] as const) {
    if (!values[one] || !values[other]) continue;
    throw usageFailure(`Choose one of --${one} and --${other}.`);
  }
  if (source === undefined) throw usageFailure(USAGE);
  if (more.length === 0) return { ...values, source };
  const quotes = values.pick
    ? ' A pattern with spaces is in quotes: --pick "GET /invoices*".'
    : "";
  throw usageFailure(`Not understood: ${more.join(" ")}.${quotes}\n${USAGE}`);
}

/** The part of a terminal that the command needs. A test passes its own. */
export interface ImportTerminal {
  print(text: string): void;
  /** Asks for a line. Undefined if no one can answer. */
  ask?(question: string): string | null;
}

/**
 * Runs the command in a folder, and returns its exit code.
 *
 * @throws {import("../create/files.ts").CreateError} with a message for the
 * author
 */
export async function importTools(
  flags: Flags,
  given: ImportTerminal,
  { root = ".", open = openSource }: {
    root?: string;
    open?: typeof openSource;
  } = {},
): Promise<number> {
  const { token, "no-browser": hasPerson } = flags;
  const secret = new GivenToken(token);
  const terminal = secret.hiddenAt(given);
  const opened = await secret.opened(open(flags.source, { token, hasPerson }));
  const isReading = flags.check || flags.list;
  await using _reserved = isReading ? undefined : await reserveProject(root);
  const project = await ImportProject.open(root, flags.list);
  if (!isReading) await project.removeUnfinished();
  const address = flags.url && givenAddress(flags.url, opened, terminal.print);
  const before = flags.as === undefined
    ? project.serviceOf(opened.name, address ?? opened.address, isReading)
    : project.files.get(`${serviceName(flags.as)} service`);
  const name = before?.service ?? serviceName(flags.as ?? opened.name);
  const url = address ?? before?.url;
  const source = { ...opened, items: project.named(opened.items, name) };
  if (flags.list) {
    const items = itemsToChoose(source, flags.pick, url);
    terminal.print(
      `${sourceSummary({ ...source, items })}\n${printItems(items)}`,
    );
    return 0;
  }
  const there = [...project.files.values()]
    .filter(({ service, id }) => service === name && id !== "service");
  const known = new Map(source.items.map((item) => [item.id, item]));
  const gone = there.filter(({ id }) => !known.has(id) && !TEST_OF.test(id));
  // A test without its tool comes from an import that was cut off.
  const had = there
    .flatMap(({ id }) => known.get(id.replace(TEST_OF, "$1")) ?? []);
  const isOther = gone.length > 0 && had.length === 0;
  if (before && isOther && flags.as === undefined && !flags.check) {
    throw usageFailure(sayAnotherSource(before, "has none of its tools"));
  }
  const more = flags.check
    ? []
    : choose(source, flags, had.length > 0, url, terminal);
  if (more === undefined) return 2;
  const wanted = source.items.filter((item) =>
    had.includes(item) || more.includes(item)
  );
  if (wanted.length === 0 && gone.length === 0) {
    throw usageFailure(
      flags.check
        ? `Nothing was imported as ${name}: add --as NAME, if it has another.`
        : "Nothing was picked, and nothing was written.",
    );
  }
  const plan = await planOf(source, project, { name, url }, wanted, terminal);
  secret.check(plan.steps.map(({ file }) => file));
  for (const { id, path } of gone) {
    terminal.print(
      `${path}: ${id} is not in the document any more. Delete it, ` +
        "its test and its line in the list. To keep it as your own, delete " +
        "the first line of both files.",
    );
  }
  const { made, isPersonal } = plan;
  const path = project.path("tools", "mod.ts");
  const absent = (await project.absent())
    .filter((it) => !plan.names.includes(it.replace(/\.ts$/, "")));
  for (const it of absent) {
    terminal.print(`${path} imports ${it}, which is not there.`);
  }
  if (flags.check) {
    const { unlisted, list } = await project.listed(plan.names);
    const left = list ? unlisted : [];
    if (left.length > 0) terminal.print(`${path} lacks ${left.join(", ")}.`);
    const lost = gone.length + wanted.length - made.length + left.length +
      absent.length;
    return report(plan, lost, terminal);
  }
  if (made.length === 0) {
    throw new ImportError(
      "Nothing was written: no tool can be made of what was picked.",
    );
  }
  const isDecided = flags.take || flags.keep;
  const picked = isDecided && flags.pick ? more : undefined;
  const isOpen = await apply(plan, project, flags, terminal, picked);
  // The author may have changed the list before answering the questions.
  const { unlisted, list } = await project.listed(plan.names);
  if (list) await project.write(list, list.text);
  else if (unlisted.length > 0) {
    const names = unlisted.join(", ");
    terminal.print(`List ${names} in ${path}: its list was changed by hand.`);
  }
  const [cost, count] = [costOf(made), countText(made.length, "tool")];
  terminal.print(
    `${count} of ${name}, about ${cost} tokens in each conversation.\nNext: ` +
      "read them, run deno task ts settings, deno fmt, and deno task ci." +
      (isPersonal ? " Set SECRETS_KEYS: people connect there." : ""),
  );
  const named = (flags.pick ?? []).filter((it) => !it.includes("*"));
  const isLeftOut = findPicked(source.items, named).some((it) =>
    !made.includes(it)
  );
  return isOpen || isLeftOut ? 1 : 0;
}

/** Makes the name of a service. @throws {Failure} */
function serviceName(given: string): string {
  const name = snakeCase(given, 40).replace(TEST, "$1api");
  if (name !== "") return name;
  const got = JSON.stringify(given);
  throw usageFailure(
    `--as must be letters, digits and _, with a letter first: got ${got}.`,
  );
}

/**
 * Finds the new items to import. Undefined if the author has not chosen any.
 *
 * @throws {ImportError | Failure}
 */
function choose(
  source: ImportSource,
  { pick = [], all }: Flags,
  isAgain: boolean,
  url: string | undefined,
  terminal: ImportTerminal,
): readonly ImportItem[] | undefined {
  if (pick.length > 0) return findPicked(source.items, pick);
  if (isAgain && !all) return [];
  // In a terminal, what is ticked decides which of them can become tools.
  const items = terminal.ask && !all
    ? source.items
    : itemsToChoose(source, undefined, url);
  terminal.print(sourceSummary({ ...source, items }));
  const usual = source.items.filter(({ isDeprecated }) => !isDeprecated);
  const { id = "GET *" } = usual[0] ?? source.items[0] ?? {};
  const example = `--pick ${JSON.stringify(id)}`;
  if (all) {
    if (usual.length === 0) {
      throw usageFailure(
        source.items.length === 0
          ? "Nothing of it can become a tool."
          : `All of it is deprecated: name what you want, as ${example}.`,
      );
    }
    if (usual.length <= MAX_UNCHOSEN_ITEMS) return usual;
    throw new ImportError(
      `${usual.length} tools are more than a model chooses from well. Name ` +
        `those you want: ${example}. --list shows all.`,
    );
  }
  if (terminal.ask === undefined) {
    terminal.print(
      `${printItems(items)}\nNothing was written. Add what to take: ` +
        `${example}, or --all.`,
    );
    return undefined;
  }
  const ticked = new Set<ImportItem>();
  terminal.print(printItems(source.items, ticked));
  while (true) {
    const answer = terminal.ask(
      `${ticked.size} ticked. Numbers such as 1-3 7, a group or a pattern ` +
        "such as GET* tick, or untick what is ticked; Enter takes them:",
    )?.trim();
    if (!answer) return [...ticked];
    const wrong = toggleItems(source.items, ticked, answer);
    terminal.print(wrong ?? printItems([...ticked]));
  }
}

/** A file, and the change to make to it. */
interface Step {
  file: ImportedFile;
  /** The present text of the file, if it exists. */
  before?: string;
  kind: "new" | "same" | "changed" | "both changed";
  /**
   * True if calls of the tool would no longer wait for a person's approval. The
   * author has to confirm that, because another MCP server may call a tool
   * harmless that deletes.
   */
  losesApproval: boolean;
}

interface Plan {
  steps: Step[];
  /** The items that become tools. */
  made: readonly ImportItem[];
  /** The names of these tools. */
  names: readonly string[];
  /** True if people connect their own accounts. */
  isPersonal: boolean;
}

/** Generates every file, and compares it with the existing one. */
async function planOf(
  source: ImportSource,
  project: ImportProject,
  { name, url }: { name: string; url?: string },
  wanted: readonly ImportItem[],
  terminal: ImportTerminal,
): Promise<Plan> {
  const { path: own, variable } = project.place(name);
  const isChosen = name !== serviceName(source.name);
  const written = source.write({ name, variable, url, isChosen }, wanted);
  if (!project.files.has(`${name} service`) && project.has(own)) {
    throw new ImportError(`${own} is there already: add --as NAME.`);
  }
  project.checkSettings(own, written.service);
  for (const note of written.notes) terminal.print(`Note: ${note}`);
  const drafts: Omit<ImportedFile, "fingerprint">[] = [{
    path: own,
    service: name,
    id: "service",
    source: source.name,
    own: source.address,
    ...url !== undefined && { url },
    text: written.service,
  }];
  const add = (id: string, path: string, text: string) => {
    const from = importPath(path, own);
    const there = text.replace(`"../services/${name}.ts"`, `"${from}"`);
    drafts.push({ path, service: name, id, text: there });
  };
  const made: ImportItem[] = [];
  const names: string[] = [];
  const losing = new Set<string>();
  for (const item of wanted) {
    const there = project.files.get(`${name} ${item.id}`);
    const test = project.files.get(`${name} test of ${item.id}`);
    const folder = test ? dirname(test.path) : project.path("tools");
    const path = there?.path ?? `${folder}/${item.name}.ts`;
    try {
      // The author may have renamed the tool, its file, or both.
      const tool = toolNameIn(there?.text ?? "") ?? item.name;
      const files = written.tool(item, tool);
      for (const it of files.notes) terminal.print(`Note: ${item.id} ${it}`);
      if (there && hasApproval(there.text) && !files.isApproved) {
        losing.add(item.id).add(`test of ${item.id}`);
      }
      // The test comes first: if the import is cut off, the next import finds
      // the test, but makes no test that the author has deleted.
      if (test || !there) {
        const own = test?.path ?? path.replace(/\.ts$/, "_test.ts");
        const from = importPath(own, path);
        const text = files.test.replace(`"./${tool}.ts"`, `"${from}"`);
        add(`test of ${item.id}`, own, text);
      }
      add(item.id, path, files.tool);
      made.push(item);
      names.push(relative(project.path("tools"), path).replace(/\.ts$/, ""));
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      terminal.print(`${item.id} is left out: ${error.message}`);
    }
  }
  const files = await project.formatted(drafts);
  const steps = files.map((file) => stepOf(file, project, losing.has(file.id)));
  return { steps, made, names, isPersonal: written.isPersonal };
}

function stepOf(
  file: ImportedFile,
  project: ImportProject,
  losesApproval: boolean,
): Step {
  const there = project.files.get(`${file.service} ${file.id}`);
  if (!there) return { file, kind: "new", losesApproval };
  const kind = there.fingerprint === file.fingerprint
    ? "same"
    : losesApproval || project.isChanged(there)
    ? "both changed"
    : "changed";
  return { file, before: there.text, kind, losesApproval };
}

/** Reports the result of a check, and returns the exit code. */
function report(
  { steps }: Plan,
  gone: number,
  terminal: ImportTerminal,
): number {
  const changed = steps.filter(({ kind }) => kind !== "same");
  for (const { file, before } of changed) {
    const what = before === undefined
      ? " is missing"
      : ": the document has changed. It would change your file so:\n" +
        diffOf(before, file.text);
    terminal.print(file.path + what);
  }
  if (changed.length + gone > 0) return 1;
  terminal.print("Nothing has changed.");
  return 0;
}

/**
 * Writes the files. Returns true if the author still has to choose between two
 * texts.
 *
 * @param picked the only items of which an existing file is changed
 */
async function apply(
  { steps }: Plan,
  project: ImportProject,
  { take, keep }: Flags,
  terminal: ImportTerminal,
  picked?: readonly ImportItem[],
): Promise<boolean> {
  const open: string[] = [];
  const others: string[] = [];
  for (const { file, before, kind, losesApproval } of steps) {
    const id = file.id.replace(TEST_OF, "$1");
    const isOther = picked && !picked.some((item) => item.id === id);
    // The service serves what is picked too.
    const isLeft = isOther && (id !== "service" || kind === "both changed");
    if (isLeft && kind !== "same") {
      others.push(file.path);
      continue;
    }
    if (kind === "same") {
      // The source may have another address now, which is only in the first
      // line.
      const there = { ...file, text: before! };
      if (file.id === "service") {
        await project.write(there, printImported(there));
      }
      continue;
    }
    if (kind !== "both changed") {
      await project.write(file, printImported(file));
      terminal.print(`${kind === "new" ? "Made" : "Changed"} ${file.path}`);
      continue;
    }
    const what = losesApproval
      ? "no person would approve its calls any more"
      : "you and the document have changed it";
    terminal.print(`${file.path}: ${what}\n${diffOf(before!, file.text)}`);
    if (!take && !keep && terminal.ask === undefined) {
      open.push(file.path);
      continue;
    }
    const question = "Take the document's, without your changes? (y/N)";
    const isTaken = take ||
      !keep && /^y/i.test(terminal.ask?.(question) ?? "");
    // The text is written with the new fingerprint, so that the next import
    // does not ask again. The author may have changed it since the question.
    const text = isTaken
      ? file.text
      : (await project.imported(file.path))?.text;
    if (text !== undefined) {
      await project.write(file, printImported({ ...file, text }));
    }
    terminal.print(`${isTaken ? "Changed" : "Kept"} ${file.path}`);
  }
  if (open.length > 0) {
    terminal.print(
      `Not written: ${open.join(", ")}. Add --take for the document's, or ` +
        "--keep for yours.",
    );
  }
  if (others.length > 0) {
    terminal.print(`Not picked, and left as they are: ${others.join(", ")}.`);
  }
  return open.length > 0;
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
      print: (text) => print(terminalSafe(text)),
      ...isSeen && { ask: (question) => prompt(question) },
    });
  } catch (error) {
    const isCheck = args.includes("--check");
    const isKnown = error instanceof Failure || isSystemError(error);
    if (!isKnown && !isCheck) throw error;
    const words = isKnown ? error.message : Deno.inspect(error);
    console.error(
      terminalSafe(words.includes("\n") ? words : withFullStop(words)),
    );
    if (isCheck) return 2;
    return error instanceof Failure ? error.exitCode : Exit.failed;
  }
}
