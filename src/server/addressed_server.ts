/**
 * The server at each of its public addresses: a gate, the endpoint of calls,
 * and the rest, which is loaded with the first request for it.
 *
 * @module
 */
import { gateOfDoors, staticDoors } from "../auth/doors/doors.ts";
import {
  anonymousGate,
  type Gate,
  lateGate,
  openGate,
} from "../auth/doors/gate.ts";
import { HttpError } from "../errors.ts";
import { type McpEndpoint, mcpEndpoint } from "../mcp/endpoint.ts";
import type { WaitPages } from "../mcp/exchange/page_questions.ts";
import { isTwin, loopbackOriginOf, twinsOf } from "../net/url.ts";
import { type AuthConfig, isOpen } from "../settings/auth.ts";
import type { App } from "./app.ts";
import type { ServerParts } from "./server_parts.ts";

export class AddressedServer {
  readonly gate: Gate;
  /** The pages on which people answer; undefined: no one signs in here. */
  readonly waitPages?: WaitPages;
  readonly mcp: McpEndpoint;
  #loading?: Promise<App>;

  /** @param baseUrl its address; undefined as long as it is not known */
  constructor(
    private readonly parts: ServerParts,
    private readonly baseUrl: string | undefined,
  ) {
    const { plan: { config: { auth } }, given, waits, engine } = parts;
    this.gate = given.gate ?? gateOf(auth, () => this.#loadGate());
    if (auth.oauth && baseUrl !== undefined) {
      const providerIds = auth.oauth.providers.map(({ id }) => id);
      this.waitPages = { waits, baseUrl, providerIds };
    }
    const { gate, waitPages } = this;
    this.mcp = mcpEndpoint({ ...engine, gate, waitPages });
  }

  /** Its other routes, loaded with the first request for one. */
  app(): Promise<App> {
    // A load that failed may succeed next time: a file that was away.
    return this.#loading ??= this.#loadApp().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
  }

  async close(): Promise<void> {
    await this.#loading?.then((app) => app.close(), () => {});
  }

  async #loadGate(): Promise<Gate> {
    const { callGate } = await import("./call_gate.ts");
    return await callGate(
      this.parts,
      this.#knownUrl(),
      async (key) => (await this.app()).upstream!(key),
    );
  }

  async #loadApp(): Promise<App> {
    const baseUrl = this.#knownUrl();
    const { createApp } = await import("./app.ts");
    const { gate, mcp } = this;
    return await createApp({ ...this.parts, baseUrl, gate, mcp });
  }

  /** @throws {HttpError} 500 where the server does not know its address */
  #knownUrl(): string {
    if (this.baseUrl !== undefined) return this.baseUrl;
    throw new HttpError(500, "BASE_URL is not set");
  }
}

export class AddressedServers {
  /** `BASE_URL`, or the first address that is known; undefined before. */
  #home?: string;
  readonly #servers = new Map<string | undefined, AddressedServer>();

  constructor(private readonly parts: ServerParts) {
    this.#home = parts.plan.config.baseUrl ?? parts.given.origin;
  }

  get home(): string | undefined {
    return this.#home;
  }

  /** Finds the server at an address of its own; by default at its home. */
  at(address = ""): AddressedServer {
    return this.#at(address === "" ? this.#home : address);
  }

  /**
   * The addresses whose durable work is done here, an empty one for callers who
   * are the same at all of them.
   */
  addresses(): readonly string[] {
    const { config: { baseUrl, auth } } = this.parts.plan;
    const home = this.#home;
    if (!auth.oauth || home === undefined) return [""];
    return ["", ...baseUrl === undefined ? twinsOf(home) : [home]];
  }

  /**
   * Finds the server at the address that a request was sent to. Without
   * `BASE_URL` a server is at every name of its machine, and for a client each
   * of them is a server of its own.
   */
  of(request: Request): AddressedServer {
    const home = this.#home ??= loopbackOriginOf(request);
    const { baseUrl } = this.parts.plan.config;
    const isHome = baseUrl !== undefined || home === undefined ||
      request.url.startsWith(`${home}/`);
    if (isHome) return this.#at(home);
    const { origin } = new URL(request.url);
    return this.#at(isTwin(origin, home) ? origin : home);
  }

  async close(): Promise<void> {
    for (const server of this.#servers.values()) await server.close();
  }

  #at(baseUrl: string | undefined): AddressedServer {
    let server = this.#servers.get(baseUrl);
    if (server === undefined) {
      server = new AddressedServer(this.parts, baseUrl);
      this.#servers.set(baseUrl, server);
    }
    return server;
  }
}

/** Makes the gate of the strategies; some are loaded with the first call. */
function gateOf(auth: AuthConfig, load: () => Promise<Gate>): Gate {
  if (isOpen(auth)) return openGate;
  if (auth.oauth || auth.jwt) return lateGate(load);
  const gate = gateOfDoors(staticDoors(auth));
  return auth.anonymous
    ? anonymousGate(gate, { keyHeader: auth.apiKey?.header })
    : gate;
}
