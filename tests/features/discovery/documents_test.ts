import assert from "node:assert/strict";
import { parseConfig } from "../../../src/core/settings/config.ts";
import { discoveryFeature } from "../../../src/features/discovery/feature.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { createServer } from "../../../src/server.ts";
import type { ServerOptions } from "../../../src/core/server/server_options.ts";
import {
  registryComplaints,
  registryEntry,
} from "../../../src/features/discovery/registry_entry.ts";
import type { ServerCard } from "../../../src/features/discovery/server_card.ts";
import { statusOf } from "../../kit/answer.ts";
import { SILENT } from "../../kit/log.ts";

async function withServer(
  test: (get: (path: string, headers?: HeadersInit) => Promise<Response>) =>
    | void
    | Promise<void>,
  env: Record<string, string> = {},
  options: Partial<ServerOptions> = {},
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  await using server = createServer({
    log: SILENT,
    name: "mail tools",
    title: "Mail",
    version: "1.2.3",
    tools: [tool({ name: "search", title: "Search", run: () => "" })],
    ...options,
    kv,
    env: { BASE_URL: "https://tools.example.com/mail", ...env },
  });
  await test(async (path, headers) =>
    await server.fetch(
      new Request(`https://tools.example.com/mail${path}`, { headers }),
    )
  );
}

Deno.test("GET /mcp/server-card tells who the server is and where, and nothing that needs signing in", () =>
  withServer(async (get) => {
    const response = await get("/mcp/server-card");
    assert.equal(response.status, 200);
    assert.equal(
      response.headers.get("content-type"),
      "application/mcp-server-card+json",
    );
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    assert.deepEqual(await response.json(), {
      $schema:
        "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
      name: "com.example.tools/mail-tools",
      version: "1.2.3",
      description: "Mail: tools for assistants",
      title: "Mail",
      remotes: [{
        type: "streamable-http",
        url: "https://tools.example.com/mail/mcp",
        supportedProtocolVersions: [
          "2025-03-26",
          "2025-06-18",
          "2025-11-25",
          "2026-07-28",
        ],
      }],
    });
  }, { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "0123456789abcdef" }));

Deno.test("the card says what its author does, and so does serverInfo", () =>
  withServer(
    async (get) => {
      const card: ServerCard = await (await get("/mcp/server-card")).json();
      assert.equal(card.name, "com.example/mail");
      assert.equal(card.description, "Reads and writes mail.");
      assert.deepEqual(card.icons, [{ src: "https://example.com/icon.png" }]);
      assert.equal(card.websiteUrl, "https://example.com/");
    },
    {},
    {
      registryName: "com.example/mail",
      description: "Reads and writes mail.",
      icons: [{ src: "https://example.com/icon.png" }],
      websiteUrl: "https://example.com/",
    },
  ));

Deno.test("a document that has not changed is not sent again", () =>
  withServer(async (get) => {
    for (
      const path of [
        "/mcp/server-card",
        "/.well-known/ai-catalog.json",
        "/llms.txt",
      ]
    ) {
      const first = await get(path);
      await first.body?.cancel();
      const etag = first.headers.get("etag")!;
      assert.equal(first.headers.get("access-control-expose-headers"), "ETag");
      assert.match(first.headers.get("cache-control")!, /max-age=3600/);
      const again = await get(path, { "if-none-match": `"x", W/${etag}` });
      assert.equal(again.status, 304, path);
      assert.equal(again.body, null);
      assert.equal(await statusOf(get(path, { "if-none-match": '"x"' })), 200);
    }
  }));

Deno.test("GET /.well-known/ai-catalog.json leads to the card", () =>
  withServer(
    async (get) => {
      const response = await get("/.well-known/ai-catalog.json");
      assert.equal(
        response.headers.get("content-type"),
        "application/ai-catalog+json",
      );
      assert.deepEqual(await response.json(), {
        specVersion: "1.0",
        host: { displayName: "Example Company" },
        entries: [{
          identifier: "urn:air:tools.example.com:mcp:mail-tools",
          displayName: "Mail",
          type: "application/mcp-server-card+json",
          url: "https://tools.example.com/mail/mcp/server-card",
        }],
      });
    },
    {},
    { operator: "Example Company" },
  ));

