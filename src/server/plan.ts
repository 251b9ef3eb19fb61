/**
 * A server before it runs: its options and settings, checked together.
 *
 * @module
 */
import type { AccountService } from "../authoring/account.ts";
import { accountSetting } from "../authoring/oauth_account.ts";
import { aboutComplaints } from "../authoring/about.ts";
import { type Needing, needsOf } from "../authoring/service.ts";
import {
  scopeComplaints,
  scopeDoubts,
  type Scopes,
  scopesOf,
} from "../authoring/scope.ts";
import { ConfigError } from "../settings/complaint.ts";
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

export class Plan {
  readonly config: Config;
  readonly log: Log;
  readonly scopes: Scopes;
  /** Undefined if everyone may be granted everything. */
  readonly permissions?: Permissions;
  readonly lifecycle: Lifecycle;
  /** True if people's keys and tokens can be sealed. */
  readonly seals: boolean;
  #catalogue?: Catalogue;
  #isReported = false;

  /** Checks options and settings. @throws as `createServer` */
  constructor(
    readonly options: ServerOptions,
    env: Environment,
    reading?: SettingsOptions,
  ) {
    const { name, title = name, instructions } = options;
    const needs = needsOf(needing(options));
    const complaints = [
      ...needs.complaints,
      ...aboutComplaints(options),
      ...scopeComplaints(options.scopes),
    ];
    if (complaints.length > 0) throw new CatalogueError(complaints);
    this.scopes = scopesOf(neededScopes(options), options.scopes);
    const { supported } = this.scopes;
    const config = this.config = parseConfig(env, {
      ...reading,
      title,
      instructions,
      log: options.log,
      settings: needs.settings,
      scopes: supported,
    });
    const { oauth } = config.auth;
    if (options.sealing && oauth?.secretsKeys.length) throw doublySealed();
    this.seals = !!oauth && !!(options.sealing || oauth.secretsKeys[0]);
    this.permissions = oauth && permissionsOf({
      rules: oauth.permissions,
      decide: options.permissions,
      supported,
    });
    // A captured console needs one call for each event.
    const captured = config.deployed ||
      isCollected() && env.OTEL_DENO_CONSOLE !== "ignore";
    this.log = openLog(config.log, captured, options.log);
    const start = this.log.logger("start");
    this.lifecycle = new Lifecycle(needs.services, config.own, start);
  }

  /** The catalogue, compiled when it is first used. */
  get catalogue(): Catalogue {
    return this.#catalogue ??= compile(this);
  }

  /** The services at which people's accounts are needed, each once. */
  get accountServices(): AccountService[] {
    const all = needing(this.options);
    return [...new Set(all.flatMap(({ needs = {} }) => Object.values(needs)))];
  }

  /** Lists the settings that are missing for people's accounts at services. */
  missingAccountSettings(services = this.accountServices): string[] {
    const { own } = this.config;
    const applications = services.flatMap((service) =>
      service.kind === "account" ? [accountSetting(service, "CLIENT_ID")] : []
    ).filter((name) => own[name] === undefined);
    if (services.length === 0 || this.seals) return applications;
    return [
      this.options.sealing ? "AUTH_STRATEGY" : "SECRETS_KEYS",
      ...applications,
    ];
  }

  /** Warns of probable mistakes, at the first start only. */
  reportDoubts(): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const { options, config, log } = this;
    const { unneeded, wordless } = scopeDoubts(
      neededScopes(options),
      options.scopes,
    );
    const start = log.logger("start");
    for (const note of config.notes) start.warning(note);
    for (const scope of unneeded) {
      start.warning("A scope has words, but nothing here needs it", { scope });
    }
    for (const scope of wordless) {
      start.warning("A scope has no words: people are shown its name", {
        scope,
      });
    }
  }
}

/** Makes the error for two ways to seal: only one of them would be used. */
function doublySealed(): ConfigError {
  return new ConfigError([{
    variable: "SECRETS_KEYS",
    got: "keys",
    wants: "nothing beside `sealing`",
    fix: "Unset it, or leave `sealing` out of the app's options",
  }]);
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
  { options, config, lifecycle, permissions }: Plan,
): Catalogue {
  const { name, version, description, websiteUrl, icons, handOver } = options;
  const { title, instructions, auth } = config;
  return compileCatalogue(provideNeeds(options, lifecycle), {
    serverInfo: { name, title, version, description, websiteUrl, icons },
    instructions,
    handOver,
    listsVary: permissions !== undefined,
    anonymous: auth.anonymous === true &&
      (auth.oauth ?? auth.jwt) !== undefined,
  });
}
