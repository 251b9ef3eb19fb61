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
  /**
   * Sends a request and gives its result. @throws {Error} with the server's
   * message
   */
  request(method: string, params: Loose): Promise<Loose>;
  /** Goes to sign in; where the server has no sign-in, takes a token. */
  signIn(token?: string): Promise<void>;
  /** Comes back from the sign-in, if that is where the page was opened from. */
  comeBack(): Promise<void>;
}

/** The tools of the page, and the callbacks of the client. */
interface Surroundings {
  /** As the server lists them. */
  tools: readonly Loose[];
  onRefused(kind: "sign-in" | "token"): void;
  /** Called with each state of a call that goes on as a task. */
  onTask(task: Loose): void;
}

/**
 * The source text of this function runs in the page, so it uses nothing from
 * outside.
 */
export function devClient(
  page: Loose,
  { tools, onRefused, onTask }: Surroundings,
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

  /** Encodes a value for a header; plain ASCII stays as it is. */
  function headerValue(value: unknown): string {
    const text = String(value);
    const isPlain = /^[!-~]([ -~]*[!-~])?$/.test(text) &&
      !text.startsWith("=?base64?");
    if (isPlain) return text;
    const bytes = new TextEncoder().encode(text);
    return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
  }

  /** Lists the arguments that a tool wants repeated in headers. */
  function paramHeaders(
    { properties = {} }: Loose,
    args: Loose,
  ): [string, string][] {
    return Object.entries(properties).flatMap(([name, schema]: Loose) => {
      if (!Object.hasOwn(Object(args), name)) return [];
      const [value, header] = [args[name], schema["x-mcp-header"]];
      if (value === undefined || value === null) return [];
      return header === undefined
        ? paramHeaders(schema, value)
        : [[`mcp-param-${header}`, headerValue(value)]];
    });
  }

  function headersOf(method: string, params: Loose): Record<string, string> {
    const name = params.name ?? params.uri ?? params.taskId;
    const tool = method === "tools/call" &&
      tools.find((tool) => tool.name === name);
    return {
      ...(name !== undefined && { "mcp-name": headerValue(name) }),
      ...(tool &&
        Object.fromEntries(paramHeaders(tool.inputSchema, params.arguments))),
    };
  }

  /** Waits for the end of a task. @throws {Error} when it fails */
  async function resultOf(task: Loose): Promise<Loose> {
    while (task.status === "working") {
      onTask(task);
      await new Promise((resolve) => setTimeout(resolve, task.pollIntervalMs));
      task = await send("tasks/get", { taskId: task.taskId });
    }
    onTask(task);
    if (task.status === "completed") return task.result;
    const { code, message = `The task is ${task.status}` } = task.error ?? {};
    throw Object.assign(new Error(message), { code });
  }

  /**
   * Reads an answer, which may be a stream whose last event is the response.
   */
  async function readAnswer(response: Response): Promise<Loose> {
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) return JSON.parse(text);
    const events = text.split("\n").filter((line) => line.startsWith("data:"));
    return JSON.parse(events.at(-1)!.slice("data:".length));
  }

  async function send(method: string, params: Loose): Promise<Loose> {
    const token = kept.getItem("token");
    const prefix = "io.modelcontextprotocol/";
    const response = await fetch(mcp, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...headersOf(method, params),
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
                [`${prefix}tasks`]: {},
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
  }

  return {
    async request(method, params) {
      const result = await send(method, params);
      return result.resultType === "task" ? await resultOf(result) : result;
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
