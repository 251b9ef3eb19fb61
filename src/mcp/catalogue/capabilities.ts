/**
 * The capabilities that a server with these definitions declares.
 *
 * @module
 */
import type { JsonObject } from "../../json.ts";
import type { Definitions } from "./compiled_definitions.ts";
import { SKILLS_EXTENSION } from "./skill_manifest.ts";
import { VIEWS_EXTENSION } from "./view_resource.ts";

/** The name of the tasks extension in capabilities. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Gives the capabilities by generation: 2025 has no push, and no tasks. */
export function capabilitiesOf(
  { tools = [], resources = [], prompts = [], skills = [] }: Definitions,
  { hasViews, hasTasks }: { hasViews: boolean; hasTasks: boolean },
): { session: JsonObject; stateless: JsonObject } {
  const hasResources = resources.length > 0 || hasViews ||
    skills.length > 0;
  const extensions = {
    ...(hasViews && { [VIEWS_EXTENSION]: {} }),
    ...(skills.length > 0 && { [SKILLS_EXTENSION]: { directoryRead: true } }),
  };
  const session = {
    ...(tools.length > 0 && { tools: {} }),
    ...(hasResources && { resources: {} }),
    ...(prompts.length > 0 && { prompts: {} }),
    ...([...resources, ...prompts].some(({ complete }) => complete) &&
      { completions: {} }),
    logging: {},
    ...(Object.keys(extensions).length > 0 && { extensions }),
  };
  const stateless = {
    ...session,
    ...(tools.length > 0 && { tools: { listChanged: true } }),
    ...(hasResources &&
      { resources: { subscribe: true, listChanged: true } }),
    ...(prompts.length > 0 && { prompts: { listChanged: true } }),
    ...(hasTasks &&
      { extensions: { ...extensions, [TASKS_EXTENSION]: {} } }),
  };
  return { session, stateless };
}
