/**
 * A server before it runs: its options and settings, checked together.
 *
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import type { Tool } from "../../authoring/tool.ts";
import * as kinds from "../../authoring/options.ts";
import { type HasNeeds, needsOf } from "../../authoring/service.ts";
import { type Scopes, scopesOf } from "../../authoring/scope.ts";
import {
  type ApprovalRule,
  parseApprovals,
  withApprovals,
} from "../settings/approvals.ts";
import type { SettingComplaint } from "../settings/complaint.ts";
import { type Config, parseConfig } from "../settings/config.ts";
import type { Environment, SettingsOptions } from "../settings/setting.ts";
import { Lifecycle, provideNeeds } from "./lifecycle.ts";
import { Log, type LogEvent, type LogOptions } from "../log/log.ts";
import { type Permissions, permissionsOf } from "../oauth/permissions.ts";
import { type Catalogue, compileCatalogue } from "../catalogue/catalogue.ts";
import type { Feature } from "./feature.ts";
import { StartFaults } from "./start_faults.ts";
import type { ServerOptions } from "./server_options.ts";
import { standardOutput } from "../log/standard_output.ts";
import { isCollected } from "../telemetry/current.ts";

/**
 * Options of definitions, and settings of the core, that only one feature
 * reads. They are refused if the feature is left out; the feature's own
 * settings do not even exist then.
 */
const READ_BY: Readonly<
  Record<string, { options?: string[]; settings?: string[] }>
> = {
  accounts: { options: ["needs"], settings: ["SECRETS_KEYS"] },
  approvals: { options: ["approval"], settings: ["APPROVALS"] },
  views: { options: ["view"] },
  skills: { options: ["skills"] },
};

/**
 * Finds options and settings that need a feature which `src/features.ts` leaves
 * out.
 */
export function featureFaults(
  features: readonly Pick<Feature, "name">[],
  options: ServerOptions,
  env: Environment,
  call?: string,
): { complaints: string[]; settings: SettingComplaint[] } {
  const absent = Object.entries(READ_BY)
    .filter(([name]) => !features.some((it) => it.name === name));
  const without = (feature: string) =>
    `the feature ${feature}, which this server is built without`;
  const complaints = absent.flatMap(([feature, { options: read = [] }]) =>
    definitionsWithNeeds(options, call).flatMap((item) =>
      read.filter((option) => Object(item)[option] !== undefined)
        .map((option) => {
          const { kind } = item as Partial<Tool>;
          const of = kind ? `${kind} ${kinds.nameOf(item)}` : item.name;
          return `${of}: ${option} is an option of ${without(feature)}`;
        })
    )
  );
  const settings = absent.flatMap(([feature, { settings = [] }]) =>
    settings.filter((name) => env[name]?.trim()).map((variable) => ({
      variable,
      got: "a value",
      wants: `nothing without ${without(feature)}`,
      fix: "Unset it",
    }))
  );
  return { complaints, settings };
}

export class Plan {
  readonly config: Config;
  readonly log: Log;
  readonly scopes: Scopes;
  /** The permissions; undefined if everyone may be granted every scope. */
  readonly permissions?: Permissions;
  /** The operator's rules about approvals. */
  readonly approvals: readonly ApprovalRule[];
  readonly lifecycle: Lifecycle;
  /**
   * True if people's keys and tokens can be encrypted: with `SECRETS_KEYS`, or
   * by the author's `sealing`.
   */
  readonly seals: boolean;
  #catalogue?: Catalogue;
  /** True once probable mistakes were reported, at the first start. */
  isReported = false;

