import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { reserveProject } from "../../create/files.ts";
import { parseOpenApi } from "../document.ts";
import { openSource } from "../open_source.ts";
import { main } from "../mod.ts";
import { documentOf, jsonBody, KEYED, Trial } from "./kit.ts";

const TEA = documentOf({
  "/teas/{tea-id}/cups": {
    parameters: [{
      name: "tea-id",
      in: "path",
      required: true,
      schema: { type: "string" },
      description: "The tea.",
    }],
    get: {
      operationId: "listCups",
      tags: ["cups"],
      summary: "List cups",
      description: "Lists the cups of a tea, newest first.",
      parameters: [
        {
          name: "limit",
          in: "query",
          schema: { type: "integer", minimum: 1, maximum: 100, default: 20 },
        },
        {
          name: "sizes",
          in: "query",
          style: "pipeDelimited",
          explode: false,
          schema: { type: "array", items: { enum: ["small", "large"] } },
        },
      ],
      responses: {
        200: {
          description: "",
          content: { "application/json": { example: [{ size: "small" }] } },
        },
      },
    },
    post: {
      operationId: "pourCup",
      tags: ["cups"],
      summary: "Pour a cup",
      requestBody: jsonBody({
        type: "object",
        required: ["size", "id"],
        properties: {
          id: { type: "string", readOnly: true },
          size: { type: "string", enum: ["small", "large"] },
          milk: { type: ["boolean", "null"], description: "With milk." },
        },
      }),
      responses: {},
    },
    delete: { operationId: "deleteCups", tags: ["cups"], responses: {} },
  },
}, KEYED);

Deno.test("import writes a service, a tool and its test, as a person would", async () => {
  await using trial = await Trial.start();
  const { code, said } = await trial.import(TEA);
  assert.equal(code, 0);
  assert.match(said, /^Tea Shop API 2: 3 operations\. .* about \d+ tokens/);
  assert.match(said, /3 tools of tea_shop, about \d+ tokens/);
  assert.equal(
    (await trial.read("services/tea_shop.ts")).replace(/^.*\n/, ""),
    `import { personalKey } from "@tool-server/tool-server";

export const teaShop = personalKey("tea-shop", {
  api: "https://api.example.com/v1",
  title: "Tea Shop API",
  header: "x-api-key",
});
`,
  );
  assert.equal(
    (await trial.read("tools/list_cups.ts")).replace(/^.*\n/, ""),
    `import { tool, z } from "@tool-server/tool-server";
import { callApi, styled } from "@tool-server/tool-server/api";
import { teaShop } from "../services/tea_shop.ts";

export default tool({
  name: "list_cups",
  title: "List cups",
  description: "Lists the cups of a tea, newest first.",
  input: z.object({
    teaId: z.string().describe("The tea."),
    limit: z.int().min(1).max(100).optional().describe("By default 20."),
    sizes: z.array(z.enum(["small", "large"])).optional(),
  }),
  needs: { teaShop },
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  },
  run: ({ teaId, limit, sizes }, { needs, signal }) =>
    callApi(needs.teaShop, "GET /teas/{tea-id}/cups", {
      path: { "tea-id": teaId },
      query: { limit, sizes: styled(sizes, "pipeDelimited") },
      signal,
    }),
});
`,
  );
  assert.equal(
    (await trial.read("tools/pour_cup_test.ts")).replace(/^.*\n/, ""),
    `import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import pourCup from "./pour_cup.ts";

Deno.test("pour_cup asks for POST /teas/{tea-id}/cups", async () => {
  const answer = { ok: true };
  const needs = {
    teaShop: {
      "POST /teas/tea/cups": async (request: Request) => {
        assert.deepEqual(await request.json(), { size: "small", milk: true });
        return Response.json(answer);
      },
    },
  };
  await using server = await testServer({ tools: [pourCup] });
  const { text } = await server.call(pourCup, {
    teaId: "tea",
    body: { size: "small", milk: true },
  }, { needs });
  assert.equal(text, JSON.stringify(answer));
});
`,
  );
  assert.match(
    await trial.read("tools/pour_cup.ts"),
    /milk: z\.boolean\(\)\.nullable\(\)\.optional\(\)\.describe\("With milk\."\)/,
  );
  const deleting = await trial.read("tools/delete_cups.ts");
  assert.match(deleting, /approval: \{\},/);
  assert.match(deleting, /destructiveHint: true/);
  const list = await trial.read("tools/mod.ts");
  assert.match(list, /= \[listCups, pourCup, deleteCups\];/);
});

Deno.test("import again changes nothing, and says so with --check", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const before = await trial.read("tools/list_cups.ts");
  const again = await trial.import(TEA, []);
  assert.equal(again.code, 0);
  assert.doesNotMatch(again.said, /Made|Changed/);
  assert.equal(await trial.read("tools/list_cups.ts"), before);
  const checked = await trial.import(TEA, ["--check"]);
  assert.deepEqual(checked, { code: 0, said: "Nothing has changed." });
});

Deno.test("import lists each tool once where the project is formatted otherwise", async () => {
  await using trial = await Trial.start();
  const fmt = { singleQuote: true, semiColons: false };
  await Deno.writeTextFile(`${trial.root}/deno.json`, JSON.stringify({ fmt }));
  await trial.import(TEA);
  const list = await trial.read("tools/mod.ts");
  assert.match(list, /from '.\/pour_cup.ts'\n/);
  const checked = await trial.import(TEA, ["--check"]);
  assert.deepEqual(checked, { code: 0, said: "Nothing has changed." });
  await trial.import(TEA, []);
  assert.equal(await trial.read("tools/mod.ts"), list);
  await trial.remove("tools/pour_cup.ts");
  await trial.remove("tools/pour_cup_test.ts");
  const { said } = await trial.import(TEA, ["--check"]);
  assert.match(said, /tools\/mod\.ts imports pour_cup\.ts, which is not there/);
  const own = "export default tool({ name: 'pour_cup' })";
  await Deno.writeTextFile(`${trial.root}/tools/own.ts`, own);
  await trial.import(TEA, ["--pick", "pourCup"]);
  assert.ok((await trial.files("tools")).includes("pour_cup_tea_shop.ts"));
});

Deno.test("import lists a tool in a list with the line ends of Windows", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA, ["--pick", "listCups"]);
  const list = await trial.read("tools/mod.ts");
  await Deno.writeTextFile(
    `${trial.root}/tools/mod.ts`,
    list.replaceAll("\n", "\r\n"),
  );
  const { said } = await trial.import(TEA, ["--pick", "pourCup"]);
  assert.doesNotMatch(said, /changed by hand/);
  assert.match(await trial.read("tools/mod.ts"), /= \[listCups, pourCup\];/);
});

/** The document with another description of an operation. */
function described(description: string) {
  const changed = structuredClone(TEA);
  changed.paths["/teas/{tea-id}/cups"].get.description = description;
  return changed;
}

