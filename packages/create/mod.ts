/**
 * Makes a project, and adds to it:
 *
 * ```sh
 * deno run -A packages/create/mod.ts ../NAME         # in a clone: a new project
 * deno create jsr:@tool-server/tool-server -- NAME   # with the published package
 * deno task ts tool NAME                             # in a project: one more tool
 * ```
 *
 * @module
 */
import { bundle } from "./bundle.ts";
import { ADDABLE_FILES } from "./container_files.ts";
import {
  definitionFiles,
  emptyList,
  type Kind,
  listDefinition,
  parseDefinitionName,
  serveList,
} from "./definition_files.ts";
import {
  CreateError,
  exists,
  explainMissing,
  formatFiles,
  initializeGit,
  readServer,
  replaceFile,
  reserveProject,
  writeFiles,
} from "./files.ts";
import { guide } from "./guide.ts";
import { copyPackage, isClone, updatePackage } from "./package_files.ts";
import { parseProjectName, projectFiles } from "./project.ts";
import {
  didYouMean,
  Exit,
  unknownWordFailure,
  usageFailure,
} from "../call/failure.ts";
import { runProgram } from "../call/program.ts";
import { print } from "../call/standard_output.ts";
import { updateSettings } from "./settings.ts";
import { updateSkills } from "./skills.ts";
import { findPackageCopy, VENDOR_FOLDER } from "./source.ts";

const USAGE = `Usage:
  create DIRECTORY           a new project in that directory
In a project, or in a clone:
  tool|resource|prompt NAME  one more, with its test, listed and served
In a project:
  settings [--check|--all]   writes .env.example and the permissions in
                             deno.json from what is declared; --check only
                             compares, --all prints every setting there is
  skills [--check]           writes skills/mod.ts from the folders in skills/
  add docker|workflow        writes a Dockerfile, or a workflow for GitHub
  bundle [--postgres]        writes dist/main.js; --postgres what a bundle needs
                             for a KV_PATH that is a postgres:// address
  guide                      prints a whole small project
  update CLONE               takes the package of a clone into ${VENDOR_FOLDER}/`;

/** The flags of all commands. */
const FLAGS = USAGE.match(/--[a-z]+/g)!;

async function run(args: readonly string[]): Promise<void> {
  const [command, name] = args;
  /**
   * Returns the second argument, which must be one of the flags. Undefined if
   * there is none.
   */
  const flag = (...flags: string[]): string | undefined => {
    if (args.length < 2) return undefined;
    if (args.length === 2 && flags.includes(name)) return name;
    throw unknownWordFailure(args.slice(1).join(" "), flags);
  };
  const needed = (word = name, count = 2): string => {
    if (word?.startsWith("-")) throw unknownWordFailure(word, FLAGS);
    if (args.length === count) return word;
    throw usageFailure("One name is needed.");
  };
  switch (command) {
    case undefined:
      throw usageFailure("Name a directory, or a command.");
    case "tool":
    case "resource":
    case "prompt":
      return await addDefinition(command, needed());
    case "settings": {
      const given = flag("--check", "--all");
      return await updateSettings({
        isCheck: given === "--check",
        isAll: given === "--all",
      });
    }
    case "skills":
      return await updateSkills({ isCheck: flag("--check") !== undefined });
    case "bundle":
      return await bundle({ postgres: flag("--postgres") !== undefined });
    case "guide":
      flag();
      return print(guide().trimEnd());
    case "add":
      return await addFiles(needed());
    case "update":
      return await update(needed());
    default:
      return await createProject(needed(command, 1));
  }
}

async function createProject(directory: string): Promise<void> {
  const name = parseProjectName(directory);
  const path = directory.replace(/[/\\]+$/, "");
  if (await hasContent(path)) {
    throw new CreateError(
      `${path} is not empty. Use another name, or empty it first.`,
    );
  }
  await Deno.mkdir(path, { recursive: true });
  const root = await Deno.realPath(path);
  const source = await findPackageCopy();
  if (source.root !== undefined) {
    await copyPackage(source.root, `${root}/${VENDOR_FOLDER}`);
  }
  await writeFiles(root, projectFiles({ name, source }));
  await formatFiles(root);
  await initializeGit(root);
  // In a project with Node only, tasks are called in the way in which this
  // program was called.
  const task = Deno.env.get("npm_command") === "exec"
    ? "npx -y deno task"
    : "deno task";
  print(`Made ${path}. Next:\n
  cd ${path}
  ${task} dev                     # serves http://127.0.0.1:3000/mcp
  ${task} ts call greet name=Ada  # in another terminal
  ${task} ts tool NAME            # adds a tool and its test
  ${task} ci                      # checks everything`);
}

/** True if the directory has anything but an empty repository. */
async function hasContent(directory: string): Promise<boolean> {
  if (!await exists(directory)) return false;
  const { isDirectory } = await Deno.stat(directory);
  if (!isDirectory) return true;
  for await (const { name } of Deno.readDir(directory)) {
    if (name !== ".git") return true;
  }
  return false;
}

/**
 * Adds a definition of a kind, its test, and its entry in the module that lists
 * it.
 */
async function addDefinition(kind: Kind, given: string): Promise<void> {
  const name = parseDefinitionName(kind, given);
  await using _reserved = await reserveProject();
  const server = await readServer();
  const folder = await isClone(".") ? `src/${kind}s` : `${kind}s`;
  const files = definitionFiles(kind, name, folder);
  for (const path of Object.keys(files)) {
    if (await exists(path)) throw new CreateError(`${path} exists already.`);
  }
  const path = `${folder}/mod.ts`;
  const isListed = await exists(path);
  const list = isListed ? await Deno.readTextFile(path) : emptyList(kind);
  const listed = listDefinition(kind, list, name);
  const served = isListed ? server : serveList(kind, server);
  await writeFiles(".", files);
  if (listed !== undefined) await replaceFile(path, listed);
  else print(`List it in ${path}: its list was changed by hand.`);
  if (served === undefined) {
    print(`Serve the list of ${path} in server.ts, which was changed by hand.`);
  } else if (served !== server) await replaceFile("server.ts", served);
  await formatFiles(".", [...Object.keys(files), path, "server.ts"]);
  print(`Made ${Object.keys(files).join(" and ")}.`);
}

/** Adds the files of a name such as `docker`. */
async function addFiles(name: string): Promise<void> {
  if (!Object.hasOwn(ADDABLE_FILES, name)) {
    const names = Object.keys(ADDABLE_FILES).join(" or ");
    throw new CreateError(
      `There is ${names} to add: got ${JSON.stringify(name)}` +
        didYouMean(name, Object.keys(ADDABLE_FILES)),
      Exit.usage,
    );
  }
  const files = await ADDABLE_FILES[name]();
  for (const path of Object.keys(files)) {
    if (await exists(path)) throw new CreateError(`${path} exists already.`);
  }
  await writeFiles(".", files);
  print(`Made ${Object.keys(files).join(" and ")}.`);
}

/** Replaces the project's copy of the package by that of a clone. */
async function update(clone: string): Promise<void> {
  const root = await Deno.realPath(clone)
    .catch(explainMissing(`There is no folder ${clone}.`));
  if (root === await Deno.realPath(VENDOR_FOLDER).catch(() => "")) {
    throw new CreateError(`${clone} is the copy itself: name a clone.`);
  }
  const version = await updatePackage(root, ".");
  print(
    `${VENDOR_FOLDER} is version ${version}. Run deno task ts settings and deno task ci.`,
  );
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runProgram(args, USAGE, () => run(args));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
