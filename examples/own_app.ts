/**
 * A server inside your own application, below `/tools`:
 * `BASE_URL=http://localhost:8000/tools deno serve -A own_app.ts`.
 */
import {
  type ConnectionInfo,
  createServer,
  tool,
} from "@tool-server/tool-server";
import { Hono } from "hono";

const orders = ["tea", "coffee"];

const listOrders = tool({
  name: "list_orders",
  description: "Lists the orders that are open.",
  run: () => orders.join(", "),
});

/** Makes the application; the server keeps its data in `kv`. */
export function createApp(kv: Deno.Kv, baseUrl: string) {
  const server = createServer({
    name: "shop",
    title: "The shop",
    version: "1.0.0",
    tools: [listOrders],
    kv,
    env: { BASE_URL: baseUrl },
  });
  const app = new Hono<{ Bindings: ConnectionInfo }>();
  app.get("/", (c) => c.text(`${orders.length} open orders`));
  app.all("/tools/*", (c) => server.fetch(c.req.raw, c.env));
  app.all("/tools", (c) => server.fetch(c.req.raw, c.env));
  // The addresses at which clients look for the metadata of a server at a path
  // (RFC 9728, 8414).
  app.get("/.well-known/*", (c) => server.fetch(c.req.raw, c.env));
  return app;
}

export default {
  fetch: import.meta.main
    ? createApp(
      await Deno.openKv(),
      Deno.env.get("BASE_URL") ?? "http://localhost:8000/tools",
    ).fetch
    : () => new Response(null, { status: 503 }),
};
