import assert from "node:assert/strict";
import { initialize } from "../../kit/message.ts";
import * as z from "zod";
import { resource } from "../../../src/authoring/resource.ts";
import { result } from "../../../src/authoring/result.ts";
import { tool } from "../../../src/authoring/tool.ts";
import type { ToolView } from "../../../src/authoring/tool_view.ts";
import {
  findResource,
  isHiddenResource,
} from "../../../src/core/catalogue/find_resource.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";
import { CatalogueError } from "../../../src/core/catalogue/compiled_definitions.ts";
import {
  eachRevision,
  RefusedError,
  testServer,
} from "../../../packages/testing/mod.ts";
import { resultOf } from "../../kit/answer.ts";
import { startServer } from "../../kit/server.ts";
import { toolViews } from "../../../src/features/views/tool_views.ts";
import {
  checkViewDocument,
  withViewScript,
} from "../../../src/features/views/view_resource.ts";

const HTML = "<!doctype html><title>Chart</title>" +
  `<script src="tool-server/view"></script>`;
const EXTENSION = "io.modelcontextprotocol/ui";

function chart(view: string | ToolView = HTML, name = "chart") {
  return tool({
    name,
    title: "Chart",
    output: z.object({ bars: z.array(z.number()) }),
    view,
    run: () =>
      result({ bars: [1, 2] }, {
        content: "Two bars.",
        meta: { colors: ["red", "green"] },
      }),
  });
}

Deno.test("a view is declared, listed, read, and given its result, in both generations", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools: [chart()], revision });
    const { tools: [listed], resources: [resource] } = await server.list();
    const uri = resource.uri;
    assert.match(uri, /^ui:\/\/chart\/[\w-]{16}\.html$/);
    assert.deepEqual(listed._meta, {
      ui: { resourceUri: uri },
      "ui/resourceUri": uri,
      "openai/outputTemplate": uri,
      "openai/widgetAccessible": true,
    });
    assert.equal(resource.mimeType, "text/html;profile=mcp-app");
    const { contents: [content] } = await server.read(uri);
    assert.equal(content.uri, uri);
    assert.equal(content.mimeType, "text/html;profile=mcp-app");
    assert.match(content.text!, /^<!doctype html>.*globalThis\.view=/s);
    // Hosts read a view's metadata in either place.
    assert.deepEqual(content._meta, resource._meta);
    assert.deepEqual(content._meta, {
      ui: { csp: { connectDomains: [], resourceDomains: [] } },
      "openai/widgetCSP": { connect_domains: [], resource_domains: [] },
    });
    const called = await server.call(chart());
    assert.deepEqual(called.structured, { bars: [1, 2] });
    assert.equal(called.text, "Two bars.");
    assert.deepEqual(called.meta, { colors: ["red", "green"] });
  }));

Deno.test("what a view wants is said in the standard's words and in ChatGPT's", async () => {
  const view: ToolView = {
    html: HTML,
    border: true,
    connect: ["https://api.example.com"],
    load: ["https://cdn.example.com"],
    frames: ["https://maps.example.com"],
    permissions: ["camera", "clipboard-write"],
    domain: "https://tools.example.com",
  };
  await using server = await testServer({ tools: [chart(view)] });
  const { meta, html } = await server.view("chart");
  assert.match(html, /<title>Chart/);
  assert.deepEqual(meta, {
    ui: {
      csp: {
        connectDomains: ["https://api.example.com"],
        resourceDomains: ["https://cdn.example.com"],
        frameDomains: ["https://maps.example.com"],
      },
      permissions: { camera: {}, clipboardWrite: {} },
      prefersBorder: true,
      // And no domain: Claude would refuse to show the view.
    },
    "openai/widgetCSP": {
      connect_domains: ["https://api.example.com"],
      resource_domains: ["https://cdn.example.com"],
      frame_domains: ["https://maps.example.com"],
    },
    "openai/widgetPrefersBorder": true,
    "openai/widgetDomain": "https://tools.example.com",
  });
});

Deno.test("the extension is declared where there is a view, besides that of tasks", async () => {
  const long = tool({ name: "long", task: "optional", run: () => "" });
  const tasks = "io.modelcontextprotocol/tasks";
  for (
    const [tools, stateless, session] of [
      [[long], { [tasks]: {} }, undefined],
      [[chart()], { [EXTENSION]: {} }, { [EXTENSION]: {} }],
      [[long, chart()], { [EXTENSION]: {}, [tasks]: {} }, { [EXTENSION]: {} }],
    ] as const
  ) {
    await using server = await startServer({ tools, handOver: 0 });
    const discovered = await resultOf(server.call("server/discover"));
    assert.deepEqual(discovered.capabilities.extensions, stateless);
    const { capabilities: initialized } = await resultOf(
      server.post(initialize("2025-11-25")),
    );
    assert.deepEqual(initialized.extensions, session);
    assert.equal(initialized.resources !== undefined, session !== undefined);
  }
});

