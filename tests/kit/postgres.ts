/**
 * A PostgreSQL of the tests' own: Debian's programs, a folder of its own, a port
 * that the system picks, and a user without rights.
 *
 * @module
 */
import { freePort } from "./port.ts";
import { until } from "./wait.ts";

/** The role that the tests sign in as, and its password. */
export const ROLE = "tools";
export const PASSWORD = "a-pass/word of:the@tests";

const ROOT = "/usr/lib/postgresql";

/** The user of Debian's package; without it, the one who owns nothing. */
const USERS = ["postgres", "nobody"];

/** Finds the programs of PostgreSQL; undefined if there are none. */
export function findPostgres(): string | undefined {
  try {
    const versions = [...Deno.readDirSync(ROOT)].map(({ name }) => name);
    const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
    const folder = `${ROOT}/${newest}/bin`;
    Deno.statSync(`${folder}/initdb`);
    return folder;
  } catch {
    return undefined;
  }
}

/** Returns the user that PostgreSQL runs as: it refuses to run as root. */
export function unprivileged(): { uid?: number; gid?: number } {
  if (Deno.uid() !== 0) return {};
  const lines = Deno.readTextFileSync("/etc/passwd").split("\n");
  for (const user of USERS) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${user}:`))
      ?.split(":") ?? [];
    if (uid) return { uid: Number(uid), gid: Number(gid) };
  }
  return { uid: 65534, gid: 65534 };
}

/** A server that can stop, die and come back with all its data. */
export class Postgres implements AsyncDisposable {
  readonly port = freePort();
  readonly folder: string;
  readonly #user = unprivileged();
  #child?: Deno.ChildProcess;

  private constructor(
    readonly programs: string,
    private readonly settings: Record<string, string>,
  ) {
    this.folder = Deno.makeTempDirSync({ prefix: "postgres-" });
    const { uid, gid } = this.#user;
    if (uid !== undefined) Deno.chownSync(this.folder, uid, gid!);
  }

  /** Makes a cluster with the role and its database, and starts it. */
  static async start(
    programs: string,
    settings: Record<string, string> = {},
  ): Promise<Postgres> {
    const postgres = new Postgres(programs, settings);
    const word = `${postgres.folder}/password`;
    Deno.writeTextFileSync(word, PASSWORD);
    await postgres.run("initdb", [
      ...["--pgdata", postgres.data, "--username", ROLE, "--pwfile", word],
      ...["--auth", "scram-sha-256", "--encoding", "UTF8", "--no-sync"],
    ]);
    await postgres.start();
    await postgres.sql(`create database ${ROLE}`, "template1");
    return postgres;
  }

  /** Makes a standby of another server, and starts it. */
  static async standbyOf(primary: Postgres): Promise<Postgres> {
    const postgres = new Postgres(primary.programs, primary.settings);
    await postgres.run("pg_basebackup", [
      ...["--pgdata", postgres.data, "--write-recovery-conf", "--no-sync"],
      ...["--checkpoint", "fast", "--dbname", primary.url],
    ]);
    await postgres.start();
    return postgres;
  }

  /** The number of its first process, while it runs. */
  get pid(): number {
    return this.#child!.pid;
  }

  get data(): string {
    return `${this.folder}/data`;
  }

  /** The address of the role's own database. */
  get url(): string {
    return this.urlOf(ROLE);
  }

  /** The address of a database of this server. */
  urlOf(database: string, port = this.port): string {
    const url = new URL(`postgres://127.0.0.1:${port}/${database}`);
    url.username = ROLE;
    url.password = encodeURIComponent(PASSWORD);
    return url.href;
  }

  /** Starts the server, and waits until it accepts connections. */
  async start({ isReady = true } = {}): Promise<void> {
    const settings = {
      listen_addresses: "127.0.0.1",
      port: String(this.port),
      unix_socket_directories: "",
      max_connections: "400",
      shared_buffers: "64MB",
      ...this.settings,
    };
    this.#child = new Deno.Command(`${this.programs}/postgres`, {
      args: [
        "-D",
        this.data,
        ...Object.entries(settings).flatMap(([name, value]) => [
          "-c",
          `${name}=${value}`,
        ]),
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
      ...this.#user,
    }).spawn();
    if (isReady) await until(() => this.isReady());
  }

  /** True if the server accepts connections. */
  async isReady(): Promise<boolean> {
    const { success } = await new Deno.Command(`${this.programs}/pg_isready`, {
      args: ["-h", "127.0.0.1", "-p", String(this.port), "-d", "template1"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  }

  /** Runs a program of PostgreSQL's as its user, and returns its output. */
  async run(program: string, args: readonly string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command(
      `${this.programs}/${program}`,
      {
        args: [...args],
        cwd: this.folder,
        env: { LC_ALL: "C.UTF-8" },
        ...this.#user,
      },
    ).output();
    const decoder = new TextDecoder();
    if (success) return decoder.decode(stdout);
    throw new Error(`${program}: ${decoder.decode(stderr)}`);
  }

  /** Runs SQL as the superuser. */
  async sql(text: string, database = ROLE): Promise<string> {
    const args = [
      "-d",
      this.urlOf(database),
      "-Atq",
      "-v",
      "ON_ERROR_STOP=1",
      "-c",
      text,
    ];
    return (await this.run("psql", args)).trim();
  }

  /** Every process of the server, its own first. */
  async #processes(): Promise<number[]> {
    const own = this.pid;
    const { stdout } = await new Deno.Command("ps", {
      args: ["-o", "pid=", "--ppid", String(own)],
    }).output();
    const children = new TextDecoder().decode(stdout).split(/\s+/)
      .filter(Boolean).map(Number);
    return [own, ...children];
  }

  async #signal(signal: Deno.Signal): Promise<void> {
    for (const pid of await this.#processes()) {
      try {
        Deno.kill(pid, signal);
      } catch {
        // The process has ended meanwhile.
      }
    }
  }

  /** Stalls the server: all that it is sent meanwhile is carried out later. */
  stop(): Promise<void> {
    return this.#signal("SIGSTOP");
  }

  /** Lets the server go on. */
  goOn(): Promise<void> {
    return this.#signal("SIGCONT");
  }

  /** Kills the server with all its processes. */
  async kill(): Promise<void> {
    if (!this.#child) return;
    await this.#signal("SIGKILL");
    await this.#child.status;
    this.#child = undefined;
    // With this file, the next start may take the server for alive.
    await Deno.remove(`${this.data}/postmaster.pid`).catch(() => {});
  }

  /** Lets standbys on this machine copy the server. */
  async allowReplication(): Promise<void> {
    await Deno.writeTextFile(
      `${this.data}/pg_hba.conf`,
      "host replication all 127.0.0.1/32 scram-sha-256\n",
      { append: true },
    );
    await this.sql("select pg_reload_conf()");
  }

  /** Switches TLS on, with a certificate of a host by a CA in `ca.pem`. */
  async useTls(host: string): Promise<void> {
    const days = ["-days", "2", "-nodes", "-newkey", "rsa:2048"];
    const openssl = async (...args: string[]) => {
      const { success, stderr } = await new Deno.Command("openssl", {
        args,
        cwd: this.folder,
        ...this.#user,
      }).output();
      if (!success) throw new Error(new TextDecoder().decode(stderr));
    };
    await openssl(
      ...["req", "-x509", ...days, "-subj", "/CN=a CA of the tests"],
      ...["-keyout", "ca.key", "-out", "ca.pem"],
    );
    await openssl(
      ...["req", "-x509", ...days, "-subj", `/CN=${host}`],
      ...["-addext", `subjectAltName=DNS:${host}`],
      ...["-addext", "basicConstraints=critical,CA:FALSE"],
      ...["-CA", "ca.pem", "-CAkey", "ca.key"],
      ...["-keyout", "server.key", "-out", "server.pem"],
    );
    const place = (name: string) => `'${this.folder}/${name}'`;
    for (
      const setting of [
        `ssl_cert_file = ${place("server.pem")}`,
        `ssl_key_file = ${place("server.key")}`,
        "ssl = on",
      ]
    ) await this.sql(`alter system set ${setting}`);
    await this.sql("select pg_reload_conf()");
    await until(async () => await this.sql("show ssl") === "on");
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.run("pg_ctl", ["-D", this.data, "--no-wait", "promote"]);
    await until(async () =>
      await this.sql("select pg_is_in_recovery()") === "f"
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.folder, { recursive: true });
  }
}
