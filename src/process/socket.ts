/**
 * The socket. Without a file descriptor to spare Deno's accept loop ends, and
 * its port is closed for good: this socket listens again.
 *
 * @module
 */
import type { Logger } from "../log.ts";

/** Answers requests. */
export type Handler = Deno.ServeHandler<Deno.NetAddr>;

const FIRST_PAUSE_MILLISECONDS = 100;
const LONGEST_PAUSE_MILLISECONDS = 2000;
/** After so long without a steady socket, a new process may do better. */
const PATIENCE_MILLISECONDS = 15_000;
/** A socket that has lasted this long is steady. */
const STEADY_MILLISECONDS = 5000;

/** Where to listen. */
export interface SocketOptions {
  host: string;
  port: number;
  /** Whether other processes may listen there too; wants `--unstable-net`. */
  reusePort: boolean;
  log: Logger;
}

/** A process's socket, for as long as it lives. */
export class Socket {
  readonly addr: Deno.NetAddr;
  readonly #reusePort: boolean;
  readonly #handler: Handler;
  readonly #log: Logger;
  readonly #onLost: (error: unknown) => void;
  /** One that accepts no more may still have connections. */
  readonly #servers = new Set<Deno.HttpServer>();
  #isLeaving = false;
  #isClosing = false;
  #listenedMilliseconds = 0;
  /** When it was last steady. */
  #steadyMilliseconds = Date.now();
  #pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;

  /**
   * Listens.
   *
   * @param onLost is told when listening again has failed for good
   * @throws when the address cannot be listened on
   */
  constructor(
    { host, port, reusePort, log }: SocketOptions,
    handler: Handler,
    { onLost }: { onLost(error: unknown): void },
  ) {
    this.#log = log;
    this.#onLost = onLost;
    this.#handler = (request, info) =>
      this.#isLeaving
        ? lastOfConnection(handler(request, info))
        : handler(request, info);
    this.#reusePort = reusePort;
    this.addr = this.#listen(host, port);
  }

  /**
   * Goes on, but each answer is the last of its connection, so that none is
   * in use when the socket closes. Deno leaves it to the client to close it:
   * nothing that the client has sent is lost.
   */
  leave(): void {
    this.#isLeaving = true;
  }

  /**
   * Accepts no more, and resolves when every connection has ended. Connections
   * that wait to be accepted are reset, idle ones are closed, and a body that
   * is still arriving cannot be read any more (denoland/deno#36809).
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(
      [...this.#servers].map((server) => server.shutdown()),
    );
  }

  #listen(hostname: string, port: number): Deno.NetAddr {
    const server = Deno.serve(
      { hostname, port, reusePort: this.#reusePort, onListen() {} },
      this.#handler,
    );
    this.#servers.add(server);
    this.#listenedMilliseconds = Date.now();
    server.finished.then(
      () => this.#servers.delete(server),
      (error) => this.#listenAgain(error),
    );
    return server.addr;
  }

  async #listenAgain(error: unknown): Promise<void> {
    const time = Date.now();
    if (time - this.#listenedMilliseconds >= STEADY_MILLISECONDS) {
      this.#steadyMilliseconds = time;
      this.#pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;
    }
    this.#log.error("No connections are accepted, listening again", { error });
    for (let lost = error; !this.#isClosing;) {
      if (Date.now() - this.#steadyMilliseconds > PATIENCE_MILLISECONDS) {
        return this.#onLost(lost);
      }
      await pause(this.#pauseMilliseconds);
      this.#pauseMilliseconds = Math.min(
        2 * this.#pauseMilliseconds,
        LONGEST_PAUSE_MILLISECONDS,
      );
      try {
        this.#listen(this.addr.hostname, this.addr.port);
        return;
      } catch (error) {
        lost = error;
      }
    }
  }
}

/** RFC 9112 §9.6 */
async function lastOfConnection(
  answering: Response | Promise<Response>,
): Promise<Response> {
  const response = await answering;
  if (response.status === 101) return response;
  // Headers of what an author's route fetched elsewhere cannot be changed.
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.set("connection", "close");
  return new Response(response.body, { status, statusText, headers });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
