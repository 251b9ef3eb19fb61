/**
 * The listening socket. If there is no free file descriptor, Deno stops
 * accepting connections and the port stays closed; this socket then listens
 * again.
 * @module
 */
import { pause } from "../clock.ts";
import { StalledError } from "../http/outgoing_body.ts";
import type { Logger } from "../log/log.ts";

export type Handler = Deno.ServeHandler<Deno.NetAddr>;

const FIRST_PAUSE_MILLISECONDS = 100;
const MAX_PAUSE_MILLISECONDS = 2000;
/**
 * The time after which the process stops trying to listen, if no socket lasts.
 */
const PATIENCE_MILLISECONDS = 15_000;
/** A socket is steady after this time. */
const STEADY_MILLISECONDS = 5000;

interface SocketOptions {
  host: string;
  port: number;
  /**
   * True if other processes may listen on the same port; needs
   * `--unstable-net`.
   */
  reusePort: boolean;
  log: Logger;
}

/** The listening socket of a process. */
export class Socket {
  readonly addr: Deno.NetAddr;
  readonly #reusePort: boolean;
  readonly #handler: Handler;
  readonly #log: Logger;
  readonly #onLost: (error: unknown) => void;
  /** All servers, including those that only finish their connections. */
  readonly #servers = new Set<Deno.HttpServer>();
  #isLeaving = false;
  #isClosing = false;
  #listenedMilliseconds = 0;
  /** The time at which the socket was last steady. */
  #steadyMilliseconds = performance.now();
  #pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;

  /**
   * Starts to listen.
   *
   * @param onLost called if listening again has failed for good
   * @throws if the address cannot be listened on
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
   * Makes each response from now on the last of its connection, so that no
   * connection is in use when the socket closes. Requests are still accepted.
   * Deno lets the client close the connection, so nothing that the client has
   * sent is lost.
   */
  leave(): void {
    this.#isLeaving = true;
  }

  /**
   * Accepts no more connections, and resolves when all have ended. Connections
   * that are not accepted yet are reset, idle ones are closed, and a body that
   * is still arriving can no longer be read (denoland/deno#36809).
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(
      [...this.#servers].map((server) => server.shutdown()),
    );
  }

  #listen(hostname: string, port: number): Deno.NetAddr {
    const server = Deno.serve(
      {
        hostname,
        port,
        reusePort: this.#reusePort,
        onListen() {},
        onError: (error) => this.#onBrokenOff(error),
      },
      this.#handler,
    );
    this.#servers.add(server);
    this.#listenedMilliseconds = performance.now();
    server.finished.then(
      () => this.#servers.delete(server),
      (error) => this.#listenAgain(error),
    );
    return server.addr;
  }

  /**
   * Logs that the body of a response has failed. The handler itself never
   * throws.
   */
  #onBrokenOff(error: unknown): Response {
    if (!(error instanceof StalledError)) {
      this.#log.error("An answer was broken off", { error });
    }
    return new Response(null, { status: 500 });
  }

  async #listenAgain(error: unknown): Promise<void> {
    const time = performance.now();
    if (time - this.#listenedMilliseconds >= STEADY_MILLISECONDS) {
      this.#steadyMilliseconds = time;
      this.#pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;
    }
    this.#log.error("No connections are accepted, listening again", { error });
    for (let lost = error; !this.#isClosing;) {
      if (
        performance.now() - this.#steadyMilliseconds > PATIENCE_MILLISECONDS
      ) {
        return this.#onLost(lost);
      }
      await pause(this.#pauseMilliseconds);
      this.#pauseMilliseconds = Math.min(
        2 * this.#pauseMilliseconds,
        MAX_PAUSE_MILLISECONDS,
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

/** Makes a response the last of its connection (RFC 9112 §9.6). */
async function lastOfConnection(
  answering: Response | Promise<Response>,
): Promise<Response> {
  const response = await answering;
  if (response.status === 101) return response;
  // Copied, because the headers of a response that an author's route fetched
  // are immutable.
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.set("connection", "close");
  return new Response(response.body, { status, statusText, headers });
}
