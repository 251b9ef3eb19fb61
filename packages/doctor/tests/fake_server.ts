/**
 * A server without faults that the doctor could find, and ways to break it.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { cors } from "@hono/hono/cors";

/** The faults of the server; none by default. */
export interface Defects {
  /** Changes in the authorization server's metadata. */
  serverMetadata?: Record<string, unknown>;
  /** Changes in the resource's metadata. */
  resourceMetadata?: Record<string, unknown>;
  /** The `WWW-Authenticate` of the 401; empty: none. */
  challenge?: string;
  /** An answer in place of the right one, by method and path. */
  answers?: Record<string, () => Response>;
  /** Headers that a proxy in front of the server swallows. */
  swallowed?: readonly string[];
  /** Headers that it adds. */
  added?: Record<string, string>;
  /** Accepts every redirect URI. */
  trusting?: boolean;
}

/** The server as `fetch` at the origin. */
export function fakeServer(origin: string, defects: Defects = {}) {
  const well = "/.well-known/oauth-protected-resource";
  const challenge = defects.challenge ??
    `Bearer resource_metadata="${origin}${well}/mcp"`;
  const resource = {
    resource: `${origin}/mcp`,
    authorization_servers: [origin],
    ...defects.resourceMetadata,
  };
  const server = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    ...defects.serverMetadata,
  };
  const registered = new Map<string, string[]>();
  const app = new Hono();

  app.use(async (c, next) => {
    const answer = defects.answers?.[`${c.req.method} ${c.req.path}`];
    if (answer) return answer();
    await next();
  });
  app.use(async (c, next) => {
    await next();
    c.header("Strict-Transport-Security", "max-age=31536000");
    for (const name of defects.swallowed ?? []) c.res.headers.delete(name);
    for (const [name, value] of Object.entries(defects.added ?? {})) {
      c.res.headers.set(name, value);
    }
  });
  app.use(
    cors({
      origin: "*",
      exposeHeaders: ["Mcp-Session-Id", "WWW-Authenticate"],
    }),
  );
  app.get("/health", (c) => c.json({ status: "ok", timestamp: 0 }));
  app.get("/ready", (c) => c.json({ status: "ok", provider: "ok" }));
  app.post("/mcp", (c) => {
    if (challenge) c.header("WWW-Authenticate", challenge);
    return c.json({ error: "unauthorized" }, 401);
  });
  app.get("/mcp", (c) => c.body(null, 405, { allow: "POST, DELETE, OPTIONS" }));
  app.get(well, (c) => c.json(resource));
  app.get(`${well}/mcp`, (c) => c.json(resource));
  app.get("/.well-known/oauth-authorization-server", (c) => c.json(server));
  app.post("/register", async (c) => {
    const { redirect_uris } = await c.req.json();
    const isRefused = redirect_uris.some((uri: string) =>
      /^javascript:|@|#|^http:\/\/(?!localhost|127\.)/.test(uri)
    );
    if (isRefused && !defects.trusting) {
      return c.json({ error: "invalid_redirect_uri" }, 400);
    }
    const client_id = `c${registered.size}`;
    registered.set(client_id, redirect_uris);
    return c.json({ client_id, redirect_uris }, 201);
  });
  app.get("/authorize", (c) => {
    const { client_id, redirect_uri } = c.req.query();
    const isKnown = registered.get(client_id)?.includes(redirect_uri);
    if (!isKnown && !defects.trusting) return c.html("refused", 400);
    c.header("Content-Security-Policy", "frame-ancestors 'none'");
    return c.html("May it?");
  });
  app.post("/token", (c) => {
    c.header("Cache-Control", "no-store");
    return c.json({ error: "invalid_grant" }, 400);
  });
  return ((input: URL, init?: RequestInit) =>
    app.request(input.href, init)) as typeof fetch;
}
