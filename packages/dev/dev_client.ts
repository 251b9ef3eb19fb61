/**
 * The development page's MCP client: revision 2026-07-28, in a browser, with a
 * sign-in if the server needs one.
 *
 * @module
 */
import type { Loose } from "./host_view.ts";
import type { Client, SignIn, TaskState } from "../client/mod.ts";

export type DevClient = ReturnType<typeof devClient>;

/** The parts of the client, and the page's tools and callbacks. */
interface Surroundings {
  Client: typeof Client;
  SignIn: typeof SignIn;
  tools: readonly Loose[];
  onRefused(kind: "sign-in" | "token"): void;
  /** Called with each state of a call that continues as a task. */
  onTask(task: TaskState): void;
}

/** Makes the client. The source text of this function runs in the page. */
export function devClient(
  page: Loose,
  { Client, SignIn, tools, onRefused, onTask }: Surroundings,
) {
  const { sessionStorage: kept, location } = page;
  const here = location.origin + location.pathname;
  const url = new URL("mcp", here).href;
  let scope = "";

  async function hasSignIn(): Promise<boolean> {
    const metadata = new URL(".well-known/oauth-authorization-server", here);
    return (await fetch(metadata)).ok;
  }

  const prefix = "io.modelcontextprotocol/";
  const client = new Client({
    url,
    tools,
    onTask,
    clientInfo: { name: "Views", version: "1" },
    capabilities: {
      extensions: {
        [`${prefix}tasks`]: {},
        [`${prefix}ui`]: { mimeTypes: ["text/html;profile=mcp-app"] },
      },
    },
    headers(): Record<string, string> {
      const token = kept.getItem("token");
      return token ? { authorization: `Bearer ${token}` } : {};
    },
    async fetch(request) {
      const response = await page.fetch(request);
      const { status, headers } = response;
      const isRefused = status === 401 ||
        status === 403 && headers.has("www-authenticate");
      if (isRefused) {
        scope = SignIn.parseChallenge(headers).scope ?? "";
        kept.removeItem("token");
        onRefused(await hasSignIn() ? "sign-in" : "token");
      }
      return response;
    },
  });

  return {
    /**
     * Returns the result of a request.
     *
     * @throws {Error} with the server's message
     */
    request: (method: string, params: Loose): Promise<Loose> =>
      client.request(method, params),

    /**
     * Redirects the person to the sign-in. With `token`, for a server without
     * sign-in, stores the token instead.
     */
    async signIn(token?: string): Promise<void> {
      if (token !== undefined) return kept.setItem("token", token);
      const request = await SignIn.begin({
        url,
        redirectUri: here,
        clientName: "Views",
        ...(scope && { scope }),
      });
      kept.setItem("signing-in", JSON.stringify(request));
      location.assign(request.url);
    },

    /** Completes a sign-in, if the browser has just returned from one. */
    async comeBack(): Promise<void> {
      const answer = new URLSearchParams(location.search);
      const asked = JSON.parse(kept.getItem("signing-in") ?? "null");
      if (!asked || answer.get("state") !== asked.state) return;
      kept.removeItem("signing-in");
      page.history.replaceState(null, "", here);
      const { accessToken } = await SignIn.finish(asked, answer);
      kept.setItem("token", accessToken);
    },
  };
}