  /**
   * Checks options and settings.
   * @param checked the name of the function that got the options; and the table
   * to check them with, unless they were checked already
   * @throws the errors of `createServer`
   */
  constructor(
    readonly features: readonly Feature[],
    readonly options: ServerOptions,
    env: Environment,
    reading?: SettingsOptions,
    [call, table]: [call: string, table?: kinds.OptionTable] = ["serve"],
  ) {
    const faults = new StartFaults(options, call, table);
    const { sound } = faults;
    const { tools = [], name, title = name, instructions, log } = sound;
    const { complaints, settings } = featureFaults(features, sound, env, call);
    faults.settings.push(...settings);
    const needs = needsOf(definitionsWithNeeds(sound, call));
    faults.found.push(...complaints, ...needs.complaints);
    this.scopes = scopesOf(neededScopes(sound), sound.scopes);
    // Includes the scopes that only approvers need: no client requests them.
    const approvals = parseApprovals(env.APPROVALS, tools);
    this.approvals = approvals.rules;
    faults.settings.push(...approvals.complaints);
    const authors = tools.map(({ approval }) => approval);
    const approving = [...authors, ...this.approvals].flatMap((it) =>
      typeof it?.by === "object" ? it.by.scope : []
    );
    const supported = [...new Set([...this.scopes.supported, ...approving])];
    const config = faults.attempt(() =>
      parseConfig(env, {
        ...reading,
        title,
        instructions,
        log,
        settings: needs.settings,
        scopes: supported,
        features,
      })
    );
    const oauth = config?.auth.oauth;
    // Only one of `sealing` and `SECRETS_KEYS` would be used.
    if (options.sealing && oauth?.secretsKeys.length) {
      faults.settings.push({
        variable: "SECRETS_KEYS",
        got: "keys",
        wants: "nothing besides `sealing`",
        fix: "Unset it, or leave `sealing` out",
      });
    }
    const orphan = approving.find((scope) =>
      oauth && !options.permissions &&
      !oauth.permissions?.some(({ scopes }) =>
        scopes === "all" || scopes.includes(scope)
      )
    );
    if (orphan) {
      const isOperators = this.approvals.some(({ by }) =>
        typeof by === "object" && by.scope === orphan
      );
      const variable = isOperators ? "APPROVALS" : "OAUTH_PERMISSIONS";
      // If there are rules, no one may be granted a scope that no rule names.
      const others = !oauth?.permissions && this.scopes.supported.length > 0
        ? `*=${this.scopes.supported.join(" ")}; `
        : "";
      faults.settings.push({
        variable,
        got: env[variable]?.trim() || "nothing",
        wants: `people who may approve, by the scope ${orphan}`,
        fix: `${
          oauth?.permissions ? "Add to" : "Set"
        } OAUTH_PERMISSIONS: ${others}jo@example.com=${orphan}${
          isOperators ? ". If the caller may approve, write caller" : ""
        }`,
      });
    }
    faults.throwAll(features);
    this.config = config!;
    this.seals = !!(options.sealing || env.SECRETS_KEYS?.trim());
    this.permissions = oauth && permissionsOf({
      rules: oauth.permissions,
      decide: options.permissions,
      supported,
    });
    // A console that telemetry captures needs one call for each event.
    const captured = this.config.deployed ||
      isCollected() && env.OTEL_DENO_CONSOLE !== "ignore";
    this.log = openLog(this.config.log, captured, log);
    const start = this.log.logger("start");
    this.lifecycle = new Lifecycle(needs.services, this.config.own, start);
  }

  get catalogue(): Catalogue {
    return this.#catalogue ??= compile(this);
  }

  /** The outside services at which people need accounts, without duplicates. */
  get accountServices(): AccountService[] {
    const all = definitionsWithNeeds(this.options);
    return [...new Set(all.flatMap(({ needs = {} }) => Object.values(needs)))];
  }
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

/**
 * Lists all definitions that may declare settings, services or accounts.
 *
 * @param call the name of the function that got the options
 */
export function definitionsWithNeeds(
  options: ServerOptions,
  call = "serve",
): HasNeeds[] {
  const { tools = [], resources = [], prompts = [] } = options;
  return [...tools, ...resources, ...prompts, { ...options, name: call }];
}

/** Lists the scopes that definitions need, in the order of the definitions. */
export function neededScopes(options: ServerOptions): string[] {
  const { tools = [], resources = [], prompts = [], skills = [] } = options;
  return [...tools, ...resources, ...prompts, ...skills].flatMap((
    { scopes = [] },
  ) => scopes);
}

function compile(
  { features, options, config, lifecycle, permissions, approvals }: Plan,
): Catalogue {
  const { name, version, description, websiteUrl, icons, handOver } = options;
  const { title, instructions, auth } = config;
  const { tools, ...definitions } = provideNeeds(options, lifecycle);
  return compileCatalogue({
    ...definitions,
    tools: tools?.map((tool) => withApprovals(tool, approvals)),
  }, {
    serverInfo: { name, title, version, description, websiteUrl, icons },
    instructions,
    handOver,
    listsVary: permissions !== undefined,
    anonymous: auth.anonymous === true &&
      (auth.oauth ?? auth.jwt) !== undefined,
    features: features.flatMap(({ catalogue }) => catalogue ?? []),
  });
}
