/**
 * A proxy in front of denokv whose connections break at the worst moment: a
 * write has happened, and its answer is lost.
 *
 * @module
 */

/** Passes everything on, and cuts connections. */
export class CuttingProxy implements AsyncDisposable {
  /** Connections that were cut. */
  cuts = 0;
  #writes = 0;
  readonly #every: number;
  /** Functions that cut a connection, by its port towards the server. */
  readonly #cutters = new Map<number, () => void>();
  readonly #relays = new Set<Promise<void>>();
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #accepting: Promise<void>;

  /**
   * @param target origin of denokv
   * @param every the number of writes after which a connection is cut
   */
  constructor(target: string, every: number) {
    this.#every = every;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request, { remoteAddr }) => this.#pass(request, target, remoteAddr.port),
    );
    this.#accepting = this.#accept();
  }

  /** The address it listens on, for `KV_PATH`. */
  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  async #pass(
    { url, method, headers, body }: Request,
    target: string,
    port: number,
  ): Promise<Response> {
    const { pathname } = new URL(url);
    const response = await fetch(target + pathname, { method, headers, body });
    const isCut = pathname.endsWith("/atomic_write") &&
      ++this.#writes % this.#every === 0;
    if (!isCut) return response;
    await response.body?.cancel();
    this.cuts++;
    this.#cutters.get(port)?.();
    return new Response();
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      const relay = this.#relay(client);
      this.#relays.add(relay);
      relay.finally(() => this.#relays.delete(relay));
    }
  }

  async #relay(client: Deno.TcpConn): Promise<void> {
    const { hostname, port: target } = this.#server.addr;
    const server = await Deno.connect({ hostname, port: target });
    const { port } = server.localAddr;
    const ending = new AbortController();
    const cut = () => ending.abort();
    this.#cutters.set(port, cut);
    const { signal } = ending;
    await Promise.allSettled([
      client.readable.pipeTo(server.writable, { signal }).finally(cut),
      server.readable.pipeTo(client.writable, { signal }).finally(cut),
    ]);
    this.#cutters.delete(port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const cut of this.#cutters.values()) cut();
    await this.#accepting;
    await Promise.all(this.#relays);
    await this.#server.shutdown();
  }
}
