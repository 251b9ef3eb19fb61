/**
 * `skills/mod.ts`: the skills of a project, made from their folders.
 *
 * @module
 */
import { parseFrontmatter } from "../../src/authoring/frontmatter.ts";
import { CreateError } from "./files.ts";

export interface SkillFolder {
  name: string;
  /** The content of its files, by their path in the folder. */
  files: ReadonlyMap<string, Uint8Array>;
}

/**
 * Prints the module that imports the files of every skill, so that they are
 * part of the program. Text files are imported, other files are embedded.
 *
 * @param packageName the name under which the project imports the package
 * @throws {CreateError} for a folder without `SKILL.md`, or of another name
 */
export function skillsModule(
  folders: readonly SkillFolder[],
  packageName: string,
): string {
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
  return "// Written by `deno task skills` from the folders next to it.\n" +
    `import { type Skill, skill } from "${packageName}/skill";\n` +
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

/** Decodes bytes as UTF-8; undefined if they are not text. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