Deno.test("clients may keep a view for an hour", async () => {
  await using server = await startServer({ tools: [chart()] });
  const { resources: [{ uri }] } = await resultOf(
    server.call("resources/list"),
  );
  const { ttlMs } = await resultOf(server.call("resources/read", { uri }));
  assert.equal(ttlMs, 3_600_000);
});

Deno.test("a view has another address when its content or its options change", async () => {
  const addresses = new Set<string>();
  const views = [HTML, `${HTML} `, { html: HTML, border: true }, HTML];
  for (const view of views) {
    await using server = await testServer({ tools: [chart(view)] });
    addresses.add((await server.view("chart")).uri);
  }
  assert.equal(addresses.size, 3);
});

Deno.test("a view is found by the address of another version", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools: [chart()], revision });
    const uri = "ui://chart/AAAAAAAAAAAAAAAA.html";
    const { contents: [content] } = await server.read(uri);
    assert.equal(content.uri, uri);
    assert.match(content.text!, /<title>Chart/);
    await assert.rejects(server.read("ui://other/A.html"), RefusedError);
    await assert.rejects(server.read("ui://chart"), RefusedError);
  }));

Deno.test("one view of two tools is one resource", async () => {
  const view = { html: HTML };
  const tools = [chart(view), chart(view, "again"), chart(HTML, "third")];
  await using server = await testServer({ tools });
  const { resources } = await server.list();
  assert.equal(resources.length, 2);
  const uris = await Promise.all(
    ["chart", "again"].map(async (name) => (await server.view(name)).uri),
  );
  assert.deepEqual(uris, [resources[0].uri, resources[0].uri]);
});

Deno.test("a view is hidden with its tool, at every address", () => {
  const tools = [
    { ...chart(), scopes: ["charts:read"] },
    { ...chart({ html: HTML }, "open"), scopes: [] },
  ];
  const serverInfo = { name: "s", version: "1" };
  const resources = [
    resource({ uri: "ui://{+path}", name: "others", read: () => "" }),
  ];
  const whole = compileCatalogue({ tools, resources }, {
    serverInfo,
    features: [toolViews],
  });
  const [hidden, seen] = [...whole.resources.keys()];
  const none = whole.within([]);
  assert.deepEqual([...none.resources.keys()], [seen]);
  for (const uri of [hidden, "ui://chart/A.html"]) {
    assert.ok(findResource(whole, uri));
    assert.equal(findResource(none, uri), undefined);
    assert.equal(isHiddenResource(none, uri), true);
  }
  const found = findResource(none, "ui://open/A.html");
  assert.equal(found?.resource.name, "open_view");
  assert.equal(findResource(none, "ui://x/1")?.resource.name, "others");
});

Deno.test("a view asks for no scope of its own: there is nothing of the caller's in it", async () => {
  const tools = [{ ...chart(), scopes: ["charts:read"] }];
  await using server = await testServer({ tools });
  const later = server.as({ subject: "b", scopes: [] });
  assert.match((await later.view("chart")).html, /<title>Chart/);
  await assert.rejects(later.call("chart"), RefusedError);
});

Deno.test("visibility says who may call a tool", async () => {
  const run = () => "";
  await using server = await testServer({
    tools: [
      tool({ name: "both", run }),
      tool({ name: "app", visibility: ["app"], run }),
      tool({ name: "model", visibility: ["model"], run }),
      tool({ name: "own", visibility: ["app"], _meta: { mine: 1 }, run }),
    ],
  });
  const { tools } = await server.list();
  assert.deepEqual(tools.map(({ _meta }) => _meta), [
    undefined,
    {
      ui: { visibility: ["app"] },
      "openai/widgetAccessible": true,
      "openai/visibility": "private",
    },
    { ui: { visibility: ["model"] } },
    {
      ui: { visibility: ["app"] },
      "openai/widgetAccessible": true,
      "openai/visibility": "private",
      mine: 1,
    },
  ]);
});

Deno.test("pages name no tool that only views call", async () => {
  const run = () => "";
  await using server = await testServer({
    tools: [
      tool({ name: "for_people", run }),
      tool({ name: "for_views", visibility: ["app"], run }),
    ],
  });
  for (const path of ["/", "/llms.txt"]) {
    const response = await server.fetch(path);
    const text = await response.text();
    assert.match(text, /for_people/);
    assert.doesNotMatch(text, /for_views/);
  }
});

Deno.test("a view needs a page, and an object as its tool's output", async () => {
  const list = tool({
    name: "list",
    output: z.array(z.number()),
    view: HTML,
    run: () => [1],
  });
  await assert.rejects(
    testServer({ tools: [list, chart("./chart.html")] }),
    (error) => {
      assert.ok(error instanceof CatalogueError);
      assert.match(error.complaints[0], /^tool list: .*object as its output/);
      assert.match(error.complaints[1], /^tool chart: view must be an HTML/);
      return true;
    },
  );
});

Deno.test("result() is checked by the output's schema like the output alone", async () => {
  const wrong = tool({
    name: "wrong",
    output: z.object({ n: z.number() }),
    run: () => result({ n: "1" as unknown as number }, { content: "One." }),
  });
  await using server = await testServer({ tools: [wrong] });
  await assert.rejects(server.call(wrong), /broke its output schema/);
});

