/**
 * The loopback listener to which the browser is redirected after a sign-in, and
 * the function that opens the browser.
 *
 * @module
 */
import { unlessAborted, within } from "../../src/core/clock.ts";

const PAGE = {
  done: "You are signed in. Close this window and go back to the terminal.",
  ended: "Signing in ended. Close this window and go back to the terminal.",
};

/** The time within which a person signs in. */
const PERSON_MILLISECONDS = 5 * 60_000;

/** The time for which closing waits for open requests. */
const CLOSE_MILLISECONDS = 1000;

/** A listener for the redirect that ends a sign-in. */
export class RedirectListener implements AsyncDisposable {
  readonly redirectUri: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #state?: string;
  readonly #arrived = Promise.withResolvers<URLSearchParams>();

  /** @throws {Deno.errors.AddrInUse} */
  constructor(port = 0) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port, onListen() {} },
      (request) => this.#receive(request),
    );
    this.redirectUri = `http://127.0.0.1:${this.#server.addr.port}/callback`;
  }

  /** Waits for the redirect with this `state`; refuses others. */
  async response(
    state: string,
    signal?: AbortSignal,
  ): Promise<URLSearchParams> {
    this.#state = state;
    const tooLate = AbortSignal.timeout(PERSON_MILLISECONDS);
    const end = signal ? AbortSignal.any([signal, tooLate]) : tooLate;
    return await unlessAborted(end, this.#arrived.promise).catch((error) => {
      if (!tooLate.aborted) throw error;
      throw new Error("no one has done so within five minutes");
    });
  }

  #receive({ url }: Request): Response {
    const { pathname, searchParams } = new URL(url);
    const isOurs = pathname === "/callback" && this.#state !== undefined &&
      searchParams.get("state") === this.#state;
    if (!isOurs) return new Response("Not found\n", { status: 404 });
    this.#arrived.resolve(searchParams);
    const text = searchParams.has("code") ? PAGE.done : PAGE.ended;
    return new Response(`${text}\n`, {
      headers: {
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await within(CLOSE_MILLISECONDS, this.#server.shutdown());
  }
}

/**
 * Listens at the port of a registered redirect URI, or at another port if that
 * one is taken.
 */
export function listenForRedirect(registered?: string): RedirectListener {
  const port = Number(URL.parse(registered ?? "")?.port ?? 0);
  try {
    return new RedirectListener(port);
  } catch (error) {
    if (port === 0 || !(error instanceof Deno.errors.AddrInUse)) throw error;
    return new RedirectListener();
  }
}

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  windows: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

/** The reason why a sign-in that no one can see ends at once. */
export const NO_BROWSER = "no browser opens: give --token or --no-browser";

/** Opens a URL in the person's browser. Returns false if there is none. */
export function openBrowser(
  url: string,
  env: (name: string) => string | undefined,
): boolean {
  const { os } = Deno.build;
  const [program, ...args] = OPENERS[os] ?? OPENERS.linux;
  // Without a screen xdg-open may start a browser inside the terminal.
  const hasScreen = os === "darwin" || os === "windows" ||
    env("DISPLAY") || env("WAYLAND_DISPLAY");
  if (!hasScreen) return false;
  try {
    const child = new Deno.Command(program, {
      args: [...args, url],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    child.unref();
    child.status.catch(() => {});
    return true;
  } catch {
    return false;
  }
}
