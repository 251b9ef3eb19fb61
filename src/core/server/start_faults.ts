/**
 * Collects all faults of a server's options, definitions and settings in one
 * list.
 *
 * @module
 */
import * as kinds from "../../authoring/options.ts";
import { TOOL } from "../../authoring/tool.ts";
import { ConfigError, type SettingComplaint } from "../settings/complaint.ts";
import {
  CatalogueError,
  compileDefinitions,
  DEFINITIONS,
  sortComplaints,
} from "../catalogue/compiled_definitions.ts";
import type { Feature } from "./feature.ts";
import { SERVER_OPTIONS, type ServerOptions } from "./server_options.ts";

/**
 * Settings that name tools and scopes. Their faults may be mere results of
 * faulty options.
 */
const NAMING = ["APPROVALS", "OAUTH_PERMISSIONS"];

export class StartFaults {
  /** The options without faulty members. */
  readonly sound: ServerOptions;
  readonly found: string[];
  readonly settings: SettingComplaint[] = [];
  readonly #notes = new Set<string>();

  constructor(options: ServerOptions, call: string, table?: kinds.OptionTable) {
    this.found = table ? kinds.faultsIn(table, options, `${call}: `) : [];
    this.sound = this.found.length > 0 ? soundOf(options) : options;
  }

  /**
   * Runs a check and returns its result. If it throws, adds its faults and
   * returns undefined.
   */
  attempt<T>(check: () => T): T | undefined {
    try {
      return check();
    } catch (error) {
      if (error instanceof ConfigError) {
        this.settings.push(...error.complaints);
        for (const note of error.notes) this.#notes.add(note);
      } else if (!(error instanceof CatalogueError)) throw error;
      else this.found.push(...error.complaints);
    }
  }

  /**
   * Throws all faults, if there are any, including those that only compiling
   * the definitions finds.
   * @throws {CatalogueError} if options are wrong, and maybe settings, too
   * @throws {ConfigError} if only settings are wrong
   */
  throwAll(features: readonly Feature[]): void {
    const { found, sound } = this;
    const wrong = this.settings
      .filter(({ variable }) => !found.length || !NAMING.includes(variable));
    if (found.length + wrong.length === 0) return;
    const catalogues = features.flatMap(({ catalogue }) => catalogue ?? []);
    const defaults = { anonymous: false, handOver: sound.handOver };
    this.attempt(() => compileDefinitions(sound, defaults, catalogues));
    const settings = wrong.length > 0
      ? new ConfigError(wrong, [...this.#notes])
      : undefined;
    if (found.length === 0) throw settings;
    throw new CatalogueError(sortComplaints(sound, found), settings);
  }
}

function soundOf(options: unknown): ServerOptions {
  const sound = kinds.soundMembers(SERVER_OPTIONS, options);
  for (const name of Object.keys(DEFINITIONS)) {
    const items = Object(options)[name];
    if (!Array.isArray(items)) continue;
    const kind = SERVER_OPTIONS[name as keyof typeof DEFINITIONS];
    sound[name] = items.flatMap((item) =>
      kinds.faultsIn({ [name]: kind }, { [name]: [item] }).length === 0
        ? item
        : namesake(item)
    );
  }
  return { name: "", version: "", ...sound };
}

/**
 * Makes a replacement for a faulty definition that has a name. It has the name
 * and the members without faults, for checks that depend on the definition.
 */
function namesake(item: unknown): unknown[] {
  if (kinds.nameOf(item) === undefined) return [];
  const { kind, name = "", uri } = item as Record<string, unknown>;
  const { settings, services, needs, scopes } = kinds.soundMembers(TOOL, item);
  return [{ kind, name, uri, settings, services, needs, scopes }];
}
