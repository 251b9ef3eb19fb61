/**
 * The rules of the reviewers of directories: Anthropic's for Claude, OpenAI's
 * for ChatGPT, as of October 2026.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";
import { type DirectoryCheck, STORES } from "./check.ts";
import { PAGE_CHECKS } from "./checks_pages.ts";
import { TOOL_CHECKS } from "./checks_tools.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Site } from "./site.ts";

/** The maximum length in characters of the instructions that ChatGPT reads. */
const MAX_INSTRUCTIONS_LENGTH = 512;

/** The checks of the directories, tools first. */
export const STORE_CHECKS: readonly DirectoryCheck[] = [
  ...TOOL_CHECKS,
  {
    name: "Instructions",
    stores: ["chatgpt"],
    async run(site) {
      const { instructions = "" } = await site.description();
      if (instructions.length <= MAX_INSTRUCTIONS_LENGTH) {
        return `${instructions.length} characters`;
      }
      throw new Fault(
        `${instructions.length} characters, of which ChatGPT reads ` +
          MAX_INSTRUCTIONS_LENGTH,
        "Say what matters first.",
        "warning",
      );
    },
  },
  { name: "Views", stores: STORES, run: checkViews },
  { name: "Skills", stores: ["chatgpt"], run: checkSkills },
  ...PAGE_CHECKS,
];

const VIEWS_EXTENSION = "io.modelcontextprotocol/ui";
const VIEW_TYPE = "text/html;profile=mcp-app";

/** Checks that clients may read and show each view. @throws {Fault} */
async function checkViews(site: Site): Promise<string> {
  const { tools, extensions, read } = await site.description();
  const uris = new Set(
    tools.map(({ _meta }) => Object(_meta)).flatMap((meta: Json) => {
      const uri = Object(meta.ui).resourceUri ?? meta["ui/resourceUri"] ??
        meta["openai/outputTemplate"];
      return typeof uri === "string" ? [uri] : [];
    }),
  );
  if (uris.size === 0) throw new Skipped("no tool of this server has one");
  if (!(VIEWS_EXTENSION in extensions)) {
    throw new Fault(
      `tools have views, but the capabilities do not name ${VIEWS_EXTENSION}`,
      `Declare it: capabilities.extensions["${VIEWS_EXTENSION}"] = {}.`,
    );
  }
  for (const uri of uris) {
    const content = await read(uri);
    if (content.mimeType !== VIEW_TYPE) {
      throw new Fault(
        `${uri} is ${content.mimeType ?? "nothing"}`,
        `It must be ${VIEW_TYPE}.`,
      );
    }
    if (Object(Object(content._meta).ui).domain !== undefined) {
      throw new Fault(
        `${uri} names a domain in _meta.ui, which Claude refuses to show`,
        "Leave ui.domain out; ChatGPT reads openai/widgetDomain.",
      );
    }
    if (/<(?:script|img)[^<>]+src="https?:/i.test(`${content.text}`)) {
      throw new Fault(
        `${uri} loads something from elsewhere`,
        `Put it into the page: ${new URL(site.origin).host} alone is not ` +
          "enough for Claude.",
        "warning",
      );
    }
  }
  return `${uris.size} can be read`;
}

const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** The maximum number of skills that ChatGPT takes. */
const MAX_SKILLS = 5;
const KIBIBYTE = 1024;
/** The maximum size in bytes of a `SKILL.md`. */
const MANUAL_BYTES = 256 * KIBIBYTE;
/** The maximum size in bytes of all files of a skill. */
const SKILL_BYTES = 5 * KIBIBYTE * KIBIBYTE;

/**
 * Checks the limits that ChatGPT has for skills. A server checks the limits of
 * all clients when it starts.
 */
async function checkSkills(site: Site): Promise<string> {
  const { extensions, skills: list, read } = await site.description();
  if (!(SKILLS_EXTENSION in extensions)) {
    throw new Skipped("this server has none");
  }
  const skills = await list();
  if (skills.length > MAX_SKILLS) {
    throw new Fault(
      `${skills.length} are listed, of which ChatGPT takes ${MAX_SKILLS}`,
      "Combine the skills that belong together.",
    );
  }
  for (const { uri, resources } of skills) {
    const { text } = await read(String(uri));
    if (typeof text !== "string") {
      throw new Fault(`${uri} is no text`, "Serve it as text/markdown.");
    }
    checkSize(`${uri}`, new TextEncoder().encode(text).length, MANUAL_BYTES);
    // If a skill does not list its files, they are not known in advance.
    const files: unknown[] = Array.isArray(resources) ? resources : [];
    let bytes = 0;
    for (const file of files) bytes += Number(Object(file).size);
    checkSize(`the skill of ${uri}`, bytes, SKILL_BYTES);
  }
  return `${skills.length} within what ChatGPT takes`;
}

function checkSize(what: string, bytes: number, most: number): void {
  if (bytes <= most) return;
  throw new Fault(
    `${what} has ${bytes} bytes, of which ChatGPT takes ${most}`,
    "Move parts of SKILL.md to other files, and leave out what no one reads.",
  );
}
