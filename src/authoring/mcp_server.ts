/**
 * `mcpServer()`.
 *
 * @module
 */
import type {
  McpServer,
  McpServerOptions,
  OAuthAccount,
  OpenMcpServer,
  PersonalKey,
} from "./account.ts";
import * as kinds from "./options.ts";
import { faultsOf, PERSONAL_KEY, personalKey } from "./personal_key.ts";
import { SCOPE_LIST } from "./scope.ts";

/**
 * Declares another MCP server, at which tools act as their caller. The metadata
 * of that server says where people sign in, and this server registers itself
 * there. If registration is not possible there, `ACCOUNT_NAME_CLIENT_ID` and
 * `ACCOUNT_NAME_CLIENT_SECRET` name an OAuth client at the `issuer`. Its
 * redirect URI is exactly `BASE_URL/connect/NAME/callback`.
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
 * @param name the name in URLs and settings: `a` to `z`, digits and `-`
 */
export function mcpServer(
  name: string,
  options: McpServerOptions & { key: object },
): PersonalKey & { readonly isMcp: true };
/** Declares another MCP server that needs neither a sign-in nor a key. */
export function mcpServer(
  name: string,
  options: McpServerOptions & { open: true },
): OpenMcpServer;
/**
 * Declares another MCP server that people sign in to.
 */
export function mcpServer(
  name: string,
  options: McpServerOptions & { key?: undefined; open?: undefined },
): OAuthAccount & { readonly isMcp: true };
export function mcpServer(name: string, options: McpServerOptions): McpServer {
  const call = `mcpServer(${JSON.stringify(name)})`;
  const faults = kinds.faultsIn(MCP_SERVER, options, `${call}: `);
  const { url, key, scopes, issuer, title, several, open } = Object(options);
  const server = { name, api: url, title, isMcp: true } as const;
  const people = { several, scopes, issuer };
  const account = { kind: "account", ...server, ...people } as const;
  if (faults.length > 0) return kinds.withFaults(account, faults);
  const wants = "an MCP endpoint, and of an issuer";
  faults.push(...faultsOf(call, name, [url, issuer], wants));
  const signIn = scopes ?? issuer;
  if (key && signIn || open && (key ?? signIn ?? several)) {
    faults.push(
      `${call} has no sign-in with a key, and nothing of people where it is open`,
    );
  }
  const pasted = () =>
    Object.assign(
      personalKey(name, { api: url, title, several, ...key }),
      { isMcp: true } as const,
    );
  return kinds.withFaults(
    open ? { kind: "openMcpServer", ...server } : key ? pasted() : account,
    faults,
  );
}

const { help, shape, header, scheme, title, several } = PERSONAL_KEY;

/** The options of `mcpServer()`. */
export const MCP_SERVER = {
  url: kinds.required(kinds.TEXT),
  title,
  several,
  open: kinds.FLAG,
  scopes: SCOPE_LIST,
  issuer: kinds.TEXT,
  key: kinds.object({ help, shape, header, scheme }),
} satisfies kinds.Members<McpServerOptions>;
