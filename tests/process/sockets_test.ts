/** A server whose file descriptors are used up by clients. */
import assert from "node:assert/strict";
import { until } from "../kit/wait.ts";
import { openSession, Process, startArgs } from "../kit/process.ts";

/**
 * The number of file descriptors: a hundred connections are too many for it.
 */
const DESCRIPTORS = 60;

async function startLimited(): Promise<Process> {
  const command = ["deno", ...await startArgs()]
    .map((word) => word === "deno" ? Deno.execPath() : word)
    .map((word) => `'${word}'`).join(" ");
  return new Process(["-c", `ulimit -n ${DESCRIPTORS}; exec ${command}`], {
    command: "bash",
    env: { KV_PATH: ":memory:" },
  });
}

/** Opens connections until the server accepts no more. */
async function exhaust(url: string): Promise<Deno.Conn[]> {
  const { hostname, port } = new URL(url);
  const connections: Deno.Conn[] = [];
  try {
    for (let n = 0; n < 2 * DESCRIPTORS; n++) {
      connections.push(await Deno.connect({ hostname, port: Number(port) }));
    }
  } catch (error) {
    // A socket that was reset before its address was looked up is not
    // connected.
    const { ConnectionRefused, ConnectionReset, NotConnected } = Deno.errors;
    const isFull = [ConnectionRefused, ConnectionReset, NotConnected]
      .some((kind) => error instanceof kind);
    assert(isFull, String(error));
  }
  return connections;
}

Deno.test("a server that ran out of sockets says so and serves again", async () => {
  await using server = await startLimited();
  const url = await server.url();
  const connections = await exhaust(url);
  await server.prints(/No connections are accepted, listening again/);
  for (const connection of connections) connection.close();
  await until(() => openSession(url).then(() => true, () => false));
});

Deno.test("a server that gets no sockets back ends, and not as if all were well", async () => {
  await using server = await startLimited();
  const url = await server.url();
  let hasEnded = false;
  const ended = server.end().finally(() => hasEnded = true);
  const connections: Deno.Conn[] = [];
  try {
    await until(async () => {
      connections.push(...await exhaust(url));
      return hasEnded;
    });
    assert.equal(await ended, 1);
    assert.match(server.output, /Connections cannot be accepted any more/);
  } finally {
    for (const connection of connections) connection.close();
  }
});
