/**
 * nginx and Caddy, each with its file in deploy/, adapted to this machine.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createAuthority } from "./authority.ts";
import { Process, REPOSITORY } from "./process.ts";

/** The ports of a proxy, and of the servers behind it. */
export interface Ports {
  http: number;
  https: number;
  servers: readonly number[];
}

/** A program with its file, adapted to this machine. */
interface Running {
  process: Process;
  /** The certificate to trust. */
  ca: string;
  /** The log of requests. */
  log?: string;
}

async function fileOf(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(`deploy/${name}`, REPOSITORY));
}

/** Replaces the parts that fit only the machine that the file was written for. */
function adapt(text: string, changes: Changes): string {
  for (const [from, to] of changes) {
    assert.notEqual(text.search(from), -1, `${from} is not in the file`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** Changes of a proxy's file besides those for this machine. */
type Changes = [string | RegExp, string][];

async function startNginx(
  path: string,
  ports: Ports,
  changes: Changes = [],
): Promise<Running> {
  const authority = await createAuthority();
  const { cert, key } = await authority.certify("localhost");
  await Deno.writeTextFile(`${path}/cert.pem`, cert);
  await Deno.writeTextFile(`${path}/key.pem`, key);
  const log = `${path}/access.log`;
  const site = adapt(await fileOf("nginx.conf"), [
    [/listen \[::\].*\n/g, ""],
    [/listen 80;/g, `listen 127.0.0.1:${ports.http};`],
    [/listen 443/g, `listen 127.0.0.1:${ports.https}`],
    [/tools\.example\.com;/g, "localhost;"],
    [/\/etc\/letsencrypt\S+fullchain\.pem/g, `${path}/cert.pem`],
    [/\/etc\/letsencrypt\S+privkey\.pem/g, `${path}/key.pem`],
    [/\/var\/log\/nginx\/tool-server\.log/g, log],
    [/\/var\/log\/nginx\/error\.log/g, "stderr"],
    [/127\.0\.0\.1:3000/g, `127.0.0.1:${ports.servers[0]}`],
    ...changes,
  ]);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  await Deno.writeTextFile(
    `${path}/nginx.conf`,
    // As root it would run its workers as another user, who may not read here.
    `${Deno.uid() === 0 ? "user root;" : ""}
    daemon off; pid ${path}/pid; error_log stderr;
    events {}
    http {
      ${temporary.map((it) => `${it}_temp_path ${path}/${it};`).join("\n")}
      ${site}
    }`,
  );
  const process = new Process(["-p", path, "-c", `${path}/nginx.conf`], {
    command: "nginx",
  });
  return { process, ca: authority.ca, log };
}

export async function startCaddy(
  path: string,
  ports: Ports,
  changes: Changes = [],
): Promise<Running> {
  const file = adapt(await fileOf("Caddyfile"), [
    [
      // Without it a test would change the machine.
      /\tskip_install_trust\n/g,
      `skip_install_trust
        admin off
        http_port ${ports.http}
        https_port ${ports.https}
      `,
    ],
    ...changes,
  ]);
  await Deno.writeTextFile(`${path}/Caddyfile`, file);
  const process = new Process([
    ...["run", "--adapter", "caddyfile", "--config", `${path}/Caddyfile`],
  ], {
    command: "caddy",
    env: {
      HOME: path,
      XDG_DATA_HOME: path,
      XDG_CONFIG_HOME: path,
      SITE: "localhost",
      SERVERS: ports.servers.map((it) => `127.0.0.1:${it}`).join(" "),
    },
  });
  // For localhost it is its own authority.
  const root = `${path}/caddy/pki/authorities/local/root.crt`;
  await process.prints(/certificate obtained successfully/);
  return { process, ca: await Deno.readTextFile(root) };
}

function isInstalled(program: string): boolean {
  try {
    new Deno.Command(program, { args: ["-h"] }).outputSync();
    return true;
  } catch {
    return false;
  }
}

/** Names a test, which is left out if a program is not installed. */
export function needing(program: string, name: string) {
  const ignore = !isInstalled(program);
  const reason = ignore ? `, left out: ${program} is not installed` : "";
  return { name: name + reason, ignore };
}

/** Changes that shorten the time limits for which tests wait, by program. */
export const SHORT: Record<string, Changes> = {
  nginx: [
    ["client_header_timeout 10s", "client_header_timeout 1s"],
    ["client_body_timeout 30s", "client_body_timeout 1s"],
  ],
  caddy: [["read_header 10s", "read_header 1s"]],
};

/** The start of each proxy, by its program. */
export const PROXIES = { nginx: startNginx, caddy: startCaddy };
