/**
 * Your own settings, service and route: a webhook whose sender signs its
 * messages. `WEBHOOK_KEY=… deno run -A own_settings.ts`.
 */
import {
  defineServer,
  secret,
  serve,
  service,
  tool,
  z,
} from "@tool-server/tool-server";

/**
 * The messages that have arrived. It starts once with the server; all that name
 * it share it.
 */
const inbox = service({
  name: "inbox",
  settings: {
    WEBHOOK_KEY: secret(
      z.string().min(16).describe("The key that the sender signs with."),
    ),
  },
  async start({ settings }) {
    const key = await crypto.subtle.importKey(
      "raw",
      new TextEncoder().encode(settings.WEBHOOK_KEY),
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["verify"],
    );
    return {
      deliveries: [] as string[],
      /** True if a body's signature, in hexadecimal, is the sender's. */
      isSigned: (body: Uint8Array<ArrayBuffer>, signature = "") =>
        /^([0-9a-f]{2})+$/.test(signature) &&
        crypto.subtle.verify("HMAC", key, Uint8Array.fromHex(signature), body),
    };
  },
});

const listDeliveries = tool({
  name: "list_deliveries",
  description: "Lists what has been delivered.",
  services: { inbox },
  run: (_input, { services }) =>
    services.inbox.deliveries.join("\n") || "Nothing yet.",
});

export const server = defineServer({
  name: "deliveries",
  version: "1.0.0",
  tools: [listDeliveries],
  services: { inbox },
  routes(app, { services: { inbox } }) {
    app.post("/webhook", async (c) => {
      const body = new Uint8Array(await c.req.arrayBuffer());
      if (!await inbox.isSigned(body, c.req.header("x-signature"))) {
        return c.json({ error: "x-signature must be the body's HMAC" }, 401);
      }
      inbox.deliveries.push(new TextDecoder().decode(body));
      return c.body(null, 204);
    });
  },
});

if (import.meta.main) await serve(server);