Deno.test("import rewrites what its author has left alone", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const changed = described("Lists the cups of a tea.");
  const checked = await trial.import(changed, ["--check"]);
  assert.equal(checked.code, 1);
  assert.match(checked.said, /tools\/list_cups\.ts: the document has changed/);
  assert.match(checked.said, /\n- .*newest first.*\n\+ .*of a tea\."/);
  const { said } = await trial.import(changed, []);
  assert.match(said, /Changed tools\/list_cups\.ts/);
  assert.doesNotMatch(said, /pour_cup/);
  assert.match(await trial.read("tools/list_cups.ts"), /cups of a tea\.",/);
  assert.equal((await trial.import(changed, ["--check"])).code, 0);
});

Deno.test("import leaves alone what its author has changed, unless the document changes too", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  await trial.edit("tools/list_cups.ts", '"List cups"', '"Show cups"');
  assert.equal((await trial.import(TEA, [])).code, 0);
  assert.match(await trial.read("tools/list_cups.ts"), /"Show cups"/);
  const changed = described("Lists.");
  const open = await trial.import(changed, []);
  assert.equal(open.code, 1);
  assert.match(
    open.said,
    /\nNot written: tools\/list_cups\.ts\. Add --take for the document's, or --keep/,
  );
  assert.match(open.said, /you and the document have changed it\n/);
  assert.match(open.said, /\n- .*Show cups.*\n[^]*\+ .*List cups/);
  assert.match(await trial.read("tools/list_cups.ts"), /"Show cups"/);
  // The author is not asked again about a change they have kept.
  const kept = await trial.import(changed, ["--keep"]);
  assert.equal(kept.code, 0);
  assert.match(kept.said, /\nKept tools\/list_cups\.ts\n/);
  assert.match(await trial.read("tools/list_cups.ts"), /"Show cups"/);
  assert.equal((await trial.import(changed, ["--check"])).code, 0);
  const newer = described("Lists all.");
  const asked = await trial.import(newer, [], ["n"]);
  assert.match(asked.said, /\nKept tools\/list_cups\.ts\n/);
  const newest = described("Lists each.");
  const taken = await trial.import(newest, [], ["y"]);
  assert.match(taken.said, /\nChanged tools\/list_cups\.ts\n/);
  assert.match(await trial.read("tools/list_cups.ts"), /Lists each\./);
  const other = described("Lists none.");
  await trial.edit("tools/list_cups.ts", '"List cups"', '"Show cups"');
  assert.equal((await trial.import(other, ["--take"])).code, 0);
  assert.match(await trial.read("tools/list_cups.ts"), /"List cups"/);
});

Deno.test("import sees a change of only the spaces in a string, by the author or the document", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const changed = described("Lists the cups of a tea, newestfirst.");
  const { said } = await trial.import(changed, ["--check"]);
  assert.match(said, /\+ .*newestfirst/);
  await trial.edit("tools/list_cups.ts", '"List cups"', '"Listcups"');
  assert.match((await trial.import(changed, [])).said, /Not written/);
  assert.match(await trial.read("tools/list_cups.ts"), /"Listcups"/);
  await trial.edit("tools/pour_cup.ts", "run: (", "run:   (");
  const other = structuredClone(TEA);
  other.paths["/teas/{tea-id}/cups"].post.summary = "Pour one";
  assert.match((await trial.import(other, [])).said, /Changed.*pour_cup\.ts/);
});

Deno.test("import keeps what its author saves while it asks", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA, ["--pick", "listCups"]);
  const [file, list] = ["tools/list_cups.ts", "tools/mod.ts"];
  await trial.edit(file, '"List cups"', '"Show cups"');
  const saves = (path: string, from: string, to: string) => {
    const full = `${trial.root}/${path}`;
    const text = Deno.readTextFileSync(full);
    assert(text.includes(from), text);
    Deno.writeTextFileSync(full, text.replace(from, to));
  };
  const changed = described("Lists.");
  const kept = await trial.import(changed, ["--pick", "pourCup"], [() => {
    saves(file, '"Show cups"', '"See cups"');
    saves(list, "import list", 'import mine from "./mine.ts";\nimport list');
    saves(list, "[list", "[mine, list");
    return "n";
  }]);
  assert.match(kept.said, /\nKept tools\/list_cups\.ts\n/);
  assert.match(await trial.read(file), /"See cups"/);
  assert.match(await trial.read(list), /\[mine, listCups, pourCup\]/);
  await Deno.writeTextFile(`${trial.root}/tools/mine.ts`, "");
  assert.equal((await trial.import(changed, ["--check"])).code, 0);
  // The author changes the file after the question about another text.
  const newer = described("Lists all.");
  await assert.rejects(
    trial.import(newer, [], [() => {
      saves(file, '"See cups"', '"Find cups"');
      return "y";
    }]),
    { exitCode: 1, message: /^tools\/list_cups\.ts was changed meanwhile/ },
  );
  assert.match(await trial.read(file), /"Find cups"/);
  // The author takes the file over, so that it is not an imported one.
  await trial.import(newer, [], [() => {
    saves(file, "// Imported:", "// Mine:");
    return "n";
  }]);
  assert.match(await trial.read(file), /^\/\/ Mine: [^]*"Find cups"/);
});

Deno.test("import lets no two commands change a project at once, and heeds no lock of a process that has died", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA, ["--pick", "listCups"]);
  {
    await using _other = await reserveProject(trial.root);
    await assert.rejects(trial.import(TEA), {
      exitCode: 1,
      message: /^Another command is changing this project: wait until/,
    });
    assert.equal((await trial.import(TEA, ["--check"])).code, 0);
  }
  await Deno.writeTextFile(`${trial.root}/server.ts.lock`, "");
  assert.equal((await trial.import(TEA)).code, 0);
  await assert.rejects(trial.read("server.ts.lock"), Deno.errors.NotFound);
});

Deno.test("import leaves no part of a file on a full disk", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const before = await trial.read("tools/list_cups.ts");
  const { writeTextFile } = Deno;
  Deno.writeTextFile = async (path, text, options) => {
    const isFull = `${path}`.startsWith(`${trial.root}/tools`);
    const some = isFull ? `${text}`.slice(0, 9) : text;
    await writeTextFile(path, some, options);
    if (isFull) throw new Error("No space left");
  };
  try {
    const changed = described("Lists.");
    await assert.rejects(trial.import(changed, []), /No space left/);
  } finally {
    Deno.writeTextFile = writeTextFile;
  }
  assert.equal(await trial.read("tools/list_cups.ts"), before);
  const files = await trial.files("tools");
  assert.deepEqual(files.filter((name) => name.endsWith(".new")), []);
});

Deno.test("an import removes what one that was killed had begun to write, and nothing of the author's", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const cups = await trial.read("tools/list_cups.ts");
  const texts = {
    "list_cups.ts": cups,
    "a.ts": "",
    "mod.ts": "//",
    "my.ts": "//",
  };
  for (const [name, text] of Object.entries(texts)) {
    await Deno.writeTextFile(`${trial.root}/tools/${name}.new`, text);
  }
  const left = async () =>
    (await trial.files("tools")).filter((name) => name.endsWith(".new"));
  await trial.import(TEA, ["--check"]);
  assert.equal((await left()).length, 4);
  assert.equal((await trial.import(TEA, [])).code, 0);
  assert.deepEqual(await left(), ["my.ts.new"]);
});

