/**
 * `account()`.
 *
 * @module
 */
import * as z from "zod";
import type { OAuthAccount, OAuthAccountOptions } from "./account.ts";
import { ACCOUNT_PRESETS, type AccountPreset } from "./account_presets.ts";
import { isAddress } from "./personal_key.ts";
import { secret, type SettingSchemas } from "./setting.ts";

/**
 * Declares a service at which people allow this server to act for them, by OAuth
 * 2. A tool that names it in `needs` acts there as its caller. The server's
 * application at the service is set by `ACCOUNT_NAME_CLIENT_ID` and
 * `ACCOUNT_NAME_CLIENT_SECRET`; its redirect URI there is exactly
 * `BASE_URL/connect/NAME/callback`.
 *
 * @example
 * ```ts
 * import { account, tool } from "@tool-server/tool-server";
 *
 * const github = account("github", { scopes: ["repo"] });
 *
 * tool({
 *   name: "my_issues",
 *   needs: { github },
 *   run: async (_input, { needs }) =>
 *     await (await needs.github.fetch("/issues")).text(),
 * });
 * ```
 * @param name `github`, `google`, `linear`, `microsoft`, `notion` or `slack`,
 * whose addresses are known
 * @param options add scopes, and replace what is known
 * @throws {TypeError} for a wrong address
 */
export function account(
  name: AccountPreset,
  options?: Partial<OAuthAccountOptions>,
): OAuthAccount;
/**
 * Declares any other service: with its `issuer`, or with `authorize` and `token`.
 *
 * @param name names it in addresses and settings: `a` to `z`, digits and `-`
 * @throws {TypeError} for a wrong name or address
 */
export function account(
  name: string,
  options: OAuthAccountOptions,
): OAuthAccount;
export function account(
  name: string,
  options: Partial<OAuthAccountOptions> = {},
): OAuthAccount {
  const preset: Partial<OAuthAccountOptions> =
    Object.hasOwn(ACCOUNT_PRESETS, name)
      ? ACCOUNT_PRESETS[name as AccountPreset]
      : {};
  const scopes = new Set([...preset.scopes ?? [], ...options.scopes ?? []]);
  const params = { ...preset.params, ...options.params };
  const merged = { ...preset, ...options, scopes: [...scopes], params };
  const { api, issuer, authorize, token, revoke } = merged;
  const isServer = issuer !== undefined ||
    authorize !== undefined && token !== undefined;
  const addresses = [api, issuer, authorize, token, revoke]
    .filter((it) => it !== undefined);
  if (
    !/^[a-z0-9][a-z0-9-]{0,39}$/.test(name) || api === undefined ||
    !isServer || !addresses.every(isAddress) ||
    [...scopes].some((scope) => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
  ) {
    throw new TypeError(
      `account(${
        JSON.stringify(name)
      }) must have a name of at most 40 letters ` +
        "a to z, digits and -, the https address of an API, and an issuer, or " +
        "the https addresses to authorize and for a token; a scope has no space",
    );
  }
  return { kind: "account", name, ...merged, api };
}

/** Names a setting of the application at a service. */
export function accountSetting(
  { name }: Pick<OAuthAccount, "name">,
  what: "CLIENT_ID" | "CLIENT_SECRET",
): string {
  return `ACCOUNT_${name.toUpperCase().replaceAll("-", "_")}_${what}`;
}

/** Makes the settings of the application at a service. */
export function accountSettings(service: OAuthAccount): SettingSchemas {
  const { name, title = name } = service;
  const text = z.string().optional();
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
