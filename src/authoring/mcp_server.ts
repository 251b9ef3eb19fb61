/**
 * `mcpServer()`.
 *
 * @module
 */
import type {
  McpServer,
  McpServerOptions,
  OAuthAccount,
  PersonalKey,
} from "./account.ts";
import * as kinds from "./options.ts";
import { isAddress, PERSONAL_KEY } from "./personal_key.ts";
import { SCOPE_TOKEN, SCOPES } from "./scope.ts";

/**
 * Declares another MCP server, at which tools act as their caller. It says by
 * itself where people sign in, and this server registers there by itself; where
 * it cannot, `ACCOUNT_NAME_CLIENT_ID` and `ACCOUNT_NAME_CLIENT_SECRET` name an
 * application. Its redirect URI there is exactly `BASE_URL/connect/NAME/callback`.
 *
 * @example
 * ```ts
 * import { mcpServer, tool, z } from "@tool-server/tool-server";
 *
 * const linear = mcpServer("linear", { url: "https://mcp.linear.app/mcp" });
 *
 * tool({
 *   name: "report_fault",
 *   input: z.object({ title: z.string() }),
 *   needs: { linear },
 *   run: ({ title }, { needs }) => needs.linear.call("create_issue", { title }),
 * });
 * ```
 * @param name names it in addresses and settings: `a` to `z`, digits and `-`
 * @throws {TypeError} for a wrong name, address or option
 */
export function mcpServer(
  name: string,
  options: McpServerOptions & { key: object },
): PersonalKey & { readonly isMcp: true };
/**
 * Declares another MCP server that people sign in to.
 *
 * @throws {TypeError} for a wrong name, address or option
 */
export function mcpServer(
  name: string,
  options: McpServerOptions & { key?: undefined },
): OAuthAccount & { readonly isMcp: true };
export function mcpServer(name: string, options: McpServerOptions): McpServer {
  const call = `mcpServer(${JSON.stringify(name)})`;
  kinds.checkOptions(call, MCP_SERVER, options);
  const { url, key, scopes, title, several } = options;
  const isRight = /^[a-z0-9][a-z0-9-]{0,39}$/.test(name) && isAddress(url) &&
    (scopes ?? []).every((scope) => SCOPE_TOKEN.test(scope));
  if (!isRight || key && scopes) {
    throw new TypeError(
      `${call} must have a name of at most 40 letters a to z, digits and -, ` +
        "and the https address of an MCP endpoint; a scope has no space, and " +
        "there are none with a key",
    );
  }
  const service = { name, api: url, title, several, isMcp: true } as const;
  if (!key) return { kind: "account", ...service, scopes };
  const { header = "authorization", scheme = "" } = key;
  // Else every call would fail, with an error that quotes the key.
  new Headers({ [header]: `${scheme} key` });
  return { kind: "personalKey", ...service, ...key };
}

const { help, shape, header, scheme, title, several } = PERSONAL_KEY;

/** The options of `mcpServer()`. */
export const MCP_SERVER = {
  url: kinds.required(kinds.TEXT),
  title,
  several,
  scopes: SCOPES,
  key: kinds.object({ help, shape, header, scheme }),
} satisfies kinds.Members<McpServerOptions>;
