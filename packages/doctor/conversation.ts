/**
 * A conversation with the server by a client with credentials: its description
 * of itself, and its tools.
 *
 * @module
 */
import { Fault } from "./finding.ts";
import {
  type Answer,
  type Json,
  parseObject,
  type Site,
  statelessHeaders,
  statelessRequest,
} from "./site.ts";

/** The server's description of itself. */
export interface Introduction {
  /** `serverInfo`. */
  serverInfo: Json;
  instructions?: string;
  capabilities: Json;
  tools: readonly Json[];
  /** True if the first page of the list holds all tools. */
  isOnePage: boolean;
  /** Reads a resource. */
  read(uri: string): Promise<Json>;
  /** Lists the skills. */
  skills(): Promise<readonly Json[]>;
}

/** The most pages of a list that are read, because it may have no end. */
const MAX_PAGES = 20;

/** Makes the header that carries a token. */
export function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Meets the server, with sessions or without.
 *
 * @throws {Fault} when it refuses
 */
export async function introduce(
  site: Site,
  token: string | undefined,
): Promise<Introduction> {
  const credentials = bearer(token);
  const greeting = await site.greet(credentials);
  const hasSessions = greeting.status === 200;
  const { result } = hasSessions
    ? answerTo("initialize", greeting)
    : answerTo("server/discover", await site.discover(credentials));
  const headers: Record<string, string> = {
    ...credentials,
    "mcp-protocol-version": String(result.protocolVersion ?? "2025-11-25"),
  };
  const session = greeting.headers.get("mcp-session-id");
  if (session !== null) headers["mcp-session-id"] = session;
  if (hasSessions) {
    await site.post({
      jsonrpc: "2.0",
      method: "notifications/initialized",
    }, headers);
  }

  async function ask(method: string, params: Json): Promise<Json> {
    const name = typeof params.uri === "string"
      ? { "mcp-name": params.uri }
      : undefined;
    const answer = hasSessions
      ? await site.post({ jsonrpc: "2.0", id: 2, method, params }, headers)
      : await site.post(statelessRequest(method, params), {
        ...credentials,
        ...statelessHeaders(method),
        ...name,
      });
    return answerTo(method, answer).result;
  }

  /** Reads all items of a list; `isOnePage` if there is one page. */
  async function list(
    method: string,
    member: string,
  ): Promise<{ items: Json[]; isOnePage: boolean }> {
    const items: Json[] = [];
    let cursor: unknown;
    let pages = 0;
    do {
      const page = await ask(method, cursor === undefined ? {} : { cursor });
      const some = page[member];
      items.push(...Array.isArray(some) ? some : []);
      cursor = page.nextCursor;
    } while (cursor !== undefined && ++pages < MAX_PAGES);
    return { items, isOnePage: pages === 0 };
  }

  const { items: tools, isOnePage } = await list("tools/list", "tools");
  const about = result._meta as Json | undefined;
  const info = result.serverInfo ??
    about?.["io.modelcontextprotocol/serverInfo"];
  return {
    serverInfo: (info ?? {}) as Json,
    instructions: result.instructions as string | undefined,
    capabilities: (result.capabilities ?? {}) as Json,
    tools,
    isOnePage,
    read: (uri) => ask("resources/read", { uri }),
    skills: async () => (await list("skills/list", "skills")).items,
  };
}

function answerTo(
  method: string,
  { status, text }: Answer,
): { result: Json } {
  const fix = status === 401 || status === 403
    ? "Give a token that is good here: --token."
    : `Look at the server's log: ${method} must be answered.`;
  if (status !== 200) throw new Fault(`${method} is answered ${status}`, fix);
  const { result, error } = parseObject(method, text, fix);
  if (typeof result === "object" && result !== null) {
    return { result: result as Json };
  }
  throw new Fault(`${method} fails: ${JSON.stringify(error)}`, fix);
}
