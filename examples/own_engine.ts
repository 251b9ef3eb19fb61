/**
 * Work that is done by an engine which you have already: the tool starts it
 * there, and `wait` takes the webhook by which the engine reports its end. Here
 * it is Inngest. With Temporal start a workflow whose ID is the token, with DBOS
 * a workflow under that idempotency key, and let its last step post the report.
 * `INNGEST_EVENT_KEY=… REPORT_KEY=… deno run -A own_engine.ts`.
 */
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import {
  defineServer,
  secret,
  serve,
  service,
  tool,
  ToolError,
  z,
} from "@tool-server/tool-server";

const engine = service({
  name: "engine",
  settings: {
    INNGEST_URL: z.url().default("https://inn.gs"),
    INNGEST_EVENT_KEY: secret(z.string().describe("The event key.")),
    REPORT_KEY: secret(
      z.string().min(16).describe("The key that reports are signed with."),
    ),
  },
  start: ({ settings }) => ({
    /** Starts a function, once for a token however often this is called. */
    async start(name: string, token: string, data: Record<string, unknown>) {
      const { INNGEST_URL, INNGEST_EVENT_KEY } = settings;
      const response = await fetch(`${INNGEST_URL}/e/${INNGEST_EVENT_KEY}`, {
        method: "POST",
        body: JSON.stringify({ id: token, name, data: { ...data, token } }),
      });
      await response.body?.cancel();
      if (!response.ok) throw new ToolError("The work could not be started.");
    },
    /** True if a report has the signature of the function that sent it. */
    isSigned(body: string, signature = "") {
      const wanted = createHmac("sha256", settings.REPORT_KEY).update(body)
        .digest();
      const given = Buffer.from(signature, "hex");
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    },
  }),
});

/** The report of a function's end, as its last step posts it. */
const Report = z.object({
  pages: z.number().optional(),
  error: z.string().optional(),
});

const writeReport = tool({
  name: "write_report",
  description: "Has the report of a year written, which takes hours.",
  input: z.object({ year: z.int() }),
  task: { durable: true },
  services: { engine },
  async run({ year }, { wait, services }) {
    const answer = await wait("written", {
      message: `The report of ${year} is being written`,
      // May run again with the same token, if this process dies.
      open: (token) => services.engine.start("report/asked", token, { year }),
      seconds: 7 * 24 * 3600,
    });
    if (answer === undefined) throw new ToolError("No report within a week.");
    const { pages, error } = Report.parse(answer);
    if (error !== undefined) throw new ToolError(`No report: ${error}`);
    return `The report of ${year} has ${pages} pages.`;
  },
});

export const server = defineServer({
  name: "reports",
  version: "1.0.0",
  tools: [writeReport],
  services: { engine },
  routes(app, { services, answer }) {
    app.post("/written", async (c) => {
      const body = await c.req.text();
      if (!services.engine.isSigned(body, c.req.header("x-signature"))) {
        return c.body(null, 401);
      }
      const { token, ...report } = JSON.parse(body);
      // 404: the work has ended, or has its report already.
      return c.body(null, await answer(token, report) ? 204 : 404);
    });
  },
});

if (import.meta.main) await serve(server);
