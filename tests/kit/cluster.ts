/**
 * Several processes on one database file, each with the interface of a server
 * in this process.
 *
 * @module
 */
import type { Server } from "../../src/core/server/server_options.ts";
import { type ServerProcess, startServerProcess } from "./server_process.ts";
import { freshSchema, openSharedKv, POSTGRES } from "./databases.ts";
import type { Json } from "./message.ts";
import { resultOf } from "./answer.ts";
import { TestServer } from "./server.ts";

/** A server in another process. */
export class Member extends TestServer {
  constructor(readonly process: ServerProcess, kv: Deno.Kv) {
    super(remoteApp(process), kv);
  }

  /** Kills the process, as a crash would. */
  crash(): Promise<void> {
    return this.process.crash();
  }

  /** Calls a tool of the 2026 generation and returns its result. */
  async tool(name: string, args: Json = {}): Promise<Json> {
    return await resultOf(this.call("tools/call", { name, arguments: args }));
  }
}

/** Two processes and the database they share. */
export interface Cluster extends AsyncDisposable {
  a: Member;
  b: Member;
  kv: Deno.Kv;
}

/** Starts two processes on a new database file. */
export async function startCluster(
  env?: Record<string, string>,
): Promise<Cluster> {
  const directory = await Deno.makeTempDir({ prefix: "cluster-" });
  const kvPath = POSTGRES ? freshSchema() : `${directory}/kv.db`;
  const kv = await openSharedKv(kvPath);
  const options = { entry: "tests/cluster/server.ts", kvPath, env };
  const [a, b] = await Promise.all([
    startServerProcess(options),
    startServerProcess(options),
  ]);
  const members = [new Member(a, kv), new Member(b, kv)];
  return {
    a: members[0],
    b: members[1],
    kv,
    async [Symbol.asyncDispose]() {
      for (const member of members) await member[Symbol.asyncDispose]();
      await kv[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Makes a {@linkcode Server} of a process elsewhere, over the network. */
function remoteApp(process: ServerProcess): Server {
  const close = async () => await process[Symbol.asyncDispose]();
  return {
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(process.url + pathname + search, request));
    },
    wake: async () => {},
    running: 0,
    endStreams() {},
    stop() {},
    start: async () => {},
    close,
    [Symbol.asyncDispose]: close,
  };
}
