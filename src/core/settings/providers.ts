/**
 * The sign-in providers: one, or several with a group of settings each.
 *
 * @module
 */
import { type ProviderConfig, providerId, PROVIDERS } from "./application.ts";
import { parseProvider, PROVIDER, type Rename } from "./provider.ts";
import type { Exposure } from "./server.ts";
import type { Environment, NamedSetting, Settings } from "./setting.ts";
import { oneOf } from "./shapes.ts";

/** One of the sign-in providers in the settings. */
export interface ListedProvider {
  id: string;
  /**
   * The provider's name in `OAUTH_PROVIDER` and at the end of its redirect URI;
   * undefined if it is the only provider.
   */
  key?: string;
  /** The email domains that only this provider may vouch for. */
  domains: readonly string[];
  config: ProviderConfig;
}

export type ListedProviders = readonly [ListedProvider, ...ListedProvider[]];

export const CALLBACK_PATH = "/oauth/provider-callback";

/**
 * Returns the redirect URI to register at a provider.
 *
 * @param key the provider's name; undefined if it is the only one
 */
export function callbackAt(baseUrl: string, key?: string): string {
  const address = `${baseUrl}${CALLBACK_PATH}`;
  return key === undefined ? address : `${address}/${key}`;
}

const { OAUTH_PROVIDER: CHOICE, ...GROUP } = PROVIDER;

/** Makes the function that renames settings for one of several providers. */
export function renameFor(key?: string): Rename {
  if (key === undefined) return (setting) => setting;
  return (setting) => ({
    ...setting,
    name: setting.name.replace("OAUTH_", `OAUTH_${key.toUpperCase()}_`),
    fix: setting.fix?.replace("/provider-callback", `$&/${key}`),
  });
}

function kindSetting(key: string) {
  return {
    ...renameFor(key)(CHOICE),
    shape: oneOf(PROVIDERS),
    default: PROVIDERS.find((kind) => kind === key) ?? "oidc",
    fix: undefined,
  };
}

/** Lists the settings of the groups of several providers. */
export function groupSettings({ OAUTH_PROVIDER }: Environment): NamedSetting[] {
  let keys: readonly string[] = [];
  try {
    keys = CHOICE.shape.parse(OAUTH_PROVIDER?.trim() ?? "");
  } catch {
    // The code that reads the setting makes the complaint.
  }
  return keys.length < 2 ? [] : keys.flatMap((key) => [
    kindSetting(key),
    ...Object.values(GROUP).map((setting) =>
      renameFor(key)<NamedSetting>(setting)
    ),
  ]);
}

/** Parses `OAUTH_PROVIDER` and the settings of its providers. */
export function parseProviders(
  settings: Settings,
  exposure: Exposure,
): ListedProviders {
  const names = settings.require(CHOICE);
  // Continues with `dev`, which needs no settings, because the complaint is
  // made.
  if (!names) return [{ id: "dev", config: { provider: "dev" }, domains: [] }];
  const [first, ...others] = names;
  doubtOtherGroups(settings, others.length > 0 ? names : []);
  if (others.length === 0) return [parseOnly(settings, first, exposure)];
  for (const setting of Object.values(GROUP)) {
    const got = settings.text(setting);
    if (got === undefined) continue;
    const groups = names.map((key) => renameFor(key)(setting).name);
    settings.complain(setting, {
      got,
      wants: "nothing, because each of several providers has its own",
      fix: `Rename it to ${groups.join(" or ")}`,
    });
  }
  const parse = (key: string) => parseListed(settings, key, exposure);
  const listed: ListedProviders = [parse(first), ...others.map(parse)];
  complainOfTwins(settings, listed);
  return listed;
}

function parseOnly(
  settings: Settings,
  name: string,
  exposure: Exposure,
): ListedProvider {
  const config = parseProvider(settings, oneOf(PROVIDERS).parse(name), {
    ...exposure,
    rename: renameFor(),
    choice: CHOICE,
  });
  if (settings.read(GROUP.OAUTH_PROVIDER_DOMAINS).length > 0) {
    settings.doubts.push(
      "OAUTH_PROVIDER_DOMAINS changes nothing where there is one provider: " +
        "OAUTH_ALLOWED_USERS says who may sign in",
    );
  }
  return { id: idOf(config), config, domains: [] };
}

