/**
 * The rules of the reviewers of directories: Anthropic's for Claude, OpenAI's
 * for ChatGPT. Their rules change; these are as of October 2026.
 *
 * @module
 */
import { type StoreCheck, STORES } from "./check.ts";
import { PAGE_CHECKS } from "./checks_pages.ts";
import { checkSkills } from "./checks_skills.ts";
import { TOOL_CHECKS } from "./checks_tools.ts";
import { checkViews } from "./checks_views.ts";
import { introduce, type Introduction } from "./conversation.ts";
import { Fault } from "./finding.ts";
import type { Site } from "./site.ts";

/** The most characters of the instructions that ChatGPT reads. */
const INSTRUCTIONS_LENGTH = 512;

/** The checks of the directories, tools first. */
export const STORE_CHECKS: readonly StoreCheck[] = [
  ...TOOL_CHECKS,
  {
    name: "Instructions",
    stores: ["chatgpt"],
    async run(_site, meet) {
      const { instructions = "" } = await meet();
      if (instructions.length <= INSTRUCTIONS_LENGTH) {
        return `${instructions.length} characters`;
      }
      throw new Fault(
        `${instructions.length} characters, of which ChatGPT reads ` +
          INSTRUCTIONS_LENGTH,
        "Say what matters first.",
        "warning",
      );
    },
  },
  { name: "Views", stores: STORES, run: checkViews },
  { name: "Skills", stores: ["chatgpt"], run: checkSkills },
  ...PAGE_CHECKS,
];

/**
 * Makes a function that gives the server's introduction, which is requested
 * once.
 */
export function meeting(
  site: Site,
  token: () => Promise<string | undefined>,
): () => Promise<Introduction> {
  let met: Promise<Introduction> | undefined;
  return () => met ??= token().then((it) => introduce(site, it));
}
