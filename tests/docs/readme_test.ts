/**
 * The page that newcomers read: its length, and the answer of its second tool
 * where a reader tries it, at the built-in provider.
 *
 * @module
 */
import assert from "node:assert/strict";
import { callSignedIn, devServer, signInByName } from "../kit/dev_server.ts";
import { REPOSITORY, TemporaryDirectory } from "../kit/process.ts";
import { readPages } from "./pages.ts";

const MAX_WORDS = 1100;

const readme = (await readPages()).find(({ path }) => path === "README.md")!;

Deno.test("README.md is short, and says how to do all of it with Node only", () => {
  const count = readme.text.trim().split(/\s+/).length;
  assert(count <= MAX_WORDS, `README.md has ${count} words`);
  const prose = readme.prose.replaceAll(/\s+/g, " ");
  assert.match(prose, /Node\D+20.* write `npx -y deno` in place of `deno`/);
});

Deno.test("docs/own_app.md names the Node that the npm package wants", async () => {
  const pages = await readPages();
  const { prose } = pages.find(({ path }) => path === "docs/own_app.md")!;
  const [, named] = /It needs\s+Node (\d+) or later/.exec(prose)!;
  const pack = await Deno.readTextFile(new URL("scripts/pack.ts", REPOSITORY));
  assert.equal(/node: ">=(\d+)"/.exec(pack)![1], named);
});

Deno.test("the tool of README.md that calls the provider gets an answer of the built-in one", async () => {
  await using directory = new TemporaryDirectory();
  const { text, file } = readme.blocks.find(({ text }) =>
    text.includes("upstream.fetch(")
  )!;
  const module = new URL("src/mod.ts", REPOSITORY).href;
  const path = `${directory.path}/${file}`;
  await Deno.writeTextFile(
    path,
    text.replace("@tool-server/tool-server", module),
  );
  const { default: tool } = await import(`file://${path}`);

  await using server = await devServer([tool]);
  const url = new URL(`${server.url}/mcp`);
  const signIn = await signInByName(url, "ada@example.com");
  const { structuredContent } = await callSignedIn(url, signIn, tool.name);
  assert.deepEqual(structuredContent, {
    name: "ada@example.com",
    email: "ada@example.com",
  });
});
