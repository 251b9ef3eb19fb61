/**
 * Another MCP server of the simulation, whose people sign in there: its tokens
 * are as short-lived and as strict as those of the service.
 *
 * @module
 */
import { mcpServer } from "../../src/mod.ts";
import type { ServerProcess } from "./server_process.ts";
import { StrictService } from "./strict_service.ts";
import type { World } from "./world.ts";

export class StrictMcp extends StrictService {
  constructor(world: World) {
    super(world, "other");
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Declares it as a server at which tools call others. */
  server() {
    return mcpServer(this.name, { url: this.url, title: "Other" });
  }

  override async serve(
    request: Request,
    process?: ServerProcess,
  ): Promise<Response> {
    const { origin, url } = this;
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return Response.json({
          resource: url,
          authorization_servers: [origin],
          scopes_supported: ["read"],
        });
      case "/.well-known/oauth-authorization-server":
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          revocation_endpoint: `${origin}/revoke`,
          registration_endpoint: `${origin}/register`,
          code_challenge_methods_supported: ["S256"],
        });
      case "/register":
        return Response.json({
          ...await request.json(),
          client_id: this.clientId,
          client_secret: "our-secret",
        }, { status: 201 });
      case "/mcp":
        return await this.#serveMcp(request);
    }
    if (pathname.startsWith("/.well-known/")) {
      return new Response(null, { status: 404 });
    }
    const isToken = request.url === `${origin}/token`;
    const form = isToken ? await request.clone().text() : "";
    if (isToken && new URLSearchParams(form).get("resource") !== url) {
      this.world.breaks(`tokens were asked for without the resource: ${form}`);
    }
    return await super.serve(request, process);
  }

  async #serveMcp(request: Request): Promise<Response> {
    const token = request.headers.get("authorization")?.slice(7) ?? "";
    const { account } = this.grants.find(({ access }) => access.has(token)) ??
      {};
    if (account === undefined || !this.isFresh(token)) {
      const metadata =
        `${this.origin}/.well-known/oauth-protected-resource/mcp`;
      return new Response("sign in", {
        status: 401,
        headers: {
          "www-authenticate": `Bearer resource_metadata="${metadata}"`,
        },
      });
    }
    const { id, method } = await request.json();
    const result = method === "server/discover"
      ? {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        serverInfo: { name: "other", version: "1" },
      }
      : { content: [{ type: "text", text: account }] };
    return Response.json({ jsonrpc: "2.0", id, result });
  }
}
