/**
 * Makes a project, and adds to it:
 *
 * ```sh
 * deno create jsr:@tool-server/tool-server NAME   # a new project
 * deno task tool NAME                             # in a project: one more tool
 * deno task settings                              # after a change of settings
 * deno task skills                                # after a change in skills/
 * ```
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import {
  CreateError,
  exists,
  formatFiles,
  initializeGit,
  writeFiles,
} from "./files.ts";
import { parseProjectName, projectFiles } from "./project.ts";
import { updateSettings } from "./settings.ts";
import { updateSkills } from "./skills.ts";
import { listTool, parseToolName, toolFiles } from "./tool_files.ts";

const USAGE = `Usage:
  create NAME                a new project in a directory of that name
  create tool NAME           one more tool and its test, in a project
  create settings [--check]  writes .env.example and the permissions in
                             deno.json from the declared settings
  create skills [--check]    writes skills/mod.ts from the folders in skills/`;

/** Runs a command. @throws {CreateError} */
async function run(args: readonly string[]): Promise<void> {
  const [command, name] = args;
  switch (command) {
    case undefined:
    case "-h":
    case "--help":
      console.log(USAGE);
      return;
    case "tool":
      if (name === undefined) throw new CreateError(USAGE);
      return await addTool(parseToolName(name));
    case "settings":
      return await updateSettings({ isCheck: name === "--check" });
    case "skills":
      return await updateSkills({ isCheck: name === "--check" });
    default:
      return await createProject(command);
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
  await writeFiles(root, projectFiles({ name, link: linkFrom(root) }));
  await formatFiles(root);
  await initializeGit(root);
  console.log(`Made ${path}. Next:\n
  cd ${path}
  deno task dev                    # serves http://127.0.0.1:3000/mcp
  deno task call greet name=Ada    # in another terminal
  deno task tool NAME              # adds a tool and its test
  deno task ci                     # checks everything`);
}

/** True if the directory holds anything besides an empty repository. */
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
 * Finds the path to the copy on disk that this runs from, if it does: a project
 * made by a clone goes on with the clone.
 */
function linkFrom(root: string): string | undefined {
  const url = new URL("../..", import.meta.url);
  if (url.protocol !== "file:") return undefined;
  // On Windows too: C:\a begins with the name of its drive, without a slash.
  const own = fileURLToPath(url).replace(/[/\\]$/, "").split(/[/\\]/);
  const theirs = root.split(/[/\\]/);
  let shared = 0;
  while (shared < own.length && own[shared] === theirs[shared]) shared++;
  return [
    ...theirs.slice(shared).map(() => ".."),
    ...own.slice(shared),
  ].join("/");
}

async function addTool(name: string): Promise<void> {
  const list = await Deno.readTextFile("tools/mod.ts").catch(() => {
    throw new CreateError(
      "There is no tools/mod.ts here. Run this in a project's directory.",
    );
  });
  const files = toolFiles(name);
  for (const path of Object.keys(files)) {
    if (await exists(path)) throw new CreateError(`${path} exists already.`);
  }
  const listed = listTool(list, name);
  await writeFiles(".", files);
  if (listed === undefined) {
    console.log("List it in tools/mod.ts: its list was changed by hand.");
  } else await Deno.writeTextFile("tools/mod.ts", listed);
  await formatFiles(".", [...Object.keys(files), "tools/mod.ts"]);
  console.log(`Made ${Object.keys(files).join(" and ")}.`);
}

if (import.meta.main) {
  try {
    await run(Deno.args);
  } catch (error) {
    if (!(error instanceof CreateError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
