/**
 * The folders of skills in a project, and the module that lists them.
 *
 * @module
 */
import { CreateError, formatted } from "./files.ts";
import { PACKAGE } from "./project.ts";
import { type SkillFolder, skillsModule } from "./skills_module.ts";

const FOLDER = "skills";
const LIST = `${FOLDER}/mod.ts`;

/**
 * Writes the list of the skills in this directory; with `isCheck` it only says
 * whether it would change.
 *
 * @throws {CreateError} when it is out of date, or a folder is no skill
 */
export async function updateSkills({ isCheck }: { isCheck: boolean }) {
  const folders = await readFolders();
  const before = await Deno.readTextFile(LIST).catch(() => "");
  if (folders.length === 0 && before === "") {
    if (!isCheck) console.log("There is no skill: make skills/NAME/SKILL.md.");
    return;
  }
  const text = await formatted(skillsModule(folders, PACKAGE));
  if (text === before) {
    if (!isCheck) console.log("Everything is up to date.");
    return;
  }
  if (isCheck) {
    throw new CreateError(
      `${LIST} must list what is in ${FOLDER}: run deno task skills.`,
    );
  }
  await Deno.writeTextFile(LIST, text);
  console.log(
    before === ""
      ? `Wrote ${LIST}. Import skills from it in server.ts, and serve them.`
      : `Wrote ${LIST}.`,
  );
}

/** Reads the skills of this directory, in the order of their names. */
async function readFolders(): Promise<SkillFolder[]> {
  const folders: SkillFolder[] = [];
  for (const { name, isDirectory } of await entriesOf(FOLDER)) {
    if (!isDirectory) continue;
    const files = new Map<string, Uint8Array>();
    await readFiles(`${FOLDER}/${name}`, "", files);
    folders.push({ name, files });
  }
  return folders;
}

async function readFiles(
  folder: string,
  prefix: string,
  files: Map<string, Uint8Array>,
): Promise<void> {
  for (const { name, isDirectory } of await entriesOf(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) await readFiles(path, `${prefix}${name}/`, files);
    else files.set(prefix + name, await Deno.readFile(path));
  }
}

/** Lists a folder in the order of names, without hidden files. */
async function entriesOf(folder: string): Promise<Deno.DirEntry[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.filter(({ name }) => !name.startsWith("."))
      .sort((a, b) => a.name < b.name ? -1 : 1);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
