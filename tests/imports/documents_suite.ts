/**
 * Documents that no one here wrote become tools that type-check, are formatted
 * and pass their own tests as they are written, whose requests a mock of the same
 * document takes, and which cost the tokens that the import has said.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { parseOpenApi, readSource } from "../../packages/import/document.ts";
import { importTools, parseFlags } from "../../packages/import/mod.ts";
import { openSource } from "../../packages/import/open_source.ts";
import { testServer } from "../../packages/testing/mod.ts";
import { callTool, MOCK_PACKAGE, ValidatingMock } from "./validating_mock.ts";
import { importedTools } from "../kit/imported_tools.ts";
import { REPOSITORY, TemporaryDirectory } from "../kit/process.ts";

const PACKAGES = [
  "@readme/oas-examples@8.2.2",
  "@directus/specs@15.2.0",
  "@blockfrost/openapi@0.1.93",
  MOCK_PACKAGE,
  "gpt-tokenizer@4.0.0",
];

const README = "@readme/oas-examples";

/** The documents, each with the name of its service. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  swagger: `${README}/2.0/json/petstore.json`,
  expanded: `${README}/2.0/yaml/petstore-expanded.yaml`,
  linked: `${README}/2.0/json/petstore-with-external-docs.json`,
  petstore: `${README}/3.0/json/petstore.json`,
  security: `${README}/3.0/json/security.json`,
  styles: `${README}/3.0/json/parameters-style.json`,
  extreme: `${README}/3.0/json/parameters-extreme.json`,
  common: `${README}/3.0/yaml/parameters-common.yaml`,
  cookies: `${README}/3.0/json/parameters-cookies.json`,
  polymorphism: `${README}/3.0/json/polymorphism.json`,
  discriminators: `${README}/3.0/json/discriminators.json`,
  circular: `${README}/3.0/json/schema-circular.json`,
  nesting: `${README}/3.0/json/complex-nesting.json`,
  forms: `${README}/3.0/json/form-data.json`,
  trek: `${README}/3.0/yaml/star-trek.yaml`,
  uspto: `${README}/3.0/yaml/uspto.yaml`,
  legacy: `${README}/3.0/json/readme-legacy.json`,
  trains: `${README}/3.1/json/train-travel.json`,
  readme: `${README}/3.1/json/readme.json`,
  kinds: `${README}/3.1/json/schema-types.json`,
  directus: "@directus/specs/dist/openapi.json",
  blockfrost: "@blockfrost/openapi/openapi.yaml",
};

/** The address of each API: some documents have none. */
const API = "https://api.example.com/v1";

/** The most operations that are taken of one document. */
const MOST = 6;

/** Operations that are left out, though picked by name: the exit code tells it. */
const LEFT_OUT = [
  // Each service has one way to sign in.
  "swagger GET /pet/{petId}",
  "petstore GET /pet/{petId}",
  "security GET /anything/apiKey",
  "security POST /anything/apiKey",
  "security PUT /anything/apiKey",
  "security POST /anything/bearer",
  "security PUT /anything/bearer",
  // Tools cannot send a file.
  "legacy POST /api-specification",
  "legacy PUT /api-specification/{id}",
];

/** Calls that the mock refuses, or fails at, though they are as they must be. */
const REFUSED = [
  // A parameter `Authorization` is ignored (OpenAPI, Parameter Object).
  "circular put_circular all",
  "circular put_circular least",
  // The alternatives overlap: nothing of use fits exactly one of them.
  "discriminators one_of_with_top_level_discriminator_and_mapping all",
  "discriminators one_of_with_top_level_discriminator_no_mapping all",
  "discriminators patch_embedded_discriminator all",
  "discriminators patch_mapping_with_duplicate_schemas all",
  "discriminators patch_nested_one_of_object_with_nested_one_of all",
  "discriminators patch_oneof_allof_top_level_disc all",
  "polymorphism patch_pets all",
  "polymorphism post_anything_one_of_object all",
  // Prism fails where a header that need not be there is an array.
  "styles headers_simple_exploded least",
  "styles headers_simple_non_exploded least",
  "styles headers_standard least",
];

const SERVER = `import { defineServer } from "@tool-server/tool-server";
import { tools } from "./tools/mod.ts";

export default defineServer({ name: "imports", version: "0.1.0", tools });
`;

async function run(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
  }).output();
  const [out, errors] = [stdout, stderr].map((it) =>
    new TextDecoder().decode(it)
  );
  if (success) return out;
  throw new Error(
    `${command} ${args.join(" ")}:\n${out.slice(-6000)}\n${
      errors.slice(-6000)
    }`,
  );
}