function parseListed(
  settings: Settings,
  key: string,
  exposure: Exposure,
): ListedProvider {
  const rename = renameFor(key);
  const choice = kindSetting(key);
  const kind = settings.read(choice);
  const config = parseProvider(settings, kind, {
    ...exposure,
    rename,
    choice: settings.text(choice) === undefined ? CHOICE : choice,
  });
  const domains = settings.read(rename(GROUP.OAUTH_PROVIDER_DOMAINS));
  return { id: idOf(config), key, config, domains };
}

/** Returns a provider's id; only the kind if its URL is malformed. */
function idOf(config: ProviderConfig): string {
  try {
    return providerId(config);
  } catch {
    return config.provider;
  }
}

/**
 * Returns the provider's display name in lower case: its configured name, else
 * its host, else its kind.
 */
function labelOf({ id, config }: ListedProvider): string {
  if (config.provider === "dev") return "dev";
  const host = ["oidc", "custom"].includes(config.provider) &&
    URL.parse(id)?.host;
  return (config.name ?? (host || config.provider)).toLowerCase();
}

/** Complains of providers with the same subjects, display name or domains. */
function complainOfTwins(settings: Settings, listed: ListedProviders): void {
  listed.forEach((it, at) => {
    const before = listed.slice(0, at);
    const twin = before.find(({ id }) => id === it.id);
    if (!twin) complainOfNamesake(settings, it, before);
    else if (settings.complaints.length === 0) {
      return complainOfTwin(settings, it, twin);
    }
    complainOfDomains(settings, it, before);
  });
}

/** Complains of a provider with the same subjects as another. */
function complainOfTwin(
  settings: Settings,
  { key = "", config: { provider } }: ListedProvider,
  twin: ListedProvider,
): void {
  const oneOut = `Leave ${key} or ${twin.key} out of OAUTH_PROVIDER`;
  const same = `${twin.key}: people of both would be the same people`;
  if (["dev", "github", "google"].includes(provider)) {
    settings.complain(kindSetting(key), {
      got: provider,
      wants: `another provider than ${same}`,
      fix: `${oneOut}: ${provider} can be there once`,
    });
    return;
  }
  const setting = renameFor(key)<NamedSetting>(
    provider === "custom" ? GROUP.OAUTH_USERINFO_URL : GROUP.OAUTH_ISSUER,
  );
  settings.complain(setting, {
    got: settings.text(setting),
    wants: `another place than that of ${same}`,
    fix: `${oneOut}, or give each the issuer of its own tenant`,
  });
}

/** Complains of a display name that another provider has. */
function complainOfNamesake(
  settings: Settings,
  it: ListedProvider,
  before: readonly ListedProvider[],
): void {
  const namesake = before.find((other) => labelOf(other) === labelOf(it));
  if (!namesake) return;
  const setting = renameFor(it.key ?? "")(GROUP.OAUTH_PROVIDER_NAME);
  settings.complain(setting, {
    got: settings.text(setting),
    wants: `a name by which people tell it from ${namesake.key}`,
    fix: `Use ${setting.name}=Example ID, for example`,
  });
}

/** Complains of a domain that another provider has. */
function complainOfDomains(
  settings: Settings,
  it: ListedProvider,
  before: readonly ListedProvider[],
): void {
  const taken = it.domains.find((domain) =>
    before.some(({ domains }) => domains.includes(domain))
  );
  if (taken === undefined) return;
  settings.complain(renameFor(it.key ?? "")(GROUP.OAUTH_PROVIDER_DOMAINS), {
    got: taken,
    wants: "domains that no other provider has",
    fix: "Leave it to the provider that gives out its addresses",
  });
}

/** Warns of settings that are not read because their provider is not listed. */
function doubtOtherGroups(settings: Settings, keys: readonly string[]): void {
  const known = new Set(settings.options.known?.map(({ name }) => name));
  for (const name of Object.keys(settings.environment)) {
    const [, group] = /^OAUTH_([A-Z0-9]+)_(?:CLIENT_ID|PROVIDER)$/.exec(name) ??
      [];
    const isOther = group !== undefined && !known.has(name) &&
      !keys.includes(group.toLowerCase());
    if (!isOther || !settings.text({ name })) continue;
    settings.doubts.push(
      `${name} is not read: OAUTH_PROVIDER ` +
        (keys.length > 0
          ? `does not list ${group.toLowerCase()}`
          : "names one provider, whose settings have no such name in them"),
    );
  }
}
