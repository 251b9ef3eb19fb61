/**
 * The socket of a connection, encrypted where its options say so.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import type { ConnectionOptions } from "./connection_options.ts";
import { tlsRequest } from "./messages.ts";

/** The pause after which a silent connection is probed. */
const KEEP_ALIVE_MILLISECONDS = 10_000;

/** The answer to {@linkcode tlsRequest} of a server that speaks TLS. */
const YES = "S".charCodeAt(0);

/**
 * Opens a socket.
 *
 * @param signal destroys the socket, also once it is open
 * @throws {Error} with the code of the system, or of TLS
 */
export async function openSocket(
  { host, port, tls }: ConnectionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MILLISECONDS,
  });
  signal.addEventListener("abort", () => socket.destroy(signal.reason));
  await event(socket, "connect");
  if (!tls) return socket;
  socket.write(tlsRequest());
  const answer = await event(socket, "data") as Buffer;
  if (answer[0] !== YES) {
    socket.destroy();
    throw new Error("The server does not support SSL connections");
  }
  if (answer.length > 1) {
    // Somebody between put words in before the encryption.
    socket.destroy();
    throw new Error("The server said more before TLS than it may");
  }
  const { connect: connectTls } = await import("node:tls");
  const secure = connectTls({ socket, host, ...tls });
  await event(secure, "secureConnect");
  return secure;
}

/** Waits for an event of a socket that is open or opening. */
function event(socket: Socket, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    socket.once(name, resolve);
    // Stays, so that no later error is without a listener.
    socket.on("error", reject);
    socket.once(
      "close",
      () => reject(new Error("Connection terminated unexpectedly")),
    );
  });
}
