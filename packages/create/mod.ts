/**
 * Makes a project, and adds to it:
 *
 * ```sh
 * deno run -A packages/create/mod.ts ../NAME         # in a clone: a new project
 * deno create jsr:@tool-server/tool-server -- NAME   # with the published package
 * deno task tool NAME                                # in a project: one more tool
 * deno task settings                                 # after a change of settings
 * deno task skills                                   # after a change in skills/
 * ```
 *
 * @module
 */
import {
  CreateError,
  exists,
  formatFiles,
  initializeGit,
  writeFiles,
} from "./files.ts";
import { parseProjectName, projectFiles } from "./project.ts";
import { print } from "../call/standard_output.ts";
import { messageOf } from "../../src/core/thrown.ts";
import { updateSettings } from "./settings.ts";
import { updateSkills } from "./skills.ts";
import { findSource } from "./source.ts";
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
      print(USAGE);
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
  const source = await findSource(root);
  await writeFiles(root, projectFiles({ name, source }));
  await formatFiles(root);
  await initializeGit(root);
  // With Node only, tasks are called as this program was.
  const task = Deno.env.get("npm_command") === "exec"
    ? "npx -y deno task"
    : "deno task";
  print(`Made ${path}. Next:\n
  cd ${path}
  ${task} dev                    # serves http://127.0.0.1:3000/mcp
  ${task} call greet name=Ada    # in another terminal
  ${task} tool NAME              # adds a tool and its test
  ${task} ci                     # checks everything`);
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
    print("List it in tools/mod.ts: its list was changed by hand.");
  } else await Deno.writeTextFile("tools/mod.ts", listed);
  await formatFiles(".", [...Object.keys(files), "tools/mod.ts"]);
  print(`Made ${Object.keys(files).join(" and ")}.`);
}

/** True for an error of the operating system, such as a full disk. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    /^E[A-Z]+$/.test(`${error.code}`);
}

if (import.meta.main) {
  try {
    await run(Deno.args);
  } catch (error) {
    // A folder that takes no files is no fault of the program.
    if (!(error instanceof CreateError || isOfSystem(error))) throw error;
    console.error(messageOf(error));
    Deno.exit(1);
  }
}
