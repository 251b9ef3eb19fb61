/**
 * `account()`.
 *
 * @module
 */
import * as z from "zod";
import type {
  AccountNeeds,
  OAuthAccount,
  OAuthAccountOptions,
  UpstreamAccount,
  UpstreamAccountOptions,
} from "./account.ts";
import { ACCOUNT_PRESETS, type AccountPreset } from "./account_presets.ts";
import * as kinds from "./options.ts";
import { ACCOUNT, faultsOf, PERSONAL_KEY } from "./personal_key.ts";
import { SCOPE_LIST } from "./scope.ts";
import { secret, type SettingSchemas } from "./setting.ts";

/**
 * Declares a service at which people allow this server to act for them, by OAuth
 * 2. A tool that names it in `needs` acts there as its caller.
 * `ACCOUNT_NAME_CLIENT_ID` and `ACCOUNT_NAME_CLIENT_SECRET` are the server's
 * OAuth client at the service; its redirect URI is exactly
 * `BASE_URL/connect/NAME/callback`.
 *
 * @example
 * ```ts
 * import { account, tool, ToolError } from "@tool-server/tool-server";
 *
 * const github = account("github", { scopes: ["repo"] });
 *
 * tool({
 *   name: "my_issues",
 *   needs: { github },
 *   async run(_input, { needs }) {
 *     const found = await needs.github.fetch("/issues");
 *     if (!found.ok) throw new ToolError(`GitHub answered ${found.status}.`);
 *     return await found.text();
 *   },
 * });
 * ```
 * @param name `github`, `google`, `linear`, `microsoft`, `notion` or `slack`,
 * whose addresses are known
 * @param options add scopes, and replace what is known
 */
export function account(
  name: AccountPreset,
  options?: Partial<OAuthAccountOptions>,
): OAuthAccount;
/**
 * Declares a service behind the sign-in provider: a person who signed in there
 * needs no further page, and the server needs no `SECRETS_KEYS`.
 *
 * @example
 * ```ts
 * import { account } from "@tool-server/tool-server";
 *
 * const graph = account("graph", {
 *   from: "upstream",
 *   api: "https://graph.microsoft.com/v1.0",
 *   scopes: ["https://graph.microsoft.com/Mail.Read"],
 * });
 * ```
 */
export function account(
  name: string,
  options: UpstreamAccountOptions,
): UpstreamAccount;
/**
 * Declares any other service: with its `issuer`, or with `authorize` and
 * `token`.
 *
 * @param name the name in URLs and settings: `a` to `z`, digits and `-`
 */
export function account(
  name: string,
  options: OAuthAccountOptions,
): OAuthAccount;
export function account(
  name: string,
  options: Partial<OAuthAccountOptions> | UpstreamAccountOptions = {},
): OAuthAccount | UpstreamAccount {
  if (options.from) return upstreamAccount(name, options);
  const preset: Partial<OAuthAccountOptions> =
    Object.hasOwn(ACCOUNT_PRESETS, name)
      ? ACCOUNT_PRESETS[name as AccountPreset]
      : {};
  const given = { api: preset.api, ...options };
  const faults = kinds.faultsIn(OAUTH_ACCOUNT, given, `${callOf(name)}: `);
  if (faults.length > 0) {
    return kinds.withFaults({ kind: "account", name, api: "" }, faults);
  }
  const scopes = new Set([...preset.scopes ?? [], ...options.scopes ?? []]);
  const params = { ...preset.params, ...options.params };
  const merged = { ...preset, ...options, scopes: [...scopes], params };
  const { api, issuer, authorize, token, revoke } = merged;
  const isServer = issuer !== undefined ||
    authorize !== undefined && token !== undefined;
  const whole = api !== undefined && isServer ? api : "";
  return kinds.withFaults(
    { kind: "account", name, ...merged, api: api! },
    wrongIn(name, whole, issuer, authorize, token, revoke),
  );
}

function upstreamAccount(
  name: string,
  options: UpstreamAccountOptions,
): UpstreamAccount {
  const service = { ...options, kind: "upstreamAccount", name } as const;
  const faults = kinds.faultsIn(UPSTREAM_ACCOUNT, options, `${callOf(name)}: `);
  if (faults.length > 0) return kinds.withFaults(service, faults);
  const { api, scopes = [] } = options;
  return kinds.withFaults({ ...service, scopes }, wrongIn(name, api));
}

function callOf(name: string): string {
  return `account(${JSON.stringify(name)})`;
}

/** Finds an error in a name or URLs. */
function wrongIn(name: string, ...addresses: (string | undefined)[]) {
  return faultsOf(
    callOf(name),
    name,
    addresses,
    "an API, and an issuer, or the https addresses to authorize and for a " +
      "token, or from upstream none of these",
  );
}

/** Returns the name of a setting of the OAuth client at a service. */
export function accountSetting(
  { name }: Pick<OAuthAccount, "name">,
  what: "CLIENT_ID" | "CLIENT_SECRET",
): string {
  return `ACCOUNT_${name.toUpperCase().replaceAll("-", "_")}_${what}`;
}

/** Makes the settings of the OAuth client at a service. */
export function accountSettings(service: OAuthAccount): SettingSchemas {
  const { name, title = name, isMcp, issuer } = service;
  // The value may have spaces within (RFC 6749, appendices A.1 and A.2), not
  // around it.
  const text = z.string().regex(/^\S(.*\S)?$/).refine(
    () => !isMcp || issuer,
    `mcpServer("${name}") names no issuer to which it may go`,
  ).optional();
  return {
    [accountSetting(service, "CLIENT_ID")]: text.describe(
      `This server's application at ${title}. Its redirect URI there is ` +
        `exactly BASE_URL/connect/${name}/callback.`,
    ),
    [accountSetting(service, "CLIENT_SECRET")]: secret(
      text.describe(`The secret of the application at ${title}.`),
    ),
  };
}

/** The options of `account()`. */
export const OAUTH_ACCOUNT = {
  ...ACCOUNT,
  check: kinds.FUNCTION,
  several: kinds.FLAG,
  scopes: SCOPE_LIST,
  issuer: kinds.TEXT,
  authorize: kinds.TEXT,
  token: kinds.TEXT,
  revoke: kinds.TEXT,
  params: kinds.recordOf(kinds.TEXT, "an object of texts"),
} satisfies kinds.Members<Omit<OAuthAccountOptions, "from">>;

/** The options of `account()` for a service behind the sign-in provider. */
export const UPSTREAM_ACCOUNT = {
  ...ACCOUNT,
  from: kinds.required(kinds.choice("upstream")),
  scopes: SCOPE_LIST,
  audience: kinds.TEXT,
  resource: kinds.TEXT,
  provider: kinds.TEXT,
} satisfies kinds.Members<
  Omit<UpstreamAccountOptions, "several" | "check">
>;

const NAMED = { name: kinds.required(kinds.TEXT) };
const CONNECTED = { ...NAMED, isMcp: kinds.FLAG };

export const NEEDS: kinds.Kind<AccountNeeds> = kinds.recordOf(
  kinds.definition({
    personalKey: () => ({ ...CONNECTED, ...PERSONAL_KEY }),
    account: () => ({ ...CONNECTED, ...OAUTH_ACCOUNT }),
    openMcpServer: () => ({ ...CONNECTED, ...ACCOUNT }),
    upstreamAccount: () => ({ ...NAMED, ...UPSTREAM_ACCOUNT }),
  }, "from account(), personalKey() or mcpServer()"),
  "an object of services from account(), personalKey() or mcpServer()",
);
