/**
 * Skills: instructions for tasks that take several of a server's tools, which
 * clients read when they take up such a task.
 *
 * @example
 * ```ts ignore
 * import { serve } from "@tool-server/tool-server";
 * import { skill } from "@tool-server/tool-server/skill";
 * import refunds from "./skills/refunds/SKILL.md" with { type: "text" };
 *
 * await serve({ name: "shop", version: "1.0.0", skills: [skill(refunds)] });
 * ```
 *
 * @module
 */
import {
  parseFrontmatter,
  type Skill,
  type SkillDefinition,
} from "./authoring/skill.ts";

export type { Frontmatter, Skill, SkillDefinition } from "./authoring/skill.ts";

/**
 * Declares a skill. Its faults are reported when the server starts.
 *
 * @param definition the text of its `SKILL.md`; or all its files
 *
 * @example
 * ```ts
 * import { skill } from "@tool-server/tool-server/skill";
 *
 * const greeting = skill({
 *   files: {
 *     "SKILL.md": `---
 * name: greeting
 * description: Greets guests. Use it when someone arrives.
 * ---
 * Take the words of [the list](words.md).
 * `,
 *     "words.md": "Welcome, hello",
 *   },
 *   scopes: ["guests"],
 * });
 * ```
 */
export function skill(definition: string | SkillDefinition): Skill {
  const members: SkillDefinition = typeof definition === "string"
    ? { files: { "SKILL.md": definition } }
    : definition;
  return {
    kind: "skill",
    ...members,
    frontmatter() {
      const text = members.files["SKILL.md"];
      if (typeof text === "string") return parseFrontmatter(text);
      throw new Error("files must have SKILL.md, as text");
    },
  };
}
