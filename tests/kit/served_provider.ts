/**
 * A provider on loopback that gives the answers of a test and records its
 * requests.
 *
 * @module
 */

/** A request, read in full. */
export interface Asked {
  method: string;
  /** The URL with the original host, even if that is a public one. */
  url: URL;
  headers: Headers;
  body: string;
  /** The body's form fields. */
  form: Record<string, string>;
}

/** Answers by method and URL without query: "POST https://github.com/x". */
export type Answers = Record<
  string,
  (asked: Asked) => Response | Promise<Response>
>;

/** A running provider. */
export interface ServedProvider extends AsyncDisposable {
  origin: string;
  asked: Asked[];
  /** `fetch` for which every https host is this provider. */
  fetch: typeof fetch;
}

/** Starts a provider; unknown addresses are 404. */
export function serveProvider(
  answers: (origin: string) => Answers,
): ServedProvider {
  const asked: Asked[] = [];
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    const url = new URL(request.headers.get("x-meant-for") ?? request.url);
    const body = await request.text();
    const form = Object.fromEntries(new URLSearchParams(body));
    const { method, headers } = request;
    asked.push({ method, url, headers, body, form });
    const answer = table[`${method} ${url.origin}${url.pathname}`];
    return await answer?.(asked.at(-1)!) ??
      new Response("not here", { status: 404 });
  });
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const table = answers(origin);

  return {
    origin,
    asked,
    fetch: (input, init) => {
      const meant = new URL(String(input));
      const headers = new Headers(init?.headers);
      headers.set("x-meant-for", meant.href);
      return fetch(origin + meant.pathname + meant.search, {
        ...init,
        headers,
      });
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