Deno.test("an import that is cut off at any file is completed by the next, and --check notices it", async () => {
  await using whole = await Trial.start();
  await whole.import(TEA);
  const { rename } = Deno;
  const textsOf = async (trial: Trial) => {
    const paths = ["services", "tools"].map(async (folder) =>
      (await trial.files(folder)).map((name) => `${folder}/${name}`)
    );
    return Promise.all(
      (await Promise.all(paths)).flat().map(async (path) => [
        path,
        await trial.read(path),
      ]),
    );
  };
  const all = await textsOf(whole);
  // The service, three tools with their tests, and the list.
  assert.equal(all.length, 8);
  for (let count = 0; count < 8; count++) {
    await using trial = await Trial.start();
    let left = count;
    Deno.rename = async (...paths) => {
      if (left-- === 0) throw new Error("killed");
      await rename(...paths);
    };
    try {
      await assert.rejects(trial.import(TEA), /killed/);
    } finally {
      Deno.rename = rename;
    }
    // Until a tool has a file, nothing was imported.
    if (count >= 2) {
      assert.equal((await trial.import(TEA, ["--check"])).code, 1, `${count}`);
    }
    if (count >= 7) {
      // All files are there: the next import needs no pick.
      const { said } = await trial.import(TEA, ["--check"]);
      assert.equal(
        said,
        "tools/mod.ts lacks list_cups, pour_cup, delete_cups.",
      );
      await trial.import(TEA, []);
    } else await trial.import(TEA);
    const texts = (await textsOf(trial))
      .filter(([path]) => !path.endsWith(".new"));
    assert.deepEqual(texts, all, `${count}`);
    assert.equal((await trial.import(TEA, ["--check"])).code, 0);
  }
});

Deno.test("a tool's file never has the name of a test, nor one that differs in case alone", async () => {
  const document = documentOf({
    "/a": {
      get: { operationId: "a" },
      put: { operationId: "a_test" },
      post: { operationId: "test" },
      patch: { operationId: "con" },
      delete: { operationId: "listCups" },
    },
  });
  await using trial = await Trial.start();
  await Deno.mkdir(`${trial.root}/tools`);
  await Deno.writeTextFile(`${trial.root}/tools/List_Cups.ts`, "// mine\n");
  await trial.import(document, ["--all", "--as", "load_test"]);
  const names = ["a", "a_test", "con", "list_cups", "test"].map((name) =>
    name === "a" ? name : `${name}_load_api`
  );
  const files = names.flatMap((it) => [`${it}.ts`, `${it}_test.ts`]);
  assert.deepEqual(
    await trial.files("tools"),
    ["List_Cups.ts", "mod.ts", ...files].sort(),
  );
  assert.match(await trial.read("tools/a_test.ts"), /a asks for GET \/a/);
  assert.deepEqual(await trial.files("services"), ["load_api.ts"]);
});

Deno.test("import finds a tool that its author has renamed, and writes no test that is gone", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  await Deno.rename(
    `${trial.root}/tools/list_cups.ts`,
    `${trial.root}/tools/cups.ts`,
  );
  await trial.remove("tools/list_cups_test.ts");
  await trial.import(TEA);
  const files = await trial.files("tools");
  assert.deepEqual(files.filter((it) => it.includes("cups")), [
    "cups.ts",
    "delete_cups.ts",
    "delete_cups_test.ts",
  ]);
});

/** The parts of a tool that its author may rename. */
const RENAMES: Record<string, (trial: Trial) => Promise<void>> = {
  async "the file"(trial) {
    for (const end of ["", "_test"]) {
      const [from, to] = ["list_cups", "cups"]
        .map((name) => `${trial.root}/tools/${name}${end}.ts`);
      await Deno.rename(from, to);
    }
    const path = "./list_cups.ts";
    await trial.edit("tools/mod.ts", path, "./cups.ts");
    await trial.edit("tools/cups_test.ts", path, "./cups.ts");
  },
  "the name": (trial) =>
    trial.edit("tools/list_cups.ts", 'name: "list_cups"', 'name: "all_cups"'),
  async "everything"(trial) {
    await RENAMES["the file"](trial);
    await trial.edit("tools/cups.ts", 'name: "list_cups"', 'name: "cups"');
    const path = `${trial.root}/tools/cups_test.ts`;
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(
      path,
      text.replaceAll("listCups", "cups").replace(
        '"list_cups asks',
        '"cups asks',
      )
        .replace(
          /\(cups, \{\s*teaId: "tea",?\s*\},/,
          '(cups, { teaId: "tea" },',
        ),
    );
  },
};

for (const [what, rename] of Object.entries(RENAMES)) {
  Deno.test(`a tool stays renamed by ${what}, and no change of the document is seen in that`, async () => {
    await using trial = await Trial.start();
    await trial.import(TEA);
    await rename(trial);
    const file = what === "the name" ? "list_cups" : "cups";
    const before = await trial.read(`tools/${file}.ts`);
    const name = /name: "\w+"/.exec(before)![0];
    const nothing = { code: 0, said: "Nothing has changed." };
    assert.deepEqual(await trial.import(TEA, ["--check"]), nothing);
    await trial.import(TEA, []);
    assert.equal(await trial.read(`tools/${file}.ts`), before);
    const changed = structuredClone(TEA);
    changed.paths["/teas/{tea-id}/cups"].get.description = "Lists all cups.";
    assert.equal((await trial.import(changed, [])).code, 0);
    const after = await trial.read(`tools/${file}.ts`);
    assert.match(after, /"Lists all cups\."/);
    assert.ok(after.includes(name));
    const test = await trial.read(`tools/${file}_test.ts`);
    assert.ok(test.includes(`from "./${file}.ts"`));
    assert.deepEqual(await trial.import(changed, ["--check"]), nothing);
  });
}

Deno.test("a new tool has the name of no other, whatever the file of that is named", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA, ["--pick", "pourCup"]);
  await trial.edit(
    "tools/pour_cup.ts",
    'name: "pour_cup"',
    'name: "list_cups"',
  );
  await trial.import(TEA, ["--pick", "listCups"]);
  const tool = await trial.read("tools/list_cups_tea_shop.ts");
  assert.match(tool, /name: "list_cups_tea_shop"/);
});

Deno.test("import never deletes what the document has no more", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const { get, post, parameters } = TEA.paths["/teas/{tea-id}/cups"];
  const less = documentOf({
    "/teas/{tea-id}/cups": { get, post, parameters },
  }, KEYED);
  for (const args of [["--check"], []]) {
    const { code, said } = await trial.import(less, args);
    assert.match(said, /delete_cups\.ts: DELETE .* is not in the document/);
    assert.equal(code, args.length);
  }
  assert((await trial.files("tools")).includes("delete_cups.ts"));
});

Deno.test("import takes more of a document that was imported before", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA, ["--pick", "listCups"]);
  const { said } = await trial.import(TEA, ["--pick", "POST *"]);
  assert.match(said, /Made tools\/pour_cup\.ts/);
  assert.match(said, /2 tools of tea_shop/);
  assert.match(await trial.read("tools/mod.ts"), /\[listCups, pourCup\]/);
});

