/**
 * The protocol generation of each MCP server, and our open sessions at servers
 * of 2025. Each account has a session of its own in each process.
 *
 * @module
 */
import type {
  Json,
  ListedTool,
  Revision,
  ServerError,
} from "../../../packages/client/mod.ts";
import { Client } from "../../../packages/client/mod.ts";
import type { ClientOptions } from "../../../packages/client/mod.ts";
import { isObject } from "../../core/json.ts";
import { LatestMap } from "../../core/latest_map.ts";

/** The time after which a server is asked again for its generation. */
const KNOWN_MILLISECONDS = 3_600_000;

/** The time without use after which a session is opened anew. */
const IDLE_MILLISECONDS = 600_000;

/** The maximum number of sessions that are kept open at a time. */
const MAX_SESSIONS = 1000;

/**
 * The maximum number of pages of a list of tools that are searched for one
 * tool.
 */
const MAX_PAGES = 40;

/**
 * The maximum length in characters of a remembered tool, and the maximum number
 * of such tools.
 */
const MAX_KEPT_CHARACTERS = 64 * 1024;
const MAX_KEPT = 200;

const NEW: Revision = "2026-07-28";
const OLD: Revision = "2025-11-25";
const REVISIONS: readonly string[] = [OLD, "2025-06-18", "2025-03-26"];

/** The options of a client for the requests of one account. */
export type Way = Pick<ClientOptions, "revision" | "sessionId" | "nextId">;

export class Connections {
  readonly #speaks = new LatestMap<Promise<Revision>>(1000);
  readonly #sessions = new LatestMap<Promise<Way>>(MAX_SESSIONS);
  readonly #listed = new LatestMap<ListedTool[]>(MAX_KEPT);

  /**
   * Finds the options for requests; asks the server if they are not known.
   *
   * @param service the name of the server
   * @param connection the name of the account, and of the capabilities of its
   * client
   */
  async find(
    service: string,
    connection: string,
    options: ClientOptions,
  ): Promise<Way> {
    const revision = await this.#once(
      this.#speaks,
      service,
      KNOWN_MILLISECONDS,
      () => generationOf(options),
    );
    if (revision === NEW) return { revision };
    return await this.#once(
      this.#sessions,
      connection,
      IDLE_MILLISECONDS,
      () => openSession(options),
    ).catch((error) => {
      // The server may speak another generation by now.
      this.#speaks.delete(service);
      throw error;
    });
  }

  /** Forgets a session that the server does not know any more. */
  forget(service: string, connection: string): void {
    this.#sessions.delete(connection);
    this.#speaks.delete(service);
  }

  /**
   * Returns the tool of that name as {@linkcode list} has found it; empty if no
   * call had to look for the tool.
   */
  listed(connection: string, tool: string): ListedTool[] {
    return this.#listed.get(JSON.stringify([connection, tool])) ?? [];
  }

  /**
   * Looks for a tool in its server's list, to know which arguments are sent as
   * headers too (MCP 2026-07-28, Transports, Custom Headers).
   */
  async list(
    connection: string,
    tool: string,
    client: Client,
    signal: AbortSignal,
  ): Promise<ListedTool[]> {
    const { items } = await client
      .list("tools/list", "tools", MAX_PAGES, { signal });
    const found = items.filter((it): it is Json & ListedTool =>
      it.name === tool && isObject(it.inputSchema)
    ).slice(0, 1);
    if (JSON.stringify(found).length <= MAX_KEPT_CHARACTERS) {
      const name = JSON.stringify([connection, tool]);
      this.#listed.set(name, found, KNOWN_MILLISECONDS);
    }
    return found;
  }

  /**
   * Returns the known value, or requests it once for all callers that need it
   * now.
   */
  async #once<T>(
    map: LatestMap<Promise<T>>,
    name: string,
    milliseconds: number,
    ask: () => Promise<T>,
  ): Promise<T> {
    const known = map.get(name);
    const asked = known ?? ask();
    map.set(name, asked, milliseconds);
    try {
      return await asked;
    } catch (error) {
      if (map.get(name) === asked) map.delete(name);
      // The caller who asked first may have left; this one asks anew.
      if (known === undefined) throw error;
      return await this.#once(map, name, milliseconds, ask);
    }
  }
}

/** Asks a server which generation it speaks. */
async function generationOf(options: ClientOptions): Promise<Revision> {
  const client = new Client({ ...options, revision: NEW });
  try {
    const { supportedVersions } = await client.discover();
    return Array.isArray(supportedVersions) && supportedVersions.includes(NEW)
      ? NEW
      : OLD;
  } catch (error) {
    const status = statusOf(error);
    // A server of 2025 refuses the method, or a request without a session.
    if (status === undefined || status >= 500 || [403, 429].includes(status)) {
      throw error;
    }
    return OLD;
  }
}

/** Opens a session of 2025. */
async function openSession(options: ClientOptions): Promise<Way> {
  let last = 0;
  const nextId = () => ++last;
  const client = new Client({ ...options, revision: OLD, nextId });
  const { protocolVersion }: Json = await client.discover();
  if (!REVISIONS.includes(`${protocolVersion}`)) {
    throw new Error("The answer is of a revision that is not known");
  }
  const revision = protocolVersion as Revision;
  // A server without sessions gives no id.
  return { revision, nextId, sessionId: await client.sessionId() ?? "" };
}

/** Finds the HTTP status of an answer that a client could not read, or refused. */
export function statusOf(error: unknown): number | undefined {
  const { response, status = response?.status } = error as
    & Partial<ServerError>
    & { status?: number };
  return status;
}
