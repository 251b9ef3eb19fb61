/**
 * A server on a real port whose `/views` is open, as under `deno task dev`.
 *
 * @module
 */
import * as z from "zod";
import { result } from "../../src/authoring/result.ts";
import { type Tool, tool } from "../../src/authoring/tool.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import { ServerInstance } from "../../src/core/server/server_instance.ts";
import { FEATURES } from "../../src/features.ts";
import { Plan } from "../../src/core/server/plan.ts";
import type { Server } from "../../src/core/server/server_options.ts";
import { memoryKv } from "../../src/core/kv/memory_kv.ts";
import { IMPLEMENTATION } from "../kit/server.ts";
import { SILENT } from "../kit/log.ts";

/** Makes the page of a tool that charts something, with more in its script. */
export function page(script: string, title = "Bars"): string {
  return `<!doctype html>
<title>Bars</title>
<style>
  body { margin: 0; background: rgb(255, 255, 255); }
  [data-theme="dark"] body { background: rgb(0, 0, 0); }
</style>
<script src="tool-server/view"></script>
<h1>${title}</h1>
<p id="words"></p>
<button>Pick</button>
<a href="http://127.0.0.1:9/">A link</a>
<script>
view.show(({ status, input, data, text, meta }) => {
  words.textContent = [
    status, input?.from, data?.bars, text, meta.color,
  ].join(" ");
});
document.querySelector("button").onclick = async () => {
  const { data } = await view.call("pick", { bar: 2 });
  words.textContent = "picked " + data.height;
  await view.tell("They picked " + data.height);
  await view.say("Why " + data.height + "?");
};
${script}
</script>`;
}

/** Makes a tool with a view, and one for the view alone. */
export function barTools(html: string): Tool[] {
  return [
    tool({
      name: "bars",
      title: "Bars",
      description: "Shows bars.",
      input: z.object({ from: z.string() }),
      output: z.object({ bars: z.array(z.number()) }),
      view: html,
      samples: { "From a sample": { input: { from: "sample" } } },
      run: ({ from }) =>
        result({ bars: [1, 2] }, {
          content: `Bars from ${from}.`,
          meta: { color: "green" },
        }),
    }),
    tool({
      name: "pick",
      input: z.object({ bar: z.int() }),
      output: z.object({ height: z.int() }),
      visibility: ["app"],
      run: ({ bar }) => ({ height: bar * 10 }),
    }),
    tool({ name: "model_only", visibility: ["model"], run: () => "" }),
  ];
}

/** The server, which can be restarted as after a change of its source. */
export class ViewSite implements AsyncDisposable {
  #app!: Server;
  #kv = memoryKv();
  readonly #http: Deno.HttpServer<Deno.NetAddr>;
  readonly origin: string;

  constructor(tools: Tool[], private readonly env: Environment = {}) {
    this.#http = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request, info) => this.#app.fetch(request, info),
    );
    this.origin = `http://127.0.0.1:${this.#http.addr.port}`;
    this.#begin(tools);
  }

  #begin(tools: Tool[]): void {
    const options = { ...IMPLEMENTATION, tools };
    const plan = new Plan(FEATURES, { ...options, log: SILENT }, {
      BASE_URL: this.origin,
      ...this.env,
    });
    const [kv, isDevelopment] = [this.#kv, true];
    this.#app = new ServerInstance(plan, {
      kv,
      origin: this.origin,
      isDevelopment,
    });
  }

  /** Begins again with other tools. */
  async restart(tools: Tool[]): Promise<void> {
    const before = this.#app;
    this.#begin(tools);
    await before[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#app.stop();
    await this.#http.shutdown();
    await this.#app[Symbol.asyncDispose]();
    this.#kv[Symbol.dispose]();
  }
}
