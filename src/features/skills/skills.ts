/**
 * The skills of a catalogue, and their methods: `skills/list`, `skills/get` and
 * `resources/directory/read`.
 *
 * @module
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
import type { Skill } from "../../authoring/skill.ts";
import type {
  CatalogueAddition,
  CatalogueFeature,
} from "../../core/catalogue/compiled_definitions.ts";
import type { Result } from "../../core/mcp/exchange/answer.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import type { Method } from "../../core/mcp/exchange/run.ts";
import {
  invalidParams,
  methodNotFound,
  quoted,
} from "../../core/protocol/messages.ts";
import type { Pages } from "../../core/protocol/results.ts";
import {
  type CompiledSkill,
  compileSkill,
  type Directory,
  SKILLS_EXTENSION,
  skillsPerPage,
} from "./skill_manifest.ts";

/** The skills that a caller may see. */
interface Skills extends Record<"session" | "stateless", Pages> {
  skills: ReadonlyMap<string, CompiledSkill>;
  directories: ReadonlyMap<string, Directory>;
}

/** Compiles skills. Their files are resources. */
export const catalogueSkills: CatalogueFeature<Skills> = () => {
  const compiled: CompiledSkill[] = [];
  return {
    addDefinitions({ skills = [], resources = [] }, complaints) {
      for (const [index, skill] of skills.entries()) {
        complaints.attempt(`skill ${nameOf(skill) ?? index + 1}`, () => {
          compiled.push(compileSkill(skill));
        });
      }
      complaints.checkUnique(compiled.map(({ name }) => `skill ${name}`));
      for (const { uri } of this.resources) {
        if (resources.some((resource) => resource.uri === uri)) {
          complaints.add(`resource ${uri}: is a file of a skill`);
        }
      }
    },
    get extensions() {
      return compiled.length > 0
        ? { [SKILLS_EXTENSION]: { directoryRead: true } }
        : undefined;
    },
    items: compiled,
    get resources() {
      return compiled.flatMap(({ resources }) => resources);
    },
    select({ isSeen, print }) {
      if (compiled.length === 0) return { listed: [] };
      const seen = compiled.filter(isSeen);
      const skills = new Map(seen.map((skill) => [skill.uri, skill]));
      const directories = new Map(
        seen.flatMap(({ directories }) => [...directories]),
      );
      const entries = seen.map(({ entry }) => entry);
      return {
        part: {
          skills,
          directories,
          ...print("skills", entries, skillsPerPage(entries)),
        },
        // Only `SKILL.md` is listed, because clients that do not know skills
        // would list the other files one by one.
        listed: seen.map(({ resources: [manual] }) => manual),
        unlisted: seen.flatMap(({ resources: [, ...others] }) => others),
        scopesFor(method, uri) {
          if (method === "skills/get") return skills.get(uri)?.scopes;
          if (method === "resources/directory/read") {
            return directories.get(uri)?.scopes;
          }
        },
      };
    },
  } satisfies CatalogueAddition<Skills>;
};

/** Reads the name of a skill. Undefined if its front matter is unreadable. */
function nameOf({ frontmatter }: Skill): unknown {
  try {
    return frontmatter().name;
  } catch {
    return undefined;
  }
}

/** Makes a method that only a server with skills has. */
function ofSkills(method: (call: Call, skills: Skills) => Result): Method {
  return (call) => {
    const skills = call.catalogue.part(catalogueSkills);
    if (skills) return method(call, skills);
    throw methodNotFound(call.message.method, call.stateless);
  };
}

export const listSkills: Method = ofSkills(({ params, stateless }, skills) => ({
  result: skills[stateless ? "stateless" : "session"].page(params.cursor),
}));

export const getSkill: Method = ofSkills(
  ({ catalogue, printedLists, params: { uri } }, { skills }) => {
    const skill = skills.get(uri as string);
    if (!skill) throw invalidParams(`No skill is served at ${quoted(uri)}`);
    const { printer } = printedLists;
    const { entry } = skill;
    return { result: printer.result({ skill: entry }, catalogue.listCache) };
  },
);

export const readDirectory: Method = ofSkills(
  ({ printedLists, params: { uri, cursor } }, { directories }) => {
    const directory = directories.get(uri as string);
    if (!directory) throw invalidParams(`${quoted(uri)} is not a directory`);
    if (cursor !== undefined && cursor !== null) {
      throw invalidParams(
        `Unknown cursor ${quoted(cursor)}: a directory has one page`,
      );
    }
    const { resources } = directory;
    return { result: printedLists.printer.result({ resources }) };
  },
);
