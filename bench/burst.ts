/**
 * A load so short that two servers can take turns many times a second: one
 * call on each of some connections, all at once, a few times over.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { type Call, type Endpoint, requestText } from "./client.ts";

const CONNECTIONS = 16;
const REPETITIONS = 20;

/** The number of calls of one burst. */
export const BURST_CALLS = CONNECTIONS * REPETITIONS;

/** Connections that stay open, and the request that they repeat. */
export class Burst implements Disposable {
  private constructor(
    private readonly connections: readonly Connection[],
    private readonly request: Uint8Array,
  ) {}

  static async prepare(endpoint: Endpoint, call: Call): Promise<Burst> {
    const { port } = endpoint;
    const text = (await requestText(endpoint, call)).replace(
      /ID#+/,
      "1".repeat(10),
    );
    const connections = await Promise.all(
      Array.from(
        { length: CONNECTIONS },
        () => Deno.connect({ hostname: "127.0.0.1", port }),
      ),
    );
    return new Burst(
      connections.map((connection) => new Connection(connection)),
      new TextEncoder().encode(text),
    );
  }

  /** @throws {Error} when a call is not answered 200 */
  async run(): Promise<void> {
    using _awake = new Awake();
    for (let count = 0; count < REPETITIONS; count++) {
      await Promise.all(
        this.connections.map((connection) => connection.call(this.request)),
      );
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.connections) connection.close();
  }
}

/**
 * Keeps this process from sleeping until it is disposed of. Waking it takes
 * microseconds on a virtual machine, and counts as processor time of the
 * process that writes to it: a quick server, which writes while the load is
 * still being sent, would not pay for it, and a slower one would.
 */
class Awake implements Disposable {
  #isOver = false;

  constructor() {
    const turn = () => {
      if (!this.#isOver) setImmediate(turn);
    };
    turn();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }
}

/** A connection with the little HTTP/1.1 that the servers' answers need. */
class Connection {
  readonly #buffer = new Uint8Array(65_536);

  constructor(private readonly connection: Deno.TcpConn) {
    connection.setNoDelay(true);
  }

  async call(request: Uint8Array): Promise<void> {
    await this.connection.write(request);
    let length = 0;
    for (let text = ""; !isWhole(text);) {
      const read = await this.connection.read(this.#buffer.subarray(length));
      if (read === null) throw new Error("a connection was closed");
      length += read;
      text = latin1.decode(this.#buffer.subarray(0, length));
      if (!text.startsWith("HTTP/1.1 200")) throw new Error(text);
    }
  }

  close(): void {
    this.connection.close();
  }
}

const latin1 = new TextDecoder("latin1");

/** True if an answer is whole, by its length or its last chunk. */
function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return length === undefined
    ? text.endsWith("0\r\n\r\n")
    : text.length >= end + 4 + Number(length);
}