Deno.test("import says of bodies, methods and deprecated names what it leaves out", async () => {
  await using trial = await Trial.start();
  const content = { "application/json": { schema: { type: "object" } } };
  const document = documentOf({
    "/a": {
      get: { operationId: "readA", requestBody: { required: true, content } },
      options: { operationId: "askA" },
      trace: { operationId: "traceA" },
    },
    "/search": { get: { operationId: "oldSearch", deprecated: true } },
  });
  const listed = await trial.import(document, ["--list"]);
  assert.match(listed.said, /no tool can call these: OPTIONS \/a, TRACE \/a$/m);
  const { said } = await trial.import(document, ["--pick", "readA"]);
  assert.match(said, /^Note: GET \/a leaves out its body, which a GET cannot/m);
  await assert.rejects(trial.import(document, ["--pick", "GET /se*"]), {
    exitCode: 2,
    message:
      '--pick "GET /se*" names nothing: what is deprecated wants its whole name.',
  });
});

Deno.test("import refuses a pick that names nothing, and writes nothing then", async () => {
  await using trial = await Trial.start();
  await assert.rejects(trial.import(TEA, ["--pick", "GET /nothing"]), {
    name: "Failure",
    exitCode: 2,
    message: /--pick "GET \/nothing" names nothing/,
  });
  await assert.rejects(trial.import(TEA, ["--pick", "listCup"]), {
    message: /names nothing\. Did you mean listCups\?/,
  });
  await assert.rejects(trial.files("tools"));
});

Deno.test("import writes over no file that is not its own", async () => {
  await using trial = await Trial.start();
  await Deno.mkdir(`${trial.root}/tools`);
  await Deno.writeTextFile(`${trial.root}/tools/list_cups.ts`, "// mine\n");
  await trial.import(TEA);
  assert.equal(await trial.read("tools/list_cups.ts"), "// mine\n");
  assert.match(
    await trial.read("tools/list_cups_tea_shop.ts"),
    /name: "list_cups_tea_shop"/,
  );
  await using other = await Trial.start();
  await Deno.mkdir(`${other.root}/services`);
  await Deno.writeTextFile(`${other.root}/services/tea_shop.ts`, "// mine\n");
  await assert.rejects(other.import(TEA), {
    message: /services\/tea_shop\.ts is there already: add --as NAME/,
  });
  assert.equal((await other.import(TEA, ["--as", "cups", "--all"])).code, 0);
});

/** A document of many operations. */
function many(count: number) {
  return documentOf(Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `/a${at}`,
      { get: { operationId: `get${at}`, tags: [at < 2 ? "few" : "many"] } },
    ]),
  ));
}

Deno.test("no part of a name that --as has made is what a pattern means", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const pick = (pattern: string) =>
    trial.import(TEA, ["--as", "reports", "--list", "--pick", pattern]);
  const { said } = await pick("*cup*");
  assert.match(said, / list_cups_reports, [^]* pour_cup_reports, /);
  for (const pattern of ["*report*", "list_cups_r*"]) {
    await assert.rejects(pick(pattern), { message: /names nothing/ });
  }
  for (const pattern of ["list_cups", "list_c*", "list_cups_reports"]) {
    assert.match((await pick(pattern)).said, /: 1 operation\./, pattern);
  }
});

Deno.test("what YAML merges into an operation is its own", async () => {
  const text = `openapi: 3.1.0
info: { title: Tea, version: "1" }
servers: [{ url: https://api.example.com/v1?key=a-key }]
components:
  securitySchemes: { key: { type: apiKey, in: header, name: X-Key } }
x-usual: &usual
  security: [{ key: [] }]
  parameters: [{ name: limit, in: query, schema: { type: integer } }]
paths:
  /a:
    get: { <<: *usual, operationId: listA }
    additionalOperations: { COPY: { operationId: copyA } }
`;
  await using trial = await Trial.start();
  const { code, said } = await trial.import(text);
  assert.equal(code, 0);
  assert.match(await trial.read("services/tea.ts"), /header: "X-Key"/);
  assert.match(await trial.read("tools/list_a.ts"), /limit: z\.int\(\)/);
  // The output names what is left out, but not a query, which may be a key.
  assert.match(
    said,
    /^Note: Of the address, https:\/\/api\.example\.com\/v1 is used, without its query\.$/m,
  );
  assert.match(said, /^Left out, as no tool can call these: COPY \/a$/m);
});

Deno.test("--list and --all tell one cost, that of the tools that can be made", async () => {
  const securitySchemes = {
    ...KEYED.components.securitySchemes,
    other: { type: "http", scheme: "bearer" },
  };
  const security = [{ other: [] }];
  const document = documentOf({
    "/a": { get: { operationId: "a" }, put: { operationId: "b" } },
    "/b": { get: { operationId: "c", security, description: "Long words." } },
  }, { ...KEYED, components: { securitySchemes } });
  const told = await Promise.all(
    [["--list"], ["--all"], []].map(async (args) => {
      await using own = await Trial.start();
      return (await own.import(document, args)).said;
    }),
  );
  const [, cost] = /3 operations\. .* about (\d+) tokens/.exec(told[0])!;
  for (const said of told) {
    assert(said.includes(`of all would cost about ${cost} tokens`), said);
  }
  assert.match(told[1], RegExp(`^2 tools of tea_shop, about ${cost} `, "m"));
  const verdict = / {2}GET \/b {2}c, no tool: It wants another way/;
  for (const said of [told[0], told[2]]) assert.match(said, verdict);
});

Deno.test("import wants a choice above 40 operations", async () => {
  await using trial = await Trial.start();
  await assert.rejects(trial.import(many(41)), {
    message: /41 tools are more than a model chooses from well/,
  });
  const picked = await trial.import(many(41), ["--pick", "GET /a4*"]);
  assert.match(picked.said, /2 tools of tea_shop/);
});

Deno.test("import lets a person tick in a terminal", async () => {
  await using trial = await Trial.start();
  const { said } = await trial.import(many(41), [], [
    "3-4 9",
    "4",
    "99",
    "few",
    "nonsense",
    "",
  ]);
  const file = { "application/pdf": {} };
  const document = documentOf({
    "/a": {
      get: { operationId: "getA" },
      put: { operationId: "putA" },
      post: {
        operationId: "postA",
        requestBody: { required: true, content: file },
      },
    },
  });
  const few = await trial.import(document, ["--as", "few"], [
    "POST*",
    "*A",
    "put*",
    "",
  ]);
  assert.match(
    few.said,
    /\n0 ticked\. .*\n.*\n0 ticked\. [^]*\n2 ticked\. [^]*\n1 ticked\. /,
  );
  assert.match(few.said, /\n1 tool of few, /);
  assert.match(said, /\[ \] {2}3 GET \/a2 {2}get2, \d+ tokens/);
  assert.match(said, /There are numbers from 1 to 41: got 99\./);
  assert.match(said, /Nothing is named "nonsense"\./);
  const list = await trial.read("tools/mod.ts");
  assert.match(list, /\[get0, get1, get2, get8, getA\]/);
});

Deno.test("import leaves deprecated operations out, unless they are named", async () => {
  const document = documentOf({
    "/a": {
      get: { operationId: "getA", deprecated: true },
      put: { operationId: "putA" },
    },
  });
  await using trial = await Trial.start();
  await trial.import(document, ["--pick", "*A"]);
  assert.match(await trial.read("tools/mod.ts"), /\[putA\]/);
  // A PUT replaces a resource.
  assert.match(await trial.read("tools/put_a.ts"), /destructiveHint: true/);
  await trial.import(document, ["--pick", "getA"]);
  assert.match(await trial.read("tools/mod.ts"), /\[putA, getA\]/);
});

