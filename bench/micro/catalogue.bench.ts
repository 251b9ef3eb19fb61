/** The cost of a thousand tools: once at start-up, and for each call. */
import { tool } from "../../src/authoring/tool.ts";
import { compileCatalogue } from "../../src/core/catalogue/catalogue.ts";
import * as z from "zod";

function catalogueOf(count: number) {
  const tools = Array.from({ length: count }, (_, index) =>
    tool({
      name: `tool_${index}`,
      input: z.object({ query: z.string(), limit: z.int().default(10) }),
      run: ({ query }) => query,
    }));
  return compileCatalogue({ tools }, {
    serverInfo: { name: "bench", version: "1.0.0" },
  });
}

const one = catalogueOf(1);
const thousand = catalogueOf(1000);

Deno.bench("a tool by name, of 1", { group: "find", baseline: true }, () => {
  one.tools.get("tool_0");
});

Deno.bench("a tool by name, of 1,000", { group: "find" }, () => {
  thousand.tools.get("tool_999");
});

Deno.bench("tools/list of 1", { group: "list", baseline: true }, () => {
  one.session.tools.page(undefined);
});

Deno.bench("tools/list of 1,000", { group: "list" }, () => {
  thousand.session.tools.page(undefined);
});

Deno.bench("compileCatalogue() of 1,000 tools", () => {
  catalogueOf(1000);
});
