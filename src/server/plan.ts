/**
 * A server before it runs: its options and settings, checked together.
 *
 * @module
 */
import type { Implementation } from "@modelcontextprotocol/server";
import { aboutComplaints } from "../authoring/about.ts";
import { type Needing, needsOf } from "../authoring/service.ts";
import {
  scopeComplaints,
  scopeDoubts,
  type Scopes,
  scopesOf,
} from "../authoring/scope.ts";
import { type Config, parseConfig } from "../settings/config.ts";
import type { Environment, SettingsOptions } from "../settings/setting.ts";
import { Lifecycle, provideNeeds } from "./lifecycle.ts";
import { Log, type LogEvent, type LogOptions } from "../log/log.ts";
import { type Permissions, permissionsOf } from "../oauth/permissions.ts";
import { type Catalogue, compileCatalogue } from "../catalogue/catalogue.ts";
import { CatalogueError } from "../catalogue/compiled_definitions.ts";
import type { ServerOptions } from "./server_options.ts";
import { standardOutput } from "../log/standard_output.ts";
import { isCollected } from "../telemetry/current.ts";

export interface Plan {
  options: ServerOptions;
  config: Config;
  log: Log;
  scopes: Scopes;
  /** Warns, at the first start only, of what is probably a slip. */
  tellDoubts(): void;
  /** Undefined: everyone may be granted everything. */
  permissions?: Permissions;
  lifecycle: Lifecycle;
  /** The catalogue, compiled when it is first used. */
  readonly catalogue: Catalogue;
}

/** Checks options and settings. @throws as `createServer` */
export function planServer(
  options: ServerOptions,
  env: Environment,
  reading?: SettingsOptions,
): Plan {
  const { name, title = name, instructions } = options;
  const needs = needsOf(needing(options));
  const complaints = [
    ...needs.complaints,
    ...aboutComplaints(options),
    ...scopeComplaints(options.scopes),
  ];
  if (complaints.length > 0) throw new CatalogueError(complaints);
  const { settings } = needs;
  const neededHere = neededScopes(options);
  const scopes = scopesOf(neededHere, options.scopes);
  const config = parseConfig(env, {
    ...reading,
    title,
    instructions,
    log: options.log,
    settings,
    scopes: scopes.supported,
  });
  const { oauth } = config.auth;
  const permissions = oauth && permissionsOf({
    rules: oauth.permissions,
    decide: options.permissions,
    supported: scopes.supported,
  });
  // A captured console needs one call for each event.
  const captured = config.deployed ||
    isCollected() && env.OTEL_DENO_CONSOLE !== "ignore";
  const log = openLog(config.log, captured, options.log);
  const lifecycle = new Lifecycle(
    needs.services,
    config.own,
    log.logger("start"),
  );
  let catalogue: Catalogue | undefined;
  let hasTold = false;
  return {
    options,
    config,
    log,
    scopes,
    tellDoubts() {
      if (hasTold) return;
      hasTold = true;
      const { unneeded, wordless } = scopeDoubts(neededHere, options.scopes);
      const start = log.logger("start");
      for (const note of config.notes) start.warning(note);
      for (const scope of unneeded) {
        start.warning("A scope has words, but nothing here needs it", {
          scope,
        });
      }
      for (const scope of wordless) {
        start.warning("A scope has no words: people are shown its name", {
          scope,
        });
      }
    },
    permissions,
    lifecycle,
    get catalogue() {
      return catalogue ??= compile(options, config, {
        lifecycle,
        listsVary: permissions !== undefined,
      });
    },
  };
}

function openLog(
  what: Config["log"],
  captured: boolean,
  options?: LogOptions,
): Log {
  const standard = standardOutput(captured);
  if (!options?.write) return new Log(what, standard);
  const own = { write: (event: LogEvent) => options.write!(event) };
  return new Log(what, own, standard);
}

/** Lists everything that may declare settings and services. */
export function needing(options: ServerOptions): Needing[] {
  const { tools = [], resources = [], prompts = [] } = options;
  return [...tools, ...resources, ...prompts, options];
}

/** Lists the scopes that something needs, in the order of the definitions. */
function neededScopes(options: ServerOptions): string[] {
  const { tools = [], resources = [], prompts = [], skills = [] } = options;
  return [...tools, ...resources, ...prompts, ...skills].flatMap((
    { scopes = [] },
  ) => scopes);
}

/** Compiles the catalogue, checked and printed once. */
function compile(
  options: ServerOptions,
  config: Config,
  { lifecycle, listsVary }: { lifecycle: Lifecycle; listsVary: boolean },
): Catalogue {
  const { name, version, description, websiteUrl, icons, handOver } = options;
  const serverInfo: Implementation = {
    name,
    title: config.title,
    version,
    description,
    websiteUrl,
    icons,
  };
  const { instructions } = config;
  return compileCatalogue(provideNeeds(options, lifecycle), {
    serverInfo,
    instructions,
    handOver,
    listsVary,
    anonymous: config.auth.anonymous === true &&
      (config.auth.oauth ?? config.auth.jwt) !== undefined,
  });
}