Deno.test("import --list says what is there, and writes nothing", async () => {
  await using trial = await Trial.start();
  const { said } = await trial.import(TEA, ["--list"]);
  assert.match(said, /cups: 3, about \d+ tokens/);
  assert.match(said, /GET \/teas\/\{tea-id\}\/cups {2}list_cups, \d+ tokens/);
  await assert.rejects(trial.files("tools"));
});

Deno.test("import --list says what would be left out, and lists only what is picked", async () => {
  const { key } = KEYED.components.securitySchemes;
  const other = { type: "http", scheme: "bearer" };
  const document = documentOf({
    "/a": { get: { operationId: "getA" }, post: { operationId: "postA" } },
    "/b": { get: { operationId: "getB", security: [{ other: [] }] } },
    "/c": {
      get: { operationId: "getC", servers: [{ url: "https://c.example.com" }] },
    },
  }, { ...KEYED, components: { securitySchemes: { key, other } } });
  await using trial = await Trial.start();
  const { said } = await trial.import(document, ["--list"]);
  assert.match(said, /GET \/a {2}get_a, \d+ tokens$/m);
  assert.match(said, /GET \/b {2}get_b, no tool: It wants another way to sign/);
  assert.match(said, /GET \/c {2}get_c, no tool: It is at another server:/);
  const some = await trial.import(document, ["--list", "--pick", "getB"]);
  assert.match(some.said, /^Tea Shop API 2: 1 operation\..*\n.*get_b, \d+ tok/);
});

Deno.test("import --list names each tool as its file will be named, and as it is named", async () => {
  await using trial = await Trial.start();
  await Deno.mkdir(`${trial.root}/tools`);
  await Deno.writeTextFile(`${trial.root}/tools/pour.ts`, "");
  const document = documentOf({
    "/a": { get: { operationId: "pour" }, post: { operationId: "mod" } },
    "/b": { get: { operationId: "getB" }, put: { operationId: "putB" } },
  });
  const list = async (...args: string[]) => {
    const { said } = await trial.import(document, ["--list", ...args]);
    return [...said.matchAll(/ {2}(\w+), \d+ tokens$/gm)].map(([, it]) => it);
  };
  const names = ["pour_tea_shop", "mod_tea_shop", "get_b", "put_b"];
  assert.deepEqual(await list(), names);
  const picks = ["pour_tea_shop", "mod", "getB"];
  await trial.import(document, picks.flatMap((it) => ["--pick", it]));
  const files = await trial.files("tools");
  assert.deepEqual(
    files.filter((it) => !it.includes("_test")),
    ["get_b.ts", "mod.ts", "mod_tea_shop.ts", "pour.ts", "pour_tea_shop.ts"],
  );
  assert.deepEqual(await list(), names);
  await Deno.remove(trial.root, { recursive: true });
  await Deno.mkdir(trial.root);
  assert.equal((await list())[0], "pour");
});

Deno.test("import ends with exit code 1 if what is picked by its name is left out", async () => {
  const content = { "application/pdf": {} };
  const document = documentOf({
    "/a": { get: { operationId: "getA" } },
    "/b": {
      post: { operationId: "postB", requestBody: { required: true, content } },
    },
  });
  await using trial = await Trial.start();
  const named = ["--pick", "getA", "--pick", "postB"];
  const { code, said } = await trial.import(document, named);
  assert.match(
    said,
    /POST \/b is left out: It needs a body of application\/pdf/,
  );
  assert.equal(code, 1);
  assert.equal((await trial.import(document, ["--pick", "*"])).code, 0);
});

Deno.test("import says that a list was changed by hand", async () => {
  await using trial = await Trial.start();
  await Deno.mkdir(`${trial.root}/tools`);
  const list = "export const tools = load();\n";
  await Deno.writeTextFile(`${trial.root}/tools/mod.ts`, list);
  const { said } = await trial.import(TEA, ["--pick", "listCups"]);
  assert.match(said, /List list_cups in tools\/mod\.ts: its list was changed/);
  assert.equal(await trial.read("tools/mod.ts"), list);
});

Deno.test("import takes nothing that no one has chosen", async () => {
  await using trial = await Trial.start();
  const { code, said } = await trial.import(TEA, []);
  assert.equal(code, 2);
  assert.match(said, /\n {2}DELETE .* delete_cups, \d+ tokens\n/);
  assert.match(
    said,
    /\nNothing was written\. Add what to take: --pick "GET \/teas[^"]*", or --all\.$/,
  );
  await assert.rejects(trial.files("tools"));
  for (const args of [["--check"], ["--as", "cups", "--check"]]) {
    await assert.rejects(trial.import(TEA, args), {
      exitCode: 2,
      message: /^Nothing was imported as (tea_shop|cups): add --as NAME/,
    });
  }
  // Nothing is ticked, and Enter is pressed.
  await assert.rejects(trial.import(many(41), [], [""]), {
    exitCode: 2,
    message: "Nothing was picked, and nothing was written.",
  });
  await assert.rejects(trial.files("tools"));
});

