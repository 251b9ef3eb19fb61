/** The dashboard in deploy/; `telemetry_test.ts` checks its queries. */
import assert from "node:assert/strict";
import { load } from "js-yaml";
import type { Json } from "../kit/message.ts";
import { REPOSITORY } from "../kit/process.ts";
import { askedBy, readDashboard } from "./promql.ts";

Deno.test("the dashboard shows labels that its queries give, and chooses among services", async () => {
  const { panels, templating } = await readDashboard();
  assert(panels.length > 10);
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const { targets } of panels) {
    for (const { expr, legendFormat } of targets) {
      const { labels } = askedBy(expr);
      assert(labels.includes("job"), expr);
      for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        assert(labels.includes(label), `${label} of ${expr}`);
      }
    }
  }
  const job = templating.list.find(({ name }) => name === "job")!;
  const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(job.query)!;
  assert.equal(label, "job");
  assert(askedBy(panels[0].targets[0].expr).metrics.includes(metric));
});

Deno.test("the two servers of compose.yaml are two instances", async () => {
  const { services } = load(
    await Deno.readTextFile(new URL("deploy/compose.yaml", REPOSITORY)),
  ) as Json;
  for (const name of ["server-1", "server-2"]) {
    const { OTEL_RESOURCE_ATTRIBUTES } = services[name].environment;
    assert.equal(OTEL_RESOURCE_ATTRIBUTES, `service.instance.id=${name}`);
  }
});