Deno.test("22 documents of others become tools without an edit, and a mock of each takes their requests", async () => {
  await using modules = new TemporaryDirectory();
  await using project = new TemporaryDirectory();
  const install = "install --silent --no-audit --no-fund --prefix";
  await run("npm", [...install.split(" "), modules.path, ...PACKAGES], ".");
  const root = project.path;
  const configuration = {
    imports: {
      "@tool-server/tool-server": "jsr:@tool-server/tool-server@0.2.0",
    },
    links: [REPOSITORY.pathname.replace(/\/$/, "")],
    lock: false,
    unstable: ["kv", "no-legacy-abort"],
    fmt: { exclude: ["deno.json"] },
  };
  await Deno.writeTextFile(`${root}/deno.json`, JSON.stringify(configuration));
  await Deno.writeTextFile(`${root}/server.ts`, SERVER);
  const said: Record<string, number> = {};
  const leftOut: string[] = [];
  for (const [name, path] of Object.entries(DOCUMENTS)) {
    const file = `${modules.path}/node_modules/${path}`;
    const { items } = await openSource(file);
    const picks = items.filter(({ isDeprecated }) => !isDeprecated)
      .slice(0, MOST).flatMap(({ id }) => ["--pick", id]);
    const args = [file, ...picks, "--as", name, "--url", API];
    const code = await importTools(parseFlags(args), {
      print(words) {
        const [, id] = /^(.+) is left out: /.exec(words) ?? [];
        if (id) leftOut.push(`${name} ${id}`);
        const [, tokens] =
          /about ([\d,]+) tokens in each .*\nNext/.exec(words) ??
            [];
        if (tokens) said[name] = Number(tokens.replace(",", ""));
      },
    }, { root });
    const isWhole = !LEFT_OUT.some((it) => it.startsWith(`${name} `));
    assert.equal(code, isWhole ? 0 : 1, path);
  }
  assert.deepEqual(leftOut, LEFT_OUT);
  await run(Deno.execPath(), ["fmt", "--check", "tools", "services"], root);
  await run(Deno.execPath(), ["lint", "tools", "services"], root);
  await run(Deno.execPath(), ["check", "server.ts", "tools"], root);
  const test = ["test", "--no-check", "-A", "-q", "--parallel", "tools"];
  const printed = await run(Deno.execPath(), test, root);
  const [, passed] = /ok \| (\d+) passed \| 0 failed/.exec(printed) ?? [];
  assert(Number(passed) >= 95, printed.slice(-500));

  const tools = await importedTools(root);
  const { encode } = createRequire(`${modules.path}/a.js`)(
    "gpt-tokenizer/encoding/o200k_base",
  );
  const errors: Record<string, number> = {};
  const refusals: Record<string, string> = {};
  let calls = 0;
  for (const [service, path] of Object.entries(DOCUMENTS)) {
    const file = `${modules.path}/node_modules/${path}`;
    const { text, address } = await readSource(file);
    const document = await parseOpenApi(text, file, address);
    const api = { service, api: API, document };
    const own = tools.filter((it) => it.service === service);
    await using server = await testServer({
      tools: own.map(({ tool }) => tool),
      env: { [`${service.toUpperCase()}_URL`]: API },
    });
    const { tools: listed } = await server.list();
    const tokens = listed.map(({ name, description, inputSchema }) =>
      encode(JSON.stringify({ name, description, input_schema: inputSchema }))
        .length
    ).reduce((sum, count) => sum + count, 0);
    errors[service] = Math.round(100 * (said[service] / tokens - 1));
    await using mock = await ValidatingMock.start(modules.path, file);
    for (const { tool, id } of own) {
      for (const { call, refusal } of await callTool(tool, id, api, mock)) {
        calls++;
        if (refusal !== undefined) refusals[`${service} ${call}`] = refusal;
      }
    }
  }
  console.log("Errors of the estimates in percent:", JSON.stringify(errors));
  const far = Object.entries(errors).filter(([, it]) => Math.abs(it) > 15);
  assert.deepEqual(far, []);
  const refused = Object.keys(refusals).length;
  const counts = {
    tools: tools.length,
    calls,
    taken: calls - refused,
    refused,
  };
  console.log(JSON.stringify(counts));
  const others = Object.entries(refusals)
    .filter(([call]) => !REFUSED.includes(call));
  assert.deepEqual(others, []);
  assert.deepEqual(counts, { tools: 96, calls: 192, taken: 179, refused: 13 });
});
