/**
 * Remembers which MCP revision each server speaks, and our open sessions at
 * servers of MCP 2025-11-25 and earlier. Each account has its own session in
 * each process.
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
import { unlessAborted } from "../../core/clock.ts";
import { isObject } from "../../core/json.ts";
import { LatestMap } from "../../core/cache.ts";

/** The time for which a server's revision is cached. */
const KNOWN_MILLISECONDS = 3_600_000;

/** The time without use after which a session is replaced by a new one. */
const IDLE_MILLISECONDS = 600_000;

/** The maximum number of open sessions. */
const MAX_SESSIONS = 1000;

/** The maximum number of pages of `tools/list` that are searched for a tool. */
const MAX_PAGES = 40;

/** The maximum length of a cached tool in characters. */
const MAX_KEPT_CHARACTERS = 64 * 1024;
const MAX_KEPT = 200;

const NEW: Revision = "2026-07-28";
const OLD: Revision = "2025-11-25";
const REVISIONS: readonly string[] = [OLD, "2025-06-18", "2025-03-26"];

/** The client options for one account: revision, session and request IDs. */
export type ConnectionOptions = Pick<
  ClientOptions,
  "revision" | "sessionId" | "nextId"
>;

export class McpConnections {
  readonly #speaks = new LatestMap<Promise<Revision>>(1000);
  readonly #sessions = new LatestMap<Promise<ConnectionOptions>>(MAX_SESSIONS);
  readonly #listed = new LatestMap<ListedTool[]>(MAX_KEPT);

  /**
   * Finds the client options for a server; asks the server on first use.
   *
   * @param service the name of the server
   * @param connection identifies the account and our client capabilities
   * @param signal ends the wait for the server
   */
  async find(
    service: string,
    connection: string,
    options: ClientOptions,
    signal?: AbortSignal,
  ): Promise<ConnectionOptions> {
    const revision = await this.#once(
      this.#speaks,
      service,
      KNOWN_MILLISECONDS,
      () => generationOf(options),
      signal,
    );
    if (revision === NEW) return { revision };
    return await this.#once(
      this.#sessions,
      connection,
      IDLE_MILLISECONDS,
      () => openSession(options),
      signal,
    ).catch((error) => {
      // The server may have changed its revision.
      this.#speaks.delete(service);
      throw error;
    });
  }

  /** Forgets a session that the server no longer knows, and its revision. */
  forget(service: string, connection: string): void {
    this.#sessions.delete(connection);
    this.#speaks.delete(service);
  }

  /**
   * Returns the tool that {@linkcode list} found before; else an empty array.
   */
  listed(connection: string, tool: string): ListedTool[] {
    return this.#listed.get(JSON.stringify([connection, tool])) ?? [];
  }

  /**
   * Finds a tool in its server's list. The list entry tells which arguments are
   * also sent as headers (MCP 2026-07-28, Transports, Custom Headers).
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
   * Returns the cached value, or requests it once for all simultaneous callers.
   */
  async #once<T>(
    map: LatestMap<Promise<T>>,
    name: string,
    milliseconds: number,
    ask: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const keep = (asked: Promise<T>) => {
      map.set(name, asked, milliseconds);
      asked.catch(() => {
        if (map.get(name) === asked) map.delete(name);
      });
      return unlessAborted(signal, asked);
    };
    const known = map.get(name);
    if (known === undefined) return await keep(ask());
    return await keep(known).catch((error) => {
      if (signal?.aborted) throw error;
      // The failed request was another caller's, whose call may have ended. Now
      // each caller sends a request of its own. If the server is silent, all
      // these requests time out together, not one after another.
      return keep(ask());
    });
  }
}

/** Asks a server which MCP revision it speaks. */
async function generationOf(options: ClientOptions): Promise<Revision> {
  const client = new Client({ ...options, revision: NEW });
  try {
    const { supportedVersions } = await client.discover();
    return Array.isArray(supportedVersions) && supportedVersions.includes(NEW)
      ? NEW
      : OLD;
  } catch (error) {
    const status = httpStatusOf(error);
    // A server before MCP 2026-07-28 refuses the method or the lack of a
    // session, or sends 500 or 501. A gateway (502 and above) says nothing
    // about the server.
    if (status === undefined || status > 501 || [403, 429].includes(status)) {
      throw error;
    }
    return OLD;
  }
}

/** Opens a session at a server of MCP 2025-11-25 or earlier. */
async function openSession(options: ClientOptions): Promise<ConnectionOptions> {
  let last = 0;
  const nextId = () => ++last;
  const client = new Client({ ...options, revision: OLD, nextId });
  const { protocolVersion }: Json = await client.discover();
  if (!REVISIONS.includes(`${protocolVersion}`)) {
    throw new Error("The answer is of a revision that is not known");
  }
  const revision = protocolVersion as Revision;
  // A server without sessions sends no ID.
  return { revision, nextId, sessionId: await client.sessionId() ?? "" };
}

/** Returns the HTTP status of a failed response, if the error has one. */
export function httpStatusOf(error: unknown): number | undefined {
  const { response, status = response?.status } = error as
    & Partial<ServerError>
    & { status?: number };
  return status;
}
