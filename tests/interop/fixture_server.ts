/**
 * The server for the clients here: the fixtures of the conformance suite.
 * @module
 */
import {
  type ServerProcess,
  startServerProcess,
} from "../kit/server_process.ts";

const ENTRY = "tests/conformance/server.ts";

/** Runs `use` against a server of its own. */
export async function withServer(
  use: (server: ServerProcess) => Promise<void>,
): Promise<void> {
  await using server = await startServerProcess({ entry: ENTRY });
  await use(server);
}

/** Starts one of several servers on one database file. */
export function startOn(kvPath: string): Promise<ServerProcess> {
  return startServerProcess({ entry: ENTRY, kvPath });
}
