/**
 * The messages of a server that has started.
 *
 * @module
 */
import { isOpenToAll } from "../settings/auth.ts";
import type { Config } from "../settings/config.ts";
import { callbackAt } from "../settings/providers.ts";
import { printDatabase } from "../settings/server.ts";
import { ANNOUNCED } from "../settings/table.ts";
import type { Logger } from "../log/log.ts";
import { isLoopback } from "../net/url.ts";
import type { Announcement, Guide } from "../server/feature.ts";

/** Warns of settings that work but are probably not wanted. */
export function warnOfSettings(
  { host, baseUrl, kvPath, auth, deployed, unread }: Config,
  log: Logger,
): void {
  if (unread.length > 0) {
    log.warning(
      `Not readable, so that defaults count: ${unread.join(", ")}. Run ` +
        "deno task ts settings, or extend --allow-env",
    );
  }
  const isPublic = baseUrl !== undefined && !isLoopback(new URL(baseUrl));
  if (isPublic && kvPath === undefined && !deployed) {
    log.warning(
      "The database is Deno's default one, which belongs to this folder: set " +
        "KV_PATH to keep sign-ins when the service moves to another",
    );
  }
  // A server on loopback needs no warnings, unless `BASE_URL` is public: then a
  // proxy or a tunnel forwards requests to it.
  if (!deployed && !isPublic && isLoopback({ hostname: host })) return;
  if (isOpenToAll(auth)) {
    log.warning(
      "Everyone who reaches this server may use it: set AUTH_STRATEGY",
    );
  }
  if (baseUrl === undefined) {
    log.warning("Pages cannot tell how to connect: set BASE_URL");
  }
}

/**
 * Shows the URL of the server and how to connect a client, in the terminal or
 * the log.
 */
export function announce(
  { title, auth, kvPath }: Config,
  { log, baseUrl, guides = [], pages = {}, isDevelopment }: Announcement & {
    log: Logger;
    baseUrl: string;
    /** True in `deno task dev`. */
    isDevelopment: boolean;
  },
): void {
  const url = `${baseUrl}/mcp`;
  const callbacks = callbacksOf(auth, baseUrl);
  const isAgain = isDevelopment && wasAnnounced(url);
  if (!Deno.stdout.isTerminal()) {
    if (isAgain) return log.info("Listening", { url });
    const database = kvPath === undefined
      ? "Deno's default for this folder"
      : printDatabase(kvPath);
    const exactly = callbacks.map(({ address }) => address);
    return log.info("Listening", {
      url,
      database,
      ...pages,
      callbacks: exactly.length > 0 ? exactly : undefined,
    });
  }
  if (isAgain) return console.log(`${title} listens on ${url}`);
  const rows = [
    ...isDevelopment
      ? [["Try it", "deno task ts list, then deno task ts call NAME key=value"]]
      : [],
    ...Object.entries(pages).map(([name, address]) => [
      name[0].toUpperCase() + name.slice(1),
      address,
    ]),
    ...guides.filter(({ client, line }) =>
      client !== "Other" && line?.includes(" ")
    ).map(({ client, line }) => [client, line]),
    ...cloudRows(guides),
    ...guides.length > 0 ? [["Any other", `open ${baseUrl} in a browser`]] : [],
    ...callbacks.map(({ key, address }) => [
      `Callback at ${key}`,
      `register exactly ${address}`,
    ]),
  ];
  const width = Math.max(...rows.map(([what]) => what!.length));
  const lines = rows.map(([what, words]) =>
    `  ${what!.padEnd(width)}  ${words}`
  );
  console.log(`\n${title} listens on ${url}\n\n${lines.join("\n")}\n`);
}

/**
 * Lists the redirect URIs of several providers. Each must be registered
 * exactly: a provider that also accepts paths below a registered URI could send
 * its codes to another provider's redirect URI.
 */
function callbacksOf(
  { oauth }: Config["auth"],
  baseUrl: string,
): { key: string; address: string }[] {
  return (oauth?.providers ?? []).flatMap(({ key, config }) =>
    key === undefined || config.provider === "dev"
      ? []
      : [{ key, address: callbackAt(baseUrl, key) }]
  );
}

/**
 * True if the URL was announced before a restart by `--watch`. The environment
 * survives such a restart.
 */
function wasAnnounced(url: string): boolean {
  const permission = { name: "env", variable: ANNOUNCED } as const;
  const { state } = Deno.permissions.querySync(permission);
  if (state !== "granted") return false;
  const before = Deno.env.get(ANNOUNCED);
  Deno.env.set(ANNOUNCED, url);
  return before === url;
}

/** The clients that call from the Internet. */
const CLOUDS = ["Claude", "ChatGPT"];

/**
 * Returns the rows of {@linkcode CLOUDS}, one for all clients that have the
 * same instruction.
 */
function cloudRows(guides: readonly Guide[]): string[][] {
  const clouds = guides.filter(({ client }) => CLOUDS.includes(client));
  return [...Map.groupBy(clouds, ({ how }) => how)].map(([how, guides]) => [
    guides.map(({ client }) => client).join(", "),
    how,
  ]);
}
