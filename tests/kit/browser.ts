/**
 * A browser without a screen: it keeps cookies, follows redirects, and presses
 * a button on a form when told to.
 *
 * @module
 */
import assert from "node:assert/strict";
import { PROVIDER_URL } from "./fake_provider.ts";
import { type Answering, BASE_URL } from "./server.ts";

/** Sends one request, without following redirects. */
export type Send = (request: Request) => Promise<Response>;

/** The page that a browser arrived at. */
export interface Arrival {
  url: string;
  status: number;
  text: string;
  headers: Headers;
}

/** A person's browser. */
export class Browser {
  readonly cookies = new Map<string, string>();

  /**
   * @param send reaches servers; undefined for an unknown server, which ends
   * the walk
   */
  constructor(private readonly send: (url: URL) => Send | undefined) {}

  /**
   * Opens an address and follows redirects, to a page or to an unknown server.
   */
  open(url: string | URL): Promise<Arrival> {
    return this.#walk(new URL(url), { method: "GET" });
  }

  /**
   * Presses the button with this name and value in a page's form, with all its
   * boxes ticked except some.
   */
  press(
    page: Arrival,
    name: string,
    value: string,
    fields: Record<string, string> = {},
    unticked: readonly string[] = [],
  ): Promise<Arrival> {
    const form = /<form[^>]*action="([^"]*)"/.exec(page.text);
    assert(form, page.text);
    const body = new URLSearchParams();
    for (const [input] of page.text.matchAll(/<input[^>]*>/g)) {
      const inputName = /name="([^"]*)"/.exec(input)?.[1];
      const inputValue = unescape(/value="([^"]*)"/.exec(input)?.[1] ?? "");
      if (!inputName || unticked.includes(inputValue)) continue;
      body.append(inputName, inputValue);
    }
    for (const [, select] of page.text.matchAll(/<select name="([^"]*)"/g)) {
      body.append(select, "1");
    }
    for (const [field, text] of Object.entries(fields)) body.set(field, text);
    body.set(name, value);
    return this.#walk(new URL(unescape(form[1]), page.url), {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: body.toString(),
    });
  }

  async #walk(url: URL, init: RequestInit): Promise<Arrival> {
    for (let hops = 0; hops < 20; hops++) {
      const send = this.send(url);
      if (!send) {
        return { url: url.href, status: 0, text: "", headers: new Headers() };
      }
      const headers = new Headers(init.headers);
      headers.set("accept", "text/html,*/*;q=0.8");
      const cookies = [...this.cookies].filter(([key]) =>
        key.startsWith(`${url.host} `)
      );
      if (cookies.length > 0) {
        headers.set(
          "cookie",
          cookies.map(([key, value]) => `${key.split(" ")[1]}=${value}`)
            .join("; "),
        );
      }
      const response = await send(
        new Request(url, { ...init, headers, redirect: "manual" }),
      );
      for (const cookie of response.headers.getSetCookie()) {
        const [name, value] = cookie.split(";")[0].split(/=(.*)/s);
        this.cookies.set(`${url.host} ${name}`, value);
      }
      const location = response.headers.get("location");
      const text = await response.text();
      if (location === null) {
        return {
          url: url.href,
          status: response.status,
          text,
          headers: response.headers,
        };
      }
      assert([302, 303].includes(response.status), String(response.status));
      url = new URL(location, url);
      init = { method: "GET" };
    }
    throw new Error("Redirects without end");
  }
}

/**
 * Opens a browser that knows a server, under its public origin, and a provider:
 * the fake one, which signs people in at once, or a real one by its issuer.
 */
export function browserOf(
  server: Answering,
  { baseUrl = BASE_URL, issuer, issuers = [], isAlone = false }: {
    baseUrl?: string;
    issuer?: string;
    /** The issuers of several real providers. */
    issuers?: readonly string[];
    /** True if it knows no provider: its walk ends there. */
    isAlone?: boolean;
  } = {},
): Browser {
  return new Browser(({ origin }) => {
    if (origin === issuer || issuers.includes(origin)) {
      return (request) => fetch(request);
    }
    if (origin === PROVIDER_URL && !isAlone) return signInAtOnce;
    if (origin !== baseUrl) return undefined;
    return async (request) => {
      const { method, url, headers } = request;
      const body = method === "POST" ? await request.text() : undefined;
      const path = url.slice(baseUrl.length);
      return await server.fetch(path, { method, headers, body });
    };
  });
}

function signInAtOnce({ url }: Request): Promise<Response> {
  const { searchParams } = new URL(url);
  const back = new URL(searchParams.get("redirect_uri")!);
  for (const name of ["state", "code"]) {
    back.searchParams.set(name, searchParams.get(name)!);
  }
  return Promise.resolve(
    new Response(null, { status: 302, headers: { location: back.href } }),
  );
}

function unescape(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
