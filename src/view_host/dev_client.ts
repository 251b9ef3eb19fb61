/**
 * The MCP client of the page for development: 2026-07-28, in a browser, with
 * a sign-in where the server wants one.
 *
 * @module
 */

// deno-lint-ignore no-explicit-any
type Loose = any;

/** Requests of the page's server. */
export interface DevClient {
  /** Sends a request and gives its result. @throws {Error} what the server says */
  request(method: string, params: Loose): Promise<Loose>;
  /** Goes to sign in; where the server has no sign-in, takes a token. */
  signIn(token?: string): Promise<void>;
  /** Comes back from the sign-in, if that is where the page was opened from. */
  comeBack(): Promise<void>;
}

/** Its own text runs in the page, so it uses nothing from outside. */
export function devClient(
  page: Loose,
  onRefused: (kind: "sign-in" | "token") => void,
): DevClient {
  const { sessionStorage: kept, location, crypto } = page;
  const here = location.origin + location.pathname;
  const mcp = new URL("mcp", here).href;
  let lastId = 0;
  let scope = "";

  async function post(url: string, body: Loose): Promise<Loose> {
    const response = await fetch(url, { method: "POST", ...body });
    const answer = await response.json();
    if (response.ok) return answer;
    throw new Error(answer.error_description ?? answer.error);
  }

  function base64url(bytes: Uint8Array): string {
    return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-")
      .replaceAll("/", "_").replaceAll("=", "");
  }

  function randomText(): string {
    return base64url(crypto.getRandomValues(new Uint8Array(32)));
  }

  async function metadata(): Promise<Loose> {
    const url = new URL(".well-known/oauth-authorization-server", here);
    const response = await fetch(url);
    return response.ok ? await response.json() : undefined;
  }

  /** An answer may be a stream, whose last event is the response. */
  async function readAnswer(response: Response): Promise<Loose> {
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) return JSON.parse(text);
    const events = text.split("\n").filter((line) => line.startsWith("data:"));
    return JSON.parse(events.at(-1)!.slice("data:".length));
  }

  return {
    async request(method, params) {
      const token = kept.getItem("token");
      const name = params.name ?? params.uri;
      const prefix = "io.modelcontextprotocol/";
      const response = await fetch(mcp, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          ...(name !== undefined && { "mcp-name": name }),
          ...(token && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: ++lastId,
          method,
          params: {
            ...params,
            _meta: {
              [`${prefix}protocolVersion`]: "2026-07-28",
              [`${prefix}clientInfo`]: { name: "Views", version: "1" },
              [`${prefix}clientCapabilities`]: {
                extensions: {
                  [`${prefix}ui`]: { mimeTypes: ["text/html;profile=mcp-app"] },
                },
              },
            },
          },
        }),
      });
      const challenge = response.headers.get("www-authenticate");
      if (response.status === 401 || response.status === 403 && challenge) {
        scope = /scope="([^"]*)"/.exec(challenge ?? "")?.[1] ?? "";
        kept.removeItem("token");
        onRefused(await metadata() ? "sign-in" : "token");
      }
      const { result, error } = await readAnswer(response);
      if (error) {
        const words = error.message ?? error;
        throw Object.assign(new Error(words), { code: error.code });
      }
      return result;
    },

    async signIn(token) {
      if (token !== undefined) return kept.setItem("token", token);
      const server = await metadata();
      const { client_id } = await post(server.registration_endpoint, {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          client_name: "Views",
          redirect_uris: [here],
          grant_types: ["authorization_code"],
          response_types: ["code"],
          token_endpoint_auth_method: "none",
        }),
      });
      const [verifier, state] = [randomText(), randomText()];
      const digest = await crypto.subtle.digest(
        "SHA-256",
        new TextEncoder().encode(verifier),
      );
      kept.setItem(
        "signing-in",
        JSON.stringify({ client_id, verifier, state }),
      );
      const url = new URL(server.authorization_endpoint);
      url.search = `${new URLSearchParams({
        response_type: "code",
        client_id,
        redirect_uri: here,
        code_challenge: base64url(new Uint8Array(digest)),
        code_challenge_method: "S256",
        state,
        resource: mcp,
        ...(scope && { scope }),
      })}`;
      location.assign(url.href);
    },

    async comeBack() {
      const answer = new URLSearchParams(location.search);
      const code = answer.get("code");
      const asked = JSON.parse(kept.getItem("signing-in") ?? "null");
      if (!asked || answer.get("state") !== asked.state) return;
      kept.removeItem("signing-in");
      page.history.replaceState(null, "", here);
      if (!code) throw new Error(answer.get("error") ?? "Not signed in");
      const server = await metadata();
      const { access_token } = await post(server.token_endpoint, {
        body: new URLSearchParams({
          grant_type: "authorization_code",
          code,
          client_id: asked.client_id,
          redirect_uri: here,
          code_verifier: asked.verifier,
          resource: mcp,
        }),
      });
      kept.setItem("token", access_token);
    },
  };
}