Deno.test("import remembers --as and --url, and wants --as for the second of a document", async () => {
  await using trial = await Trial.start();
  const url = "https://tea.example/one two/100%25?key=a-secret#part";
  const first = ["--pick", "listCups", "--as", "cups", "--url", url];
  assert.equal((await trial.import(TEA, first)).code, 0);
  const service = await trial.read("services/cups.ts");
  assert.match(service, /api: "https:\/\/tea\.example\/one%20two\/100%25",/);
  assert.doesNotMatch(service, /a-secret/);
  const more = await trial.import(TEA, ["--pick", "pourCup"]);
  assert.match(more.said, /2 tools of cups/);
  assert.doesNotMatch(more.said, /services/);
  assert.equal(await trial.read("services/cups.ts"), service);
  const nothing = { code: 0, said: "Nothing has changed." };
  assert.deepEqual(await trial.import(TEA, ["--check"]), nothing);
  const again = ["--pick", "deleteCups", "--as", "tea"];
  assert.equal((await trial.import(TEA, again)).code, 0);
  assert.match(await trial.read("services/tea.ts"), /api\.example\.com/);
  for (const args of [["--check"], []]) {
    await assert.rejects(trial.import(TEA, args), {
      exitCode: 2,
      message: /^It was imported as (cups and tea|tea and cups): add --as NAME/,
    });
  }
  const named = ["--as", "cups", "--check"];
  assert.deepEqual(await trial.import(TEA, named), nothing);
  // A new --url replaces the former one, and is remembered too.
  const moved = ["--as", "cups", "--url", "https://other.example"];
  const { said } = await trial.import(TEA, moved);
  assert.match(said, /Changed services\/cups\.ts/);
  assert.deepEqual(await trial.import(TEA, named), nothing);
  assert.match(await trial.read("services/cups.ts"), /other\.example"/);
});

Deno.test("import writes no service of another API that has the same title, unless --as says so", async () => {
  await using trial = await Trial.start();
  const at = (url?: string, path = "/orders") =>
    documentOf({ [path]: { get: {} } }, {
      servers: url === undefined ? [] : [{ url }],
    });
  const first = ["--all", "--url", "https://orders.example/"];
  assert.equal((await trial.import(at(), first)).code, 0);
  const path = "services/tea_shop.ts";
  const service = await trial.read(path);
  const tools = await trial.files("tools");
  const others: [unknown, string[]][] = [
    [at(), ["--all", "--url", "https://users.example"]],
    [at("https://users.example"), ["--all"]],
    [at(undefined, "/users"), ["--all"]],
    // Another title from which the same name is made.
    [{
      ...at("https://users.example"),
      info: { title: "tea-shop" },
    }, ["--all"]],
  ];
  for (const [document, args] of others) {
    await assert.rejects(trial.import(document, args), {
      exitCode: 2,
      message:
        /^services\/tea_shop\.ts was made for https:\/\/orders\.example, .* --as tea_shop, else/,
    });
    assert.equal(await trial.read(path), service);
    assert.deepEqual(await trial.files("tools"), tools);
  }
  // A check writes nothing, and tells the change.
  const checked = await trial.import(at(undefined, "/users"), ["--check"]);
  assert.equal(checked.code, 1);
  assert.equal((await trial.import(at(), ["--check"])).code, 0);
  // There are two services now, and the address says which is meant.
  const users = at("https://users.example", "/users");
  assert.equal((await trial.import(users, ["--all", "--as", "users"])).code, 0);
  assert.equal((await trial.import(users, ["--check"])).code, 0);
  const { said } = await trial.import(at(), ["--all", ...first.slice(1)]);
  assert.match(said, /1 tool of tea_shop/);
  // An API that has moved is told once.
  const moved = at("https://moved.example");
  const as = ["--all", "--as", "tea_shop"];
  assert.equal((await trial.import(moved, as)).code, 0);
  assert.equal((await trial.import(moved, ["--all"])).code, 0);
});

Deno.test("import leaves out what a tool could not send, and says so", async () => {
  const file = { type: "string", format: "binary" };
  const upload = (required: string[]) => ({
    requestBody: {
      content: {
        "multipart/form-data": {
          schema: {
            type: "object",
            required,
            properties: { name: { type: "string" }, photo: file },
          },
        },
      },
    },
  });
  const document = documentOf({
    "/a": {
      get: { operationId: "getA" },
      post: { operationId: "postA", ...upload([]) },
      put: { operationId: "putA", ...upload(["photo"]) },
      patch: { operationId: "patchA" },
      delete: { operationId: "deleteA", security: [{ other: [] }] },
    },
  }, {
    components: {
      securitySchemes: {
        ...KEYED.components.securitySchemes,
        other: { type: "http", scheme: "bearer" },
      },
    },
    security: [{ key: [] }],
  });
  await using trial = await Trial.start();
  const { code, said } = await trial.import(document);
  assert.equal(code, 0);
  assert.match(
    said,
    /deno task ci\. Set SECRETS_KEYS: people connect there\.$/,
  );
  for (const id of ["POST /a", "PUT /a"]) {
    const words =
      "is left out: It takes a file (photo), which tools cannot send.";
    assert(said.includes(`${id} ${words}`), said);
  }
  assert.match(
    said,
    /DELETE \/a is left out: It wants another way to sign in than the rest: --pick only what signs in like it, --as another service\./,
  );
  assert.match(await trial.read("tools/mod.ts"), /\[getA, patchA\]/);
  const listed = await trial.import(document, ["--list"]);
  const [a, b] = ["get_a", "patch_a"].map((name) =>
    Number(RegExp(` ${name}, (\\d+) tokens`).exec(listed.said)![1])
  );
  assert(said.includes(`\n2 tools of tea_shop, about ${a + b} tokens`), said);
  const alone = ["--as", "other", "--pick", "deleteA"];
  assert.equal((await trial.import(document, alone)).code, 0);
  const service = await trial.read("services/other.ts");
  assert.doesNotMatch(service, /x-api-key/);
});

/** Files as documents write them: members of forms, and how they are sent. */
const FILES: [string, Record<string, unknown>, encoding?: object][] = [
  ["octets", { contentMediaType: "application/octet-stream" }],
  ["image", { type: "string", contentMediaType: "image/png" }],
  ["base64", { contentMediaType: "image/png", contentEncoding: "base64" }],
  ["raw", { type: "string", contentEncoding: "binary" }],
  ["kind", { type: "file" }],
  ["encoding", { type: "string" }, { contentType: "image/png, image/jpeg" }],
  ["list", { type: "array", items: { type: "file" } }],
  ["none", { anyOf: [{ type: "file" }, { type: "null" }] }],
  ["kinds", { anyOf: [{ type: "file" }, { contentMediaType: "audio/ogg" }] }],
];

const KEPT: typeof FILES = [
  ["words", { type: "string", contentMediaType: "text/csv" }],
  ["code", { contentMediaType: "application/json" }],
  ["either", { anyOf: [{ type: "file" }, { type: "string" }] }],
  ["sent", { type: "string" }, { contentType: "text/plain, image/png" }],
  ["svg", { type: "string" }, { contentType: "image/svg+xml" }],
];

Deno.test("import leaves out a form with a file, in whichever way the document writes it", async () => {
  const posting = (
    [name, member, encoding]: typeof FILES[number],
    form = (schema: unknown) => schema,
  ) => {
    const schema = form({ type: "object", properties: { [name]: member } });
    const media = { schema, ...encoding && { encoding: { [name]: encoding } } };
    const content = { "multipart/form-data": media };
    return [`/${name}`, { post: { requestBody: { content } } }];
  };
  const photo: typeof FILES[number] = ["photo", { type: "file" }];
  const text = { type: "object", properties: { name: { type: "string" } } };
  await using trial = await Trial.start();
  const { said } = await trial.import(
    documentOf(Object.fromEntries([
      ...[...FILES, ...KEPT].map((it) => posting(it)),
      posting(photo, (it) => ({ oneOf: [text, it] })),
    ])),
  );
  assert.deepEqual(
    said.match(/(?<=^POST \/\w+ is left out: ).*$/gm),
    [...FILES, photo].map(([name]) =>
      `It takes a file (${name}), which tools cannot send.`
    ),
  );
  const named = documentOf({
    "/a": {
      post: {
        requestBody: {
          content: {
            "multipart/form-data": {
              schema: { additionalProperties: { type: "file" } },
            },
          },
        },
      },
    },
    "/b": {
      get: {
        responses: {
          200: {
            content: { "*/*": { schema: { contentMediaType: "image/png" } } },
          },
        },
      },
    },
    "/c": { get: {} },
  });
  const more = await trial.import(named, ["--all", "--as", "named"]);
  assert.deepEqual(more.said.match(/^.* is left out: .*file/gm), [
    "POST /a is left out: It takes a file",
    "GET /b is left out: It answers with a file",
  ]);
});

Deno.test("import leaves out what answers with a file alone, and says so", async () => {
  const answering = (...types: string[]) => {
    const schema = { type: "string", format: "binary" };
    const content = types.map((type) => [type, type === "*/*" && { schema }]);
    return { responses: { 200: { content: Object.fromEntries(content) } } };
  };
  const document = documentOf({
    "/a": { get: answering("application/pdf", "image/png") },
    "/b": { get: answering("*/*") },
    "/c": { get: answering("application/pdf", "application/json") },
    "/d": { head: answering("application/pdf") },
    "/e": { get: answering("text/csv", "image/svg+xml") },
    "/f": { get: answering() },
  });
  await using trial = await Trial.start();
  const { said } = await trial.import(document);
  assert.deepEqual(said.match(/^.*left out.*$/gm), [
    "GET /a is left out: It answers with a file, application/pdf, image/png, which tools cannot give.",
    "GET /b is left out: It answers with a file, */*, which tools cannot give.",
  ]);
});

Deno.test("import leaves out what is at another server, also with --url", async () => {
  const at = (...urls: string[]) => ({ servers: urls.map((url) => ({ url })) });
  const document = documentOf({
    "/a": { get: { operationId: "getA" } },
    "/b": { get: { operationId: "getB", ...at("https://other.example/v1") } },
    "/c": {
      get: { operationId: "getC", ...at("https://api.example.com/v1/") },
    },
    "/d": { ...at("https://api.example.com/v2"), get: { operationId: "getD" } },
    "/e": { get: { operationId: "getE", ...at("https://proxy.example") } },
  });
  await using trial = await Trial.start();
  const near = await trial.import(document);
  assert.match(await trial.read("tools/mod.ts"), /\[getA, getC\]/);
  const left =
    /^GET (\/.) is left out: It is at another server: import it --as another service, with --url (\S+)\.$/gm;
  const leftOf = (said: string) =>
    [...said.matchAll(left)].map(([, ...it]) => it.join(" "));
  const [b, d, e] = [
    "/b https://other.example/v1",
    "/d https://api.example.com/v2",
    "/e https://proxy.example",
  ];
  assert.deepEqual(leftOf(near.said), [b, d, e]);
  const url = ["--all", "--as", "far", "--url", "https://proxy.example"];
  assert.deepEqual(leftOf((await trial.import(document, url)).said), [b, d]);
  assert.match(await trial.read("tools/mod.ts"), /getAFar, getCFar, getE\]/);
  const relative = { ...document, ...at("/v1") };
  const there = await trial.import(relative, [...url, "--as", "near"]);
  assert.deepEqual(leftOf(there.said), [b, "/c https://api.example.com/v1", d]);
});