Deno.test("result() takes blocks, and leaves the JSON text where there are no words", async () => {
  const output = z.object({ n: z.number() });
  const run = (content?: Parameters<typeof result>[1]["content"]) => () =>
    result({ n: 1 }, { content, meta: { m: 1 } });
  const picture = { type: "image", data: "AA", mimeType: "image/png" } as const;
  await using server = await testServer({
    tools: [
      tool({ name: "none", output, run: run() }),
      tool({ name: "one", output, run: run(picture) }),
      tool({
        name: "two",
        output,
        run: run([{ type: "text", text: "One" }, picture]),
      }),
    ],
  });
  assert.equal((await server.call("none")).text, '{"n":1}');
  assert.deepEqual((await server.call("none")).meta, { m: 1 });
  assert.deepEqual((await server.call("one")).content, [picture]);
  assert.equal((await server.call("two")).text, "One");
});

const page = (body: string) => `<!doctype html><title>a</title>${body}`;

const REFUSED: readonly (readonly [string, string, RegExp, object?])[] = [
  ["a path", "./chart.html", /must be an HTML document .* with \{ type/],
  [
    "a script next to it",
    page(`<script src="./chart.js"></script>`),
    /loads \.\/chart\.js, which no client has/,
  ],
  [
    "a stylesheet next to it",
    page(`<link rel="stylesheet" href=style.css>`),
    /loads style\.css/,
  ],
  ["a picture next to it", page(`<img alt="" src='/a.png'>`), /\/a\.png/],
  [
    "an origin that it does not name",
    page(`<script src="https://cdn.example/a.js"></script>`),
    /its origin into load/,
    { load: ["https://example"] },
  ],
  [
    "a frame among what it loads",
    page(`<iframe src="https://maps.example/"></iframe>`),
    /its origin into frames/,
    { load: ["https://maps.example"] },
  ],
  [
    "another scheme of an origin it names",
    page(`<img src="http://cdn.example/a.png">`),
    /into load/,
    { load: ["https://cdn.example"] },
  ],
  [
    "an origin that it does not name, with a path that holds data:",
    page(`<img src="https://cdn.example/data:a">`),
    /into load/,
  ],
  [
    "a picture next to it, with an origin in its query",
    page(`<img src="/a.png?of=https://cdn.example">`),
    /which no client has/,
    { load: ["https://cdn.example"] },
  ],
  [
    "a frame in capitals among what it loads",
    page(`<IFRAME src="https://maps.example/"></IFRAME>`),
    /its origin into frames/,
    { load: ["https://maps.example"] },
  ],
  ["a word before an origin", page(""), /must be an origin/, {
    load: ["'self' https://cdn.example"],
  }],
  ["an address for an origin", page(""), /must be an origin/, {
    connect: ["https://api.example.com/v1"],
  }],
  ["a word for an origin", page(""), /must be an origin/, { load: ["self"] }],
  ["a directive for an origin", page(""), /must be an origin/, {
    frames: ["https://a; script-src *"],
  }],
  ["a bare host for a domain", page(""), /must be an origin/, {
    domain: "tools.example.com",
  }],
];

for (const [what, html, expected, options = {}] of REFUSED) {
  Deno.test(`checkViewDocument() refuses ${what}`, () => {
    assert.throws(() => checkViewDocument(html, options), expected);
  });
}

Deno.test("checkViewDocument() takes what is within, and origins that are named", () => {
  checkViewDocument(
    page(`
      <script src="tool-server/view"></script>
      <link rel="stylesheet" href="https://fonts.cdn.example/a.css">
      <img src="data:image/png;base64,AA"><a href="other">A link</a>
      <svg><use href="#mark"></use></svg>
      <!-- <script src="old.js"></script> -->
      <iframe src="https://maps.example:8443/x"></iframe>
      <script>const made = '<img src="' + address + '">';</script>`),
    {
      load: ["https://*.cdn.example"],
      frames: ["https://maps.example:8443"],
      connect: ["wss://live.example.com"],
      domain: "https://tools.example.com",
    },
  );
});

Deno.test("withViewScript() puts the script in its place, alone and without comments", () => {
  const html = withViewScript(
    page(`<script src="tool-server/view"></script><p>$&</p>`),
  );
  assert.match(html, /<script>globalThis\.view=/);
  assert.match(html, /ui\/initialize/);
  assert.match(html, /<p>\$&<\/p>$/);
  assert.doesNotMatch(html, /^\s*(\/\/|\/\*)/m);
  assert.doesNotMatch(html, /tool-server\/view/);
  assert.equal(html.match(/<\/script/g)?.length, 1);
  const [, script] = /<script>(.*)<\/script>/s.exec(html)!;
  // Only comments were removed: it can still be parsed.
  assert.ok(new Function(script));
});

Deno.test("withViewScript() leaves a page alone that has another script", () => {
  const html = page("<script>own()</script>");
  assert.equal(withViewScript(html), html);
});
