import assert from "node:assert/strict";
import { resource } from "../../../../src/authoring/resource.ts";
import type { Result } from "../../../../src/core/mcp/exchange/answer.ts";
import type { Call } from "../../../../src/core/mcp/exchange/call.ts";
import {
  findResource,
  isHiddenResource,
} from "../../../../src/core/catalogue/find_resource.ts";
import { readResource } from "../../../../src/core/mcp/methods/resource_read.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import { MAX_URI_CHARACTERS } from "../../../../src/core/catalogue/uri_template.ts";
import { rejects } from "../../../kit/refuses.ts";

const scopes = ["mail"];
const added = [
  resource({ uri: "e://open", name: "e", read: () => "" }),
  resource({ uri: "e://hidden", name: "e_hidden", scopes, read: () => "" }),
];
const whole = compileCatalogue({
  resources: [
    resource({ uri: "a://hidden", name: "hidden", scopes, read: () => "" }),
    resource({ uri: "a://open", name: "open", read: () => "" }),
    resource({ uri: "a://{id}", name: "any", read: ({ id }) => id }),
    resource({ uri: "b://{id}", name: "one", scopes, read: () => "" }),
    resource({ uri: "b://{+path}", name: "all", read: () => "" }),
    resource({ uri: "e://{+path}", name: "others", read: () => "" }),
    resource({
      uri: "c://list",
      name: "list",
      read: () => [{ uri: "c://1", text: "one" }, { uri: "c://2", text: "" }],
    }),
  ],
}, {
  serverInfo: { name: "s", version: "1" },
  features: [() => ({
    resources: added,
    select({ isSeen }) {
      const listed = added.filter(isSeen);
      const find = (uri: string) =>
        listed.find((it) => uri.startsWith(`${it.uri}/`));
      return { listed, find };
    },
  })],
});
const seen = whole.within([]);

Deno.test("findResource() tells a resource, and what its template finds in the URI", () => {
  for (
    const [uri, name, variables] of [
      ["a://open", "open", {}],
      ["a://7", "any", { id: "7" }],
      ["b://x/y", "all", { path: "x/y" }],
      ["e://open", "e", {}],
      ["e://open/older", "e", { uri: "e://open/older" }],
      ["e://none/1", "others", { path: "none/1" }],
    ] as const
  ) {
    for (const catalogue of [whole, seen]) {
      const found = findResource(catalogue, uri);
      assert.deepEqual([found?.resource.name, found?.variables], [
        name,
        variables,
      ]);
      assert.equal(isHiddenResource(catalogue, uri), false);
    }
  }
});

Deno.test("what is left out for a caller is read through no template that is not", () => {
  for (const uri of ["a://hidden", "b://1", "e://hidden", "e://hidden/1"]) {
    assert.ok(findResource(whole, uri));
    assert.equal(isHiddenResource(whole, uri), false);
    assert.equal(findResource(seen, uri), undefined);
    assert.equal(isHiddenResource(seen, uri), true);
  }
});

Deno.test("what no one has is hidden from no one", () => {
  assert.equal(findResource(seen, "d://1"), undefined);
  assert.equal(isHiddenResource(seen, "d://1"), false);
});

async function read(uri: string): Promise<unknown> {
  const call = {
    catalogue: whole,
    printedLists: whole.stateless,
    params: { uri },
    context: {},
    stateless: true,
  } as unknown as Call;
  const { result } = await readResource(call) as Result;
  return JSON.parse(result).contents;
}

Deno.test("readResource() looks at no URI that is longer than any may be", async () => {
  const id = "x".repeat(MAX_URI_CHARACTERS - "a://".length);
  const uri = `a://${id}`;
  assert.deepEqual(await read(uri), [{
    uri,
    mimeType: "text/plain",
    text: id,
  }]);
  await rejects(read(uri + "x"), -32602);
});

Deno.test("readResource() hands on several contents as they are", async () => {
  assert.deepEqual(await read("c://list"), [
    { uri: "c://1", text: "one" },
    { uri: "c://2", text: "" },
  ]);
});

Deno.test("readResource() tells an author whose resource gives no contents", async () => {
  for (const answer of [null, 5, { uri: "d://x" }, [null], [{ text: "" }]]) {
    const catalogue = compileCatalogue({
      resources: [
        resource({ uri: "d://x", name: "d", read: () => answer as never }),
      ],
    }, { serverInfo: { name: "s", version: "1" } });
    const call = {
      catalogue,
      printedLists: catalogue.stateless,
      params: { uri: "d://x" },
      context: {},
    } as unknown as Call;
    await assert.rejects(readResource(call), {
      name: "TypeError",
      message: "resource d must give a text, bytes or an array of contents",
    });
  }
});
