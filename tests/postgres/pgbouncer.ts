/**
 * A pgbouncer before the PostgreSQL of a test.
 *
 * @module
 */
import { freePort } from "../kit/port.ts";
import { PASSWORD, ROLE, unprivileged } from "../kit/postgres.ts";
import { until } from "../kit/wait.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

/** True if Debian's package is installed. */
export function hasPgbouncer(): boolean {
  try {
    return Deno.statSync(PROGRAM).isFile;
  } catch {
    return false;
  }
}

/** A pooler on a port that the system picks. */
export class Pgbouncer implements AsyncDisposable {
  #child?: Deno.ChildProcess;

  private constructor(
    readonly port: number,
    private readonly folder: string,
  ) {}

  /** Starts one, in `session` or `transaction` mode. */
  static async start(mode: string, serverPort: string): Promise<Pgbouncer> {
    const port = freePort();
    const folder = await Deno.makeTempDir({ prefix: "pgbouncer-" });
    const file = (name: string) => `${folder}/${name}`;
    await Deno.writeTextFile(file("users"), `"${ROLE}" "${PASSWORD}"\n`);
    await Deno.writeTextFile(
      file("pgbouncer.ini"),
      `[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${file("users")}
pool_mode = ${mode}
default_pool_size = 20
`,
    );
    const user = unprivileged();
    if (user.uid !== undefined) {
      for (const path of [folder, file("users"), file("pgbouncer.ini")]) {
        await Deno.chown(path, user.uid, user.gid!);
      }
    }
    const pgbouncer = new Pgbouncer(port, folder);
    await pgbouncer.start();
    return pgbouncer;
  }

  /** Starts it, with the settings that it had. */
  async start(): Promise<void> {
    this.#child = new Deno.Command(PROGRAM, {
      args: ["--quiet", `${this.folder}/pgbouncer.ini`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
      ...unprivileged(),
    }).spawn();
    const { port } = this;
    await until(() =>
      Deno.connect({ hostname: "127.0.0.1", port }).then(
        (connection) => (connection.close(), true),
        () => false,
      )
    );
  }

  /** Kills it; each connection through it is cut. */
  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.status;
    this.#child = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.folder, { recursive: true });
  }
}
