/**
 * Skills: instructions that a model reads when it begins a task, with the files
 * that they mention. Clients parse the front matter too, and refuse a skill if
 * their result differs from the server's. So the server uses a real YAML
 * parser. Code that also runs without skills imports only types from here.
 *
 * @module
 * @see https://agentskills.io/specification
 */
import { CORE_SCHEMA, load, YAML11_SCHEMA, YAMLException } from "js-yaml";
import { isObject } from "../core/json.ts";

/** The front matter of a `SKILL.md`, as it is written there. */
export type Frontmatter = Record<string, unknown>;

/** The files of a skill, and the scopes that reading it needs. */
export interface SkillDefinition {
  /**
   * Every file of the skill's folder, such as `SKILL.md` and
   * `references/terms.md`: `import text from "./terms.md" with { type: "text"
   * }`.
   */
  files: Readonly<Record<string, string | Uint8Array>>;
  /** Scopes a caller must have been granted. */
  scopes?: readonly string[];
}

/** A declared skill. */
export interface Skill extends SkillDefinition {
  /** Distinguishes a skill from a tool, a resource and a prompt. */
  readonly kind: "skill";
  /**
   * Parses the front matter of `SKILL.md`. @throws {Error} if it is not YAML
   */
  frontmatter(): Frontmatter;
}

/** A file's first line `---` and everything up to the next `---`. */
const FRONTMATTER = /^---\r?\n([\s\S]*?\n)---[ \t]*(?:\r?\n|$)/;

/**
 * Reads the front matter of a file.
 *
 * @throws {Error} if there is none, if it is not YAML, or if parsers of YAML
 * 1.1 and 1.2 disagree about it
 */
export function parseFrontmatter(text: string): Frontmatter {
  const yaml = FRONTMATTER.exec(text)?.[1];
  if (yaml === undefined) {
    throw new Error(
      "SKILL.md must be the content of the file, which begins with a line " +
        "---, then name: and description:, then a line ---",
    );
  }
  const read = parseYaml(yaml, CORE_SCHEMA);
  const readByOthers = parseYaml(yaml, YAML11_SCHEMA);
  const unclear = [
    ...new Set([...Object.keys(read), ...Object.keys(readByOthers)]),
  ].filter((key) =>
    JSON.stringify(read[key]) !== JSON.stringify(readByOthers[key])
  );
  if (unclear.length > 0) {
    throw new Error(
      `SKILL.md: clients read ${unclear.join(", ")} differently, as text or ` +
        "as a date, a number or a boolean: put the text into quotes",
    );
  }
  return read;
}

function parseYaml(yaml: string, schema: typeof CORE_SCHEMA): Frontmatter {
  let value: unknown;
  try {
    value = load(yaml, { schema });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    // The mark counts from 0, and starts after the line `---`.
    const line = mark ? `, line ${mark.line + 2}` : "";
    throw new Error(`SKILL.md${line}: ${reason}`);
  }
  if (isObject(value)) return value;
  throw new Error("SKILL.md: the front matter must be lines such as name: …");
}
