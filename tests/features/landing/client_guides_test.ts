import assert from "node:assert/strict";
import {
  type Access,
  clientGuides,
  connectionName,
} from "../../../src/features/landing/client_guides.ts";

function connect(
  client: string,
  access: Access = { kind: "open" },
  baseUrl = "https://tools.example",
) {
  const found = clientGuides({
    title: "Mail & Notes",
    baseUrl,
    access,
  }).find((guide) => guide.client === client);
  assert.ok(found);
  return found;
}

const CREDENTIAL: Access = {
  kind: "credential",
  header: "Authorization",
  example: "Bearer YOUR_TOKEN",
};

Deno.test("clientGuides() gives Claude Code a command to paste", () => {
  assert.equal(
    connect("Claude Code").line,
    "claude mcp add --transport http mail-notes https://tools.example/mcp",
  );
  assert.equal(
    connect("Claude Code", CREDENTIAL).line,
    "claude mcp add --transport http mail-notes https://tools.example/mcp" +
      ' --header "Authorization: Bearer YOUR_TOKEN"',
  );
});

Deno.test("clientGuides() gives Cursor a deeplink with the configuration in it", () => {
  const link = new URL(connect("Cursor", CREDENTIAL).install!.href);
  assert.equal(link.protocol, "cursor:");
  assert.equal(
    link.hostname + link.pathname,
    "anysphere.cursor-deeplink/mcp/install",
  );
  assert.equal(link.searchParams.get("name"), "mail-notes");
  assert.deepEqual(JSON.parse(atob(link.searchParams.get("config")!)), {
    url: "https://tools.example/mcp",
    headers: { Authorization: "Bearer YOUR_TOKEN" },
  });
});

Deno.test("clientGuides() gives VS Code an install link", () => {
  const { href } = connect("VS Code").install!;
  const [scheme, query] = href.split("?");
  assert.equal(scheme, "vscode:mcp/install");
  assert.deepEqual(JSON.parse(decodeURIComponent(query)), {
    name: "mail-notes",
    type: "http",
    url: "https://tools.example/mcp",
  });
});

Deno.test("connectionName() is what every client accepts as a name", () => {
  assert.equal(connectionName("Tool Server"), "tool-server");
  assert.equal(connectionName("  Ünïcode!  "), "n-code");
  assert.equal(connectionName("日本"), "tool-server");
});

Deno.test("clientGuides() says why a client in a cloud cannot connect", () => {
  for (const client of ["Claude", "ChatGPT"]) {
    assert.ok(connect(client).install);
    const local = connect(client, { kind: "open" }, "http://localhost:3000");
    assert.match(local.how, /deploy it, or try a tunnel and set BASE_URL/);
    assert.equal(local.install, undefined);
    assert.equal(local.line, undefined);
    assert.match(connect(client, CREDENTIAL).how, /AUTH_STRATEGY=oauth/);
  }
});
