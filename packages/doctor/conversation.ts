/**
 * Requests with credentials, by which the doctor reads the server's description
 * of itself and its tools.
 *
 * @module
 */
import type {
  Client,
  ClientOptions,
  Json,
  ServerError,
} from "../client/mod.ts";
import { Fault } from "./finding.ts";

/** The server's description of itself. */
export interface ServerDescription {
  serverInfo: Json;
  instructions?: string;
  extensions: Json;
  tools: readonly Json[];
  /** True if the first page of the list has all tools. */
  isOnePage: boolean;
  /**
   * Reads the first entry of a resource's `contents`; `{}` if there is none.
   */
  read(uri: string): Promise<Json>;
  skills(): Promise<readonly Json[]>;
}

/**
 * The maximum number of pages of a list that are read, because a list may have
 * no end.
 */
const MAX_PAGES = 20;

/**
 * Reads the server's description of itself, with or without MCP sessions.
 *
 * @throws {Fault}
 */
export async function describeServer(
  clientOf: (options: Omit<ClientOptions, "url">) => Client,
  token: string | undefined,
): Promise<ServerDescription> {
  const headers = (): Record<string, string> =>
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  let client = clientOf({ revision: "2025-11-25", headers });
  let result: Json;
  try {
    result = await client.discover();
  } catch (error) {
    if (error instanceof Fault) throw error;
    client = clientOf({ revision: "2026-07-28", headers });
    result = await answered("server/discover", () => client.discover());
  }

  const list = (method: string, member: string) =>
    answered(method, () => client.list(method, member, MAX_PAGES));

  const { items: tools, pages } = await list("tools/list", "tools");
  const about = result._meta as Json | undefined;
  const { instructions } = result;
  const info = result.serverInfo ??
    about?.["io.modelcontextprotocol/serverInfo"];
  return {
    serverInfo: (info ?? {}) as Json,
    instructions: typeof instructions === "string" ? instructions : undefined,
    extensions: Object(Object(result.capabilities).extensions),
    tools,
    isOnePage: pages === 1,
    async read(uri) {
      const { contents } = await answered(
        "resources/read",
        () => client.request("resources/read", { uri }),
      );
      return Object(Array.isArray(contents) ? contents[0] : undefined);
    },
    skills: async () => (await list("skills/list", "skills")).items,
  };
}

/** @throws {Fault} if the request is refused */
async function answered<T>(method: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof Fault) throw error;
    const { message, code, response, status = response?.status } = error as
      & ServerError
      & { status?: number };
    const fix = status === 401 || status === 403
      ? "Give a token that is good here: --token."
      : `Look at the server's log: ${method} must be answered.`;
    throw status === 200 && code !== undefined
      ? new Fault(`${method} fails: ${message}`, fix)
      : new Fault(`${method} is answered ${status ?? message}`, fix);
  }
}
