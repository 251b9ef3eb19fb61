/**
 * A name for a server that may move: connections go to where it is when they
 * begin.
 *
 * @module
 */

/** Passes connections on to a port that may change. */
export class Relay implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #relays = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;
  /** Is sent to the client before the server's next answer. */
  before?: Uint8Array;
  /** Holds what either side sends back for as long as the promise. */
  hold: (bytes: Uint8Array) => Promise<unknown> | undefined = () => undefined;
  #hangs = 0;
  #accepted = 0;

  /** @param target the port that connections go to */
  constructor(public target: number) {
    this.#accepting = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      const relay = this.#relay(client);
      this.#relays.add(relay);
      relay.finally(() => this.#relays.delete(relay));
    }
  }

  async #relay(client: Deno.Conn): Promise<void> {
    let server: Deno.Conn;
    try {
      server = await Deno.connect({
        hostname: "127.0.0.1",
        port: this.target,
      });
    } catch {
      return client.close();
    }
    const both = [client, server];
    const number = ++this.#accepted;
    for (const connection of both) this.#open.add(connection);
    await Promise.allSettled([
      client.readable.pipeThrough(this.#passing(number)).pipeTo(
        server.writable,
      ),
      server.readable.pipeThrough(this.#passing(number))
        .pipeThrough(this.#adding()).pipeTo(client.writable),
    ]);
    for (const connection of both) this.#open.delete(connection);
  }

  /** Passes on what either side sends, until the connection is to hang. */
  #passing(number: number): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform: async (bytes, controller) => {
        await this.hold(bytes);
        if (number > this.#hangs) controller.enqueue(bytes);
      },
    });
  }

  #adding(): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform: (answer, controller) => {
        if (this.before) controller.enqueue(this.before);
        this.before = undefined;
        controller.enqueue(answer);
      },
    });
  }

  /** The connections that were ever accepted. */
  get accepted(): number {
    return this.#accepted;
  }

  /** The connections that are open. */
  get connections(): number {
    return this.#open.size / 2;
  }

  /** Lets nothing more pass on the connections that are open. */
  hang(): void {
    this.#hangs = this.#accepted;
  }

  /** Cuts every connection. */
  cut(): void {
    for (const connection of this.#open) {
      try {
        connection.close();
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    this.cut();
    await this.#accepting.catch(() => {});
    await Promise.allSettled(this.#relays);
  }
}
