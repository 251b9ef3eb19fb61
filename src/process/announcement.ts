/**
 * The messages of a server that has started.
 *
 * @module
 */
import { isOpen } from "../settings/auth.ts";
import type { Config } from "../settings/config.ts";
import type { Logger } from "../log/log.ts";
import { isLoopback } from "../net/loopback.ts";
import { accessOf, clientGuides } from "../pages/client_guides.ts";

/** Warns of settings that work but are probably not wanted. */
export function warn(
  { host, baseUrl, kvPath, auth, deployed, unread }: Config,
  log: Logger,
): void {
  if (unread.length > 0) {
    log.warning(
      `${unread.join(", ")} may not be read and have their defaults: run ` +
        "deno task settings, or add them to --allow-env",
    );
  }
  const isPublic = baseUrl !== undefined && !isLoopback(new URL(baseUrl));
  if (isPublic && kvPath === undefined && !deployed) {
    log.warning(
      "The database is Deno's default one, which belongs to this folder: set " +
        "KV_PATH to keep sign-ins when the service moves to another",
    );
  }
  if (!deployed && isLoopback({ hostname: host })) return;
  if (isOpen(auth)) {
    log.warning(
      "Everyone who reaches this server may use it: set AUTH_STRATEGY",
    );
  }
  if (baseUrl === undefined) {
    log.warning("Pages cannot tell how to connect: set BASE_URL");
  }
}

/** Prints the address of the server and how to connect a client. */
export function announce(
  { title, auth, kvPath }: Config,
  { log, baseUrl, showsViews }: {
    log: Logger;
    baseUrl: string;
    showsViews: boolean;
  },
): void {
  const url = `${baseUrl}/mcp`;
  const commands = clientGuides({ title, baseUrl, access: accessOf(auth) })
    .filter(({ line }) => line?.includes(" "));
  if (!Deno.stdout.isTerminal()) {
    const connect = commands.map(({ line }) => line);
    const database = kvPath ?? "Deno's default for this folder";
    const views = showsViews ? `${baseUrl}/views` : undefined;
    return log.info("Listening", { url, connect, database, views });
  }
  console.log(`\n${title} listens on ${url}\n`);
  for (const { client, line } of commands) {
    console.log(`  ${client.padEnd(12)} ${line}`);
  }
  console.log(`  ${"Any other".padEnd(12)} open ${baseUrl} in a browser\n`);
  if (showsViews) console.log(`  ${"Views".padEnd(12)} ${baseUrl}/views\n`);
}
