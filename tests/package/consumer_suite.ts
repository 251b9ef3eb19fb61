/**
 * The ways in which another project uses the package, each from an unrelated
 * directory.
 *
 * @module
 */
import assert from "node:assert/strict";
import { parsePage } from "../docs/pages.ts";
import { REPOSITORY } from "../kit/process.ts";
import {
  callBoth,
  installPacked,
  NAME,
  PACKAGE_PATH,
  Project,
} from "./project.ts";

/** Prints a whole server in one import. */
function main(from: string): string {
  return `import { serve, tool, z } from "${from}";

const greet = tool({
  name: "greet",
  input: z.object({ name: z.string() }),
  run: ({ name }) => \`Hello, \${name}!\`,
});

await serve({ name: "greeter", version: "1.0.0", tools: [greet] });
`;
}

/** Starts a program that serves, and has real clients call it. */
async function checkServes(
  project: Project,
  command: string,
  ...args: string[]
): Promise<void> {
  await using server = project.start(command, args, {
    env: { KV_PATH: ":memory:" },
  });
  const greeted = await callBoth(await server.url(), "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Hello, Ada!"), server.output);
  assert.doesNotMatch(server.output, /warning/i);
}

Deno.test("by its name: one import, one flag, no import map of ours", async () => {
  await using project = new Project();
  const configuration = {
    imports: { [NAME]: `jsr:${NAME}@0.2.0` },
    links: [PACKAGE_PATH],
    unstable: ["kv"],
  };
  await project.write("deno.json", JSON.stringify(configuration));
  await project.write("main.ts", main(NAME));
  await project.succeed("check", "main.ts");
  await checkServes(project, Deno.execPath(), "run", "-A", "main.ts");
});

Deno.test("by its path: an entry in the importer's map", async () => {
  await using project = new Project();
  const configuration = {
    imports: { "tool-server": `${PACKAGE_PATH}/src/mod.ts` },
    unstable: ["kv"],
  };
  await project.write("deno.json", JSON.stringify(configuration));
  await project.write("main.ts", main("tool-server"));
  await checkServes(project, Deno.execPath(), "run", "-A", "main.ts");
});

Deno.test("with deno serve: a default export", async () => {
  await using project = new Project();
  const configuration = {
    imports: { [NAME]: `jsr:${NAME}@0.2.0` },
    links: [PACKAGE_PATH],
    unstable: ["kv"],
  };
  await project.write("deno.json", JSON.stringify(configuration));
  await project.write(
    "main.ts",
    main(NAME).replace("{ serve,", "{ createServer,")
      .replace("await serve({", "export default createServer({")
      .replace(
        "tools: [greet] }",
        'tools: [greet], kv: await Deno.openKv(":memory:") }',
      ),
  );
  await project.succeed("check", "main.ts");
  await using server = project.start(Deno.execPath(), [
    ...["serve", "-A", "--host", "127.0.0.1", "--port", "0", "main.ts"],
  ]);
  const [, url] = await server.prints(/(http:\/\/127\.0\.0\.1:\d+)/);
  const greeted = await callBoth(url, "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Hello, Ada!"), server.output);
  server.kill("SIGTERM");
  assert.equal(await server.end(), 0);
});

Deno.test("as an npm package: on Deno, and on Node 24 with npm:@deno/kv", async () => {
  await using project = new Project();
  await installPacked(project);
  await project.write("main.ts", main(NAME));
  await project.succeed("check", "main.ts");
  await checkServes(
    project,
    Deno.execPath(),
    ...["run", "-A", "--unstable-kv", "main.ts"],
  );

  const page = parsePage(
    "docs/own_app.md",
    await Deno.readTextFile(new URL("docs/own_app.md", REPOSITORY)),
  );
  const { text } = page.blocks.find(({ file }) => file === "app.mjs")!;
  await project.write("app.mjs", `console.log(process.version);\n${text}`);
  await using server = project.start("npx", ["-y", "node@24", "app.mjs"], {
    env: { PORT: "0" },
  });
  const url = await server.url();
  assert.match(server.output, /^v24\./m);
  const greeted = await callBoth(url, "greet", { name: "Ada" });
  assert.deepEqual(greeted, Array(2).fill("Hello, Ada!"), server.output);
  const landing = await fetch(url, { headers: { accept: "text/html" } });
  assert.match(await landing.text(), /<title>/);
});