Deno.test("SERVER_CARD=false takes the card and the catalogue away", () =>
  withServer(async (get) => {
    for (const path of ["/mcp/server-card", "/.well-known/ai-catalog.json"]) {
      assert.equal(await statusOf(get(path)), 404, path);
    }
  }, { SERVER_CARD: "false" }));

Deno.test("GET /.well-known/openai-apps-challenge is the token alone, and 404 without one", async () => {
  const path = "/.well-known/openai-apps-challenge";
  await withServer(async (get) => {
    const response = await get(path);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type")!, /^text\/plain/);
    assert.equal(await response.text(), "t0k-en");
  }, { OPENAI_APPS_CHALLENGE: "t0k-en" });
  await withServer(async (get) => {
    assert.equal(await statusOf(get(path)), 404);
  });
});

Deno.test("GET /llms.txt is Markdown with one heading, the address and the tools", () =>
  withServer(
    async (get) => {
      const text = await (await get("/llms.txt")).text();
      assert.match(text, /^# Mail\n\n> Mail: tools for assistants\n/);
      assert.equal(text.match(/^# /gm)?.length, 1);
      assert.match(text, /is https:\/\/tools\.example\.com\/mail\/mcp\. It/);
      assert.match(text, /^- `search`: Search$/m);
      assert.match(text, /## Optional\n\n- \[Privacy\]\(https:\/\/ex.+\)\n$/);
      assert.match(text, /\/mcp\/server-card\)/);
    },
    {},
    { privacyUrl: "https://example.com/privacy" },
  ));

Deno.test("GET /llms.txt leads to no card that is switched off", () =>
  withServer(
    async (get) => {
      assert.doesNotMatch(await (await get("/llms.txt")).text(), /card/i);
    },
    { SERVER_CARD: "false" },
  ));

const CARD: ServerCard = {
  $schema: "",
  name: "com.example/mail",
  version: "1.0.0",
  description: "Reads mail.",
  remotes: [{
    type: "streamable-http",
    url: "https://tools.example.com/mcp",
    supportedProtocolVersions: ["2026-07-28"],
  }],
};

Deno.test("registryEntry() is the card as the registry takes it", () => {
  const entry = registryEntry(CARD);
  assert.match(entry.$schema, /2025-12-11\/server\.schema\.json$/);
  assert.deepEqual(entry.remotes, [{
    type: "streamable-http",
    url: "https://tools.example.com/mcp",
  }]);
  assert.deepEqual(registryComplaints(entry), []);
});

const REFUSED: [what: RegExp, changes: Partial<ServerCard>][] = [
  [/^name: /, { name: "mail" }],
  [/^name: /, { name: "com.example/mail/more" }],
  [/^version: /, { version: "^1.2.3" }],
  [/^version: /, { version: "1.x" }],
  [/^version: /, { version: "latest" }],
  [/^description: /, { description: "x".repeat(101) }],
  [/^title: /, { title: "" }],
  [/^websiteUrl: /, { websiteUrl: "http://example.com" }],
  [/^icons: .*no data:/, { icons: [{ src: "data:image/png;base64,AA==" }] }],
  [/^icons: .*48x48/, {
    icons: [{ src: "https://example.com/i.png", sizes: ["big"] }],
  }],
  [/^icons: .*PNG/, {
    icons: [{ src: "https://example.com/i.gif", mimeType: "image/gif" }],
  }],
  [/^remotes: .*Set BASE_URL/, {
    remotes: [{ ...CARD.remotes[0], url: "http://localhost:3000/mcp" }],
  }],
];

for (const [what, changes] of REFUSED) {
  Deno.test(`registryComplaints() refuses ${JSON.stringify(changes).slice(0, 60)}`, () => {
    const complaints = registryComplaints(
      registryEntry({ ...CARD, ...changes }),
    );
    assert.equal(complaints.length, 1);
    assert.match(complaints[0], what);
  });
}

Deno.test("the settings of discovery refuse what is no switch and no token", () => {
  for (
    const env of [
      { SERVER_CARD: "perhaps" },
      { OPENAI_APPS_CHALLENGE: "two words" },
    ]
  ) {
    const [name] = Object.keys(env);
    assert.throws(
      () => parseConfig(env, { features: [discoveryFeature] }),
      new RegExp(`${name}: got`),
    );
  }
});
