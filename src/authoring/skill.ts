/**
 * Skills: instructions that a model reads when it takes up a task, with the
 * files that they speak of.
 *
 * @module
 * @see https://agentskills.io/specification
 */

/** The front matter of a `SKILL.md`, as it is written there. */
export type Frontmatter = Record<string, unknown>;

/** The files of a skill, and the scopes that open it. */
export interface SkillDefinition {
  /**
   * Every file of its folder by its path in it, such as `references/terms.md`,
   * and `SKILL.md` among them: `import text from "./terms.md" with { type:
   * "text" }`.
   */
  files: Readonly<Record<string, string | Uint8Array>>;
  /** Scopes a caller must have been granted. */
  scopes?: readonly string[];
}

/** A declared skill. */
export interface Skill extends SkillDefinition {
  /** Tells a skill from a tool, a resource and a prompt. */
  readonly kind: "skill";
  /**
   * Parses the front matter of `SKILL.md`. @throws {Error} if it is not YAML
   */
  frontmatter(): Frontmatter;
}