/** Runs a function, and returns the errors that it prints. */
async function complaintsOf(run: () => Promise<void>): Promise<string> {
  const { console } = globalThis;
  const said: string[] = [];
  globalThis.console = { ...console, error: (it: string) => said.push(it) };
  try {
    await run();
  } finally {
    globalThis.console = console;
  }
  return said.join("\n");
}

Deno.test("--check says with 2 that a source cannot be read, and with 1 that a tool can be made no more", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA, ["--pick", "listCups"]);
  const path = `${trial.root}/openapi.json`;
  await Deno.writeTextFile(`${trial.root}/bad.yaml`, "a: [");
  const said = await complaintsOf(async () => {
    for (const source of ["none.yaml", "bad.yaml", "bad.yaml/a", "."]) {
      assert.equal(await main([`${trial.root}/${source}`, "--check"]), 2);
      assert.equal(await main([`${trial.root}/${source}`, "--list"]), 1);
    }
  });
  assert.match(
    said,
    /There is no file .*neither JSON nor YAML.*bad\.yaml\/a cannot be read: .* is a folder/s,
  );
  const text = (await Deno.readTextFile(path)).replace(
    '"in":"query"',
    '"in":"querystring","required":true',
  );
  assert.notEqual(text, await Deno.readTextFile(path));
  const gone = await trial.import(text, ["--check"]);
  assert.match(gone.said, /is left out: /);
  assert.equal(gone.code, 1);
});

Deno.test("import says in words that it cannot write, and with 2 that it could not check", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const url = (path: string) => new URL(`../../../${path}`, import.meta.url);
  const command = url("packages/cli/mod.ts").href;
  const config = fileURLToPath(url("deno.json"));
  const none = `${trial.root}/none`;
  for (const [flag, code] of [["--check", 2], ["--all", 1]] as const) {
    const output = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--config", config, command, "import"]
        .concat("openapi.json", flag),
      cwd: trial.root,
      env: { TMPDIR: none, TMP: none, TEMP: none, NO_COLOR: "1" },
    }).output();
    const said = new TextDecoder().decode(output.stderr);
    assert.equal(output.code, code, said);
    assert.match(said, /^[^\n]*\(os error \d+\)[^\n]*\n$/);
  }
});

Deno.test("--check says with 2 that it has a fault of its own", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const { readTextFile } = Deno;
  Deno.readTextFile = () => Promise.reject(new TypeError("a fault"));
  try {
    const said = await complaintsOf(async () => {
      assert.equal(await main([`${trial.root}/openapi.json`, "--check"]), 2);
    });
    assert.match(said, /a fault/);
  } finally {
    Deno.readTextFile = readTextFile;
  }
});

Deno.test("import refuses a --url at which no API can be, and says what it uses of others", async () => {
  await using trial = await Trial.start();
  for (
    const url of ["nope", "api.example.com/v1", "ftp://a.example", "/v1"]
      .concat("https://ada:secret@a.example?key=secret", "javascript:alert(1)")
  ) {
    for (const more of ["--all", "--list", "--check"]) {
      await assert.rejects(trial.import(TEA, [more, "--url", url]), {
        exitCode: 2,
        message: "--url must be the address of an API, as " +
          "https://api.example.com/v1, without a name or password: got " +
          `${
            JSON.stringify(url.replace("ada:secret@", "").replace(/\?.*/, ""))
          }.`,
      });
    }
  }
  const { said } = await trial.import(TEA, [
    "--all",
    "--url",
    "http://tea.example/v1/?key=a-secret#part",
  ]);
  assert.match(
    said,
    /^Note: Of --url, http:\/\/tea\.example\/v1\/ is used, without the rest\.$/m,
  );
  assert.match(
    said,
    /^Note: --url says http: https:\/\/tea\.example is used, with https\.$/m,
  );
  assert.doesNotMatch(said, /a-secret/);
});

