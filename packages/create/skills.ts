/**
 * `skills/mod.ts`: the skills of a project, made from their folders.
 *
 * @module
 */
import { parseFrontmatter } from "../../src/authoring/skill.ts";
import { print } from "../call/standard_output.ts";
import { CreateError, formatCode, replaceFile } from "./files.ts";
import { PACKAGE } from "./source.ts";

interface SkillFolder {
  name: string;
  /** The contents of the folder's files, keyed by path in the folder. */
  files: ReadonlyMap<string, Uint8Array>;
}

/**
 * Generates the module that imports the files of every skill, so that they are
 * part of the program. Texts are imported as text, other files as bytes.
 *
 * @throws {CreateError} for a folder without `SKILL.md`, or with another name
 * than the skill
 */
export function skillsModule(folders: readonly SkillFolder[]): string {
  const imports: string[] = [];
  const skills = folders.map(({ name, files }) => {
    checkFolder({ name, files });
    const members = [...files].map(([path, bytes]) => {
      const key = JSON.stringify(path);
      if (textOf(bytes) === undefined) {
        return `${key}: Uint8Array.fromBase64("${bytes.toBase64()}")`;
      }
      const variable = `file${imports.length + 1}`;
      const address = JSON.stringify(`./${name}/${path}`);
      imports.push(
        `import ${variable} from ${address} with { type: "text" };\n`,
      );
      return `${key}: ${variable}`;
    });
    return `skill({ files: { ${members.join(", ")} } })`;
  });
  return "// Written by `deno task ts skills` from the folders next to it.\n" +
    `import { type Skill, skill } from "${PACKAGE}/skill";\n` +
    `${imports.join("")}\n` +
    `export const skills: Skill[] = [${skills.join(", ")}];\n`;
}

function checkFolder({ name, files }: SkillFolder): void {
  const manual = textOf(files.get("SKILL.md") ?? new Uint8Array());
  if (!manual) {
    throw new CreateError(`skills/${name} must have a SKILL.md, in UTF-8.`);
  }
  let named: unknown;
  try {
    named = parseFrontmatter(manual).name;
  } catch (error) {
    throw new CreateError(
      `skills/${name}/SKILL.md: ${(error as Error).message}`,
    );
  }
  if (named !== name) {
    throw new CreateError(
      `skills/${name}/SKILL.md must have the name of its folder: name: ${name}`,
    );
  }
}

/** Decodes bytes as UTF-8. Undefined if they are not text. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const FOLDER = "skills";
const LIST = `${FOLDER}/mod.ts`;

/**
 * Writes the module that lists the skills in this directory; with `isCheck`
 * only checks that it is up to date.
 *
 * @throws {CreateError} if it is out of date, or a folder is no skill
 */
export async function updateSkills({ isCheck }: { isCheck: boolean }) {
  const folders = await readFolders();
  const before = await Deno.readTextFile(LIST).catch(() => "");
  if (folders.length === 0 && before === "") {
    if (!isCheck) print("There is no skill: make skills/NAME/SKILL.md.");
    return;
  }
  const text = await formatCode(skillsModule(folders));
  if (text === before) {
    if (!isCheck) print("Everything is up to date.");
    return;
  }
  if (isCheck) {
    throw new CreateError(
      `${LIST} must list what is in ${FOLDER}: run deno task ts skills.`,
    );
  }
  await replaceFile(LIST, text);
  print(
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
