/**
 * The sites of a server, one for each of its public addresses: a gate, the
 * endpoint of calls, and the other routes, which are loaded with the first
 * request for one.
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
import type { ServerCore } from "./server_core.ts";

/** A server at one of its public addresses. */
export class ServerSite {
  readonly gate: Gate;
  /** The pages on which people answer; undefined: no one signs in here. */
  readonly waitPages?: WaitPages;
  readonly mcp: McpEndpoint;
  #loading?: Promise<App>;

  /** @param baseUrl its address; undefined as long as it is not known */
  constructor(
    private readonly core: ServerCore,
    private readonly baseUrl: string | undefined,
  ) {
    const { plan: { config: { auth } }, given, waits, engine } = core;
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
      this.core,
      this.#knownUrl(),
      async (key) => (await this.app()).upstream!(key),
    );
  }

  async #loadApp(): Promise<App> {
    const baseUrl = this.#knownUrl();
    const { createApp } = await import("./app.ts");
    const { gate, mcp } = this;
    return await createApp({ ...this.core, baseUrl, gate, mcp });
  }

  /** @throws {HttpError} 500 where the server does not know its address */
  #knownUrl(): string {
    if (this.baseUrl !== undefined) return this.baseUrl;
    throw new HttpError(500, "BASE_URL is not set");
  }
}

/** All sites of a server, each made with the first request for it. */
export class ServerSites {
  /** `BASE_URL`, or the first address that is known; undefined before. */
  #home?: string;
  readonly #sites = new Map<string | undefined, ServerSite>();

  constructor(private readonly core: ServerCore) {
    this.#home = core.plan.config.baseUrl ?? core.given.origin;
  }

  get home(): string | undefined {
    return this.#home;
  }

  /** Finds the site at an address of the server; by default at its home. */
  at(address = ""): ServerSite {
    return this.#at(address === "" ? this.#home : address);
  }

  /**
   * The addresses whose durable work is done here, an empty one for callers who
   * are the same at all of them.
   */
  addresses(): readonly string[] {
    const { config: { baseUrl, auth } } = this.core.plan;
    const home = this.#home;
    if (!auth.oauth || home === undefined) return [""];
    return ["", ...baseUrl === undefined ? twinsOf(home) : [home]];
  }

  /**
   * Finds the site at the address that a request was sent to. Without
   * `BASE_URL` a server is at every name of its machine, and for a client each
   * of them is a server of its own.
   */
  of(request: Request): ServerSite {
    const home = this.#home ??= loopbackOriginOf(request);
    const { baseUrl } = this.core.plan.config;
    const isHome = baseUrl !== undefined || home === undefined ||
      request.url.startsWith(`${home}/`);
    if (isHome) return this.#at(home);
    const { origin } = new URL(request.url);
    return this.#at(isTwin(origin, home) ? origin : home);
  }

  async close(): Promise<void> {
    for (const site of this.#sites.values()) await site.close();
  }

  #at(baseUrl: string | undefined): ServerSite {
    let site = this.#sites.get(baseUrl);
    if (site === undefined) {
      site = new ServerSite(this.core, baseUrl);
      this.#sites.set(baseUrl, site);
    }
    return site;
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
