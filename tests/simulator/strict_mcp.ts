/**
 * Another MCP server of the simulation, whose people sign in there: its tokens
 * are as short-lived and as strict as those of the service.
 *
 * @module
 */
import { mcpServer } from "../../src/mod.ts";
import { askToSignIn, DISCOVERED, introduce } from "../kit/mcp_service.ts";
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
    if (request.url === url) return await this.#serveMcp(request);
    const introduced = await introduce(request, this);
    if (introduced) return introduced;
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
      return askToSignIn(this);
    }
    const { id, method } = await request.json();
    const result = method === "server/discover"
      ? DISCOVERED
      : { content: [{ type: "text", text: account }] };
    return Response.json({ jsonrpc: "2.0", id, result });
  }
}
