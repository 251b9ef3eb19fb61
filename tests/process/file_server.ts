/**
 * A plain web server, from which programs run without an installation.
 *
 * @module
 */

const TYPES: Readonly<Record<string, string>> = {
  json: "application/json",
  js: "text/javascript",
  md: "text/markdown",
};

/** Serves the files of a directory. */
export function serveFiles(root: URL): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async ({ url }) => {
      const path = new URL(url).pathname.slice(1);
      try {
        const body = await Deno.readFile(new URL(path, root));
        const extension = path.split(".").at(-1)!;
        return new Response(body, {
          headers: { "content-type": TYPES[extension] ?? "text/plain" },
        });
      } catch {
        return new Response(null, { status: 404 });
      }
    },
  );
}

/** Gives the origin it listens on. */
export function originOf({ addr }: Deno.HttpServer<Deno.NetAddr>): string {
  return `http://${addr.hostname}:${addr.port}`;
}