Deno.test("--all says why there is nothing to take", async () => {
  await using trial = await Trial.start();
  const other = documentOf({ "/a": { $ref: "./a.yaml#/a" }, "/b": 1 });
  const listed = await trial.import(other, ["--list"]);
  assert.match(
    listed.said,
    /^Left out, as no tool can call these: \/a \(refers to \.\/a\.yaml#\/a\), \/b$/m,
  );
  const old = documentOf({ "/a": { get: { deprecated: true } } });
  for (
    const [document, message] of [
      [other, "Nothing of it can become a tool."],
      [
        old,
        'All of it is deprecated: name what you want, as --pick "GET /a".',
      ],
    ] as const
  ) {
    await assert.rejects(trial.import(document), { exitCode: 2, message });
  }
  const taken = await trial.import(old, ["--pick", "GET /a"]);
  assert.equal(taken.code, 0);
});

Deno.test("import ends in one sentence where it cannot format, read or understand", async () => {
  await using trial = await Trial.start();
  await trial.remove("deno.json");
  await assert.rejects(trial.import(TEA), {
    exitCode: 1,
    message:
      /^The files cannot be formatted: Error reading config file '[^\n]*\.$/,
  });
  const page = "<html>\n<p>a: b: c</p>";
  for (const text of [page, "a page"]) {
    await assert.rejects(parseOpenApi(text, "https://a.example"), {
      message:
        /^https:\/\/a\.example is (?:neither JSON nor YAML: [^\n]+|no OpenAPI document)\. The address of an MCP server ends in \/mcp\.$/,
    });
    await assert.rejects(parseOpenApi(text, "a.yaml"), {
      message:
        /^a\.yaml is (?:neither JSON nor YAML: [^\n]+|no OpenAPI document)\.$/,
    });
  }
  const said = await complaintsOf(async () => {
    assert.equal(await main([`${trial.root}/none.json`, "--token"]), 2);
  });
  assert.match(said, /^--token needs a value\.$/m);
});

Deno.test("import refuses a command line that is wrong, with the nearest flag and exit code 2", async (t) => {
  for (
    const [args, words] of [
      [["--pik", "a", "b"], /^There is no --pik\. Did you mean --pick\?/],
      [["--all=yes", "b"], /^There is no --all/],
      [["a", "--pick="], /^--pick needs a value/],
      [["a", "b"], /^Not understood: b\.\n.*--pick PATTERN … \| --all\]/],
      [
        ["a", "--pick", "POST", "/b"],
        /^Not understood: \/b\. A pattern with spaces is in quotes: --pick "GET/,
      ],
      [["a", "--take", "--keep"], /^Choose one of --take and --keep\.$/],
      [["a", "--list", "--check"], /^Choose one of --list and --check/],
      [[], /^Usage: import SOURCE/],
    ] as const
  ) {
    await t.step(args.join(" ") || "nothing", async () => {
      const said = await complaintsOf(async () => {
        assert.equal(await main(args), 2);
      });
      assert.match(said, words);
    });
  }
});

Deno.test("import notes what it did not understand of an operation, and takes the rest", async () => {
  const document = documentOf({
    "/a": {
      get: {
        operationId: "getA",
        parameters: [
          { name: "x", in: "qurey", schema: { type: "string" } },
          { name: "y", in: "query", schema: { type: "strin" } },
        ],
      },
    },
  });
  await using trial = await Trial.start();
  const { said } = await trial.import(document);
  assert.match(
    said,
    /Note: GET \/a leaves out the parameter x \(in qurey\)\n/,
  );
  assert.match(
    said,
    /Note: GET \/a takes any value where the type is strin\n/,
  );
  assert.match(await trial.read("tools/get_a.ts"), /y: z\.unknown\(\)/);
});

Deno.test("no header of a connection is an argument of a tool", async () => {
  const names = ["Connection", "Content-Length", "Expect", "Host", "TE"];
  const others = ["Keep-Alive", "Proxy-Authorization", "Trailer", "X-Hosts"];
  const parameters = [...names, ...others, "Transfer-Encoding", "Upgrade"]
    .map((name) => ({
      name,
      in: "header",
      required: true,
      schema: { type: "string" },
    }));
  await using trial = await Trial.start();
  const { said } = await trial.import(
    documentOf({ "/a": { get: { operationId: "getA", parameters } } }),
  );
  assert.equal(said.match(/leaves out the header /g)?.length, 10);
  assert.match(
    await trial.read("tools/get_a.ts"),
    /headers: { "X-Hosts": xHosts },/,
  );
});

Deno.test("--check says what the list imports that is not there, and how to keep what is gone", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA, ["--all"]);
  await trial.remove("tools/list_cups.ts");
  await trial.remove("tools/list_cups_test.ts");
  const lost = await trial.import(TEA, ["--check"]);
  assert.equal(lost.code, 1);
  assert.match(
    lost.said,
    /tools\/mod\.ts imports list_cups\.ts, which is not there\./,
  );
  const later = await trial.import(TEA, []);
  assert.match(later.said, /mod\.ts imports list_cups\.ts, which is not there/);
  const again = await trial.import(TEA, ["--pick", "listCups"]);
  assert.doesNotMatch(again.said, /not there/);
  const { get: _, ...others } = TEA.paths["/teas/{tea-id}/cups"];
  const smaller = { ...TEA, paths: { "/teas/{tea-id}/cups": others } };
  const gone = await trial.import(smaller, ["--check"]);
  assert.equal(gone.code, 1);
  assert.match(gone.said, /To keep it as your own, delete the first line/);
  for (const name of ["list_cups.ts", "list_cups_test.ts"]) {
    const [line] = (await trial.read(`tools/${name}`)).split("\n");
    await trial.edit(`tools/${name}`, `${line}\n`, "");
  }
  assert.equal((await trial.import(smaller, ["--check"])).code, 0);
});

Deno.test("import refuses a service whose settings another service has", async () => {
  const key = { type: "apiKey", in: "query", name: "k" };
  const more = (scheme: Record<string, unknown>) => ({
    components: { securitySchemes: scheme },
    security: [Object.fromEntries(Object.keys(scheme).map((it) => [it, []]))],
  });
  const paths = { "/a": { get: { operationId: "getA" } } };
  await using trial = await Trial.start();
  await trial.import(documentOf(paths, more({ key })), ["--all", "--as", "a"]);
  const other = documentOf(paths, {
    ...more({ key }),
    servers: [{
      url: "https://{b_url}.example.com",
      variables: { b_url: { default: "x" } },
    }],
  });
  await trial.import(documentOf(paths, more({ key })), [
    "--all",
    "--as",
    "a_b",
  ]);
  await assert.rejects(trial.import(other, ["--all", "--as", "a"]), {
    name: "ImportError",
    message: "services/a_b.ts has the setting A_B_URL too: add --as NAME.",
  });
});

Deno.test("import says of an address that is no document that one of an MCP server ends in /mcp", async () => {
  await using server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      onListen() {},
    },
    ({ url }) =>
      new Response("<html>", { status: url.endsWith("/page") ? 200 : 405 }),
  );
  const address = `http://127.0.0.1:${server.addr.port}`;
  const end =
    "It was read as a document: the address of an MCP server ends in /mcp.";
  await assert.rejects(openSource(`${address}/`), {
    name: "ImportError",
    message: `${address}/ answered 405. ${end}`,
  });
  await assert.rejects(openSource(`${address}/page`), {
    name: "ImportError",
    message: new RegExp(`${RegExp.escape(end)}$`),
  });
  await assert.rejects(openSource("/dev/null"), {
    name: "ImportError",
    message: "/dev/null is no file.",
  });
  const folder = await Deno.makeTempDir();
  try {
    await assert.rejects(openSource(folder), {
      name: "ImportError",
      message: `${folder} is a folder: name the document in it.`,
    });
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("two operations of one summary have a title each", async () => {
  const get = { summary: "Get a tea." };
  await using trial = await Trial.start();
  await trial.import(documentOf({
    "/a": { get: { ...get, operationId: "getA" } },
    "/b": { get: { ...get, operationId: "getB" } },
  }));
  assert.match(await trial.read("tools/get_a.ts"), /title: "Get a tea",/);
  assert.match(await trial.read("tools/get_b.ts"), /title: "Get b",/);
});
