/**
 * ChatGPT's limits for a server's skills. The limits of all clients are checked
 * when a server of ours starts.
 *
 * @module
 */
import type { Introduction } from "./conversation.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Site } from "./site.ts";

const EXTENSION = "io.modelcontextprotocol/skills";

/** The most skills that ChatGPT takes. */
const SKILLS = 5;
const KIBIBYTE = 1024;
/** The most bytes of a `SKILL.md`. */
const MANUAL_BYTES = 256 * KIBIBYTE;
/** The most bytes of all files of a skill. */
const SKILL_BYTES = 5 * KIBIBYTE * KIBIBYTE;

/** Checks the number and the sizes. @throws {Fault} @throws {Skipped} */
export async function checkSkills(
  _site: Site,
  meet: () => Promise<Introduction>,
): Promise<string> {
  const { extensions, skills: list, read } = await meet();
  if (!(EXTENSION in extensions)) throw new Skipped("this server has none");
  const skills = await list();
  if (skills.length > SKILLS) {
    throw new Fault(
      `${skills.length} are listed, of which ChatGPT takes ${SKILLS}`,
      "Combine the skills that belong together.",
    );
  }
  for (const { uri, resources } of skills) {
    const { text } = await read(String(uri));
    if (typeof text !== "string") {
      throw new Fault(`${uri} is no text`, "Serve it as text/markdown.");
    }
    checkSize(`${uri}`, new TextEncoder().encode(text).length, MANUAL_BYTES);
    // The files of a skill without a list are not known in advance.
    const files: unknown[] = Array.isArray(resources) ? resources : [];
    const bytes = files.reduce<number>(
      (sum, file) => sum + Number(Object(file).size),
      0,
    );
    checkSize(`the skill of ${uri}`, bytes, SKILL_BYTES);
  }
  return `${skills.length} within what ChatGPT takes`;
}

function checkSize(what: string, bytes: number, most: number): void {
  if (bytes <= most) return;
  throw new Fault(
    `${what} has ${bytes} bytes, of which ChatGPT takes ${most}`,
    "Move parts of SKILL.md to other files, and leave out parts that no one " +
      "reads.",
  );
}
