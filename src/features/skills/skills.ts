/**
 * `skills/list`, `skills/get` and `resources/directory/read`.
 *
 * @module
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
import {
  invalidParams,
  methodNotFound,
  shown,
} from "../../core/protocol/messages.ts";
import type { Method } from "../../core/mcp/exchange/run.ts";

/** Makes a method that only a server with skills has. */
function ofSkills(method: Method): Method {
  return (call) => {
    const { skills } = call.catalogue.whole ?? call.catalogue;
    if (skills.size > 0) return method(call);
    throw methodNotFound(call.message.method, call.stateless);
  };
}

export const listSkills: Method = ofSkills(({ printedLists, params }) => ({
  result: printedLists.skills.page(params.cursor),
}));

export const getSkill: Method = ofSkills(
  ({ catalogue, printedLists, params: { uri } }) => {
    const skill = catalogue.skills.get(uri as string);
    if (!skill) throw invalidParams(`No skill is served at ${shown(uri)}`);
    const { printer } = printedLists;
    const { entry } = skill;
    return { result: printer.result({ skill: entry }, catalogue.listCache) };
  },
);

export const readDirectory: Method = ofSkills(
  ({ catalogue, printedLists, params: { uri, cursor } }) => {
    const directory = catalogue.directories.get(uri as string);
    if (!directory) {
      throw invalidParams(`${shown(uri)} is not a directory`);
    }
    if (cursor !== undefined && cursor !== null) {
      throw invalidParams(
        `Unknown cursor ${shown(cursor)}: a directory has one page`,
      );
    }
    const { resources } = directory;
    return { result: printedLists.printer.result({ resources }) };
  },
);
