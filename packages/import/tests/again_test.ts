import assert from "node:assert/strict";
import { documentOf, jsonBody, KEYED, Trial } from "./kit.ts";

const CUPS = {
  get: {
    operationId: "listCups",
    summary: `It's "all" cups`,
    parameters: ["limit", "x-y"].map((name) => ({
      name,
      in: "query",
      schema: { type: "string" },
    })),
  },
  post: {
    operationId: "pourCup",
    summary: "Pour a cup",
    requestBody: jsonBody({
      type: "object",
      required: ["size"],
      properties: { size: { type: "string" }, "milk-kind": { type: "string" } },
    }),
  },
  delete: { operationId: "deleteCups", summary: "Delete the cups" },
};

const TEA = documentOf({ "/cups": CUPS }, KEYED);

/** Returns the document with another summary for each of these operations. */
const changed = (...methods: (keyof typeof CUPS)[]) =>
  documentOf({
    "/cups": {
      ...CUPS,
      ...Object.fromEntries(
        methods.map((it) => [it, { ...CUPS[it], summary: "Other words" }]),
      ),
    },
  }, KEYED);

const NOTHING = { code: 0, said: "Nothing has changed." };

/** Rewrites files of a project, as its author does with an editor. */
async function rewrite(
  trial: Trial,
  change: (text: string, path: string) => string,
): Promise<void> {
  for (const folder of ["services", "tools"]) {
    for (const name of await trial.files(folder)) {
      const path = `${folder}/${name}`;
      const text = change(await trial.read(path), path);
      await Deno.writeTextFile(`${trial.root}/${path}`, text);
    }
  }
}

const FORMATS = [
  { singleQuote: true, semiColons: false, lineWidth: 120 },
  { useTabs: true, trailingCommas: "never", quoteProps: "consistent" },
  { lineWidth: 40, indentWidth: 8, operatorPosition: "maintain" },
];

for (const fmt of FORMATS) {
  Deno.test(`a project that is formatted with ${JSON.stringify(fmt)} is as it was imported, and its tools stay renamed`, async () => {
    await using trial = await Trial.start();
    await trial.import(TEA);
    await Deno.writeTextFile(
      `${trial.root}/deno.json`,
      JSON.stringify({ fmt }),
    );
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ["fmt", "--quiet", "--config", "deno.json", "tools", "services"],
      cwd: trial.root,
    }).output();
    assert(success);
    assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
    await trial.edit("tools/list_cups.ts", "list_cups", "all_cups");
    assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
    const { code, said } = await trial.import(changed("get"), []);
    assert.equal(code, 0);
    assert.deepEqual(said.match(/(?<=^Changed ).*$/gm), ["tools/list_cups.ts"]);
    assert.match(
      await trial.read("tools/list_cups.ts"),
      /name: ["']all_cups["'],\s+title: ["']Other words["']/,
    );
    assert.deepEqual(await trial.import(changed("get"), ["--check"]), NOTHING);
    // A semicolon in a string is no format.
    await trial.edit("tools/pour_cup.ts", "Pour a cup", "Pour; a cup");
    const open = await trial.import(changed("get", "post"), []);
    assert.match(open.said, /^Not written: tools\/pour_cup\.ts\./m);
  });
}

Deno.test("a project that another formatter has formatted is as it was imported", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  // As Prettier does: members in one line, and a last comma of arguments.
  await rewrite(
    trial,
    (text) =>
      text.replaceAll(";\n", "\n").replace(
        "needs: { teaShop }",
        "needs: {teaShop}",
      )
        .replace("signal,\n    })", "signal })")
        .replace("{ needs })", "{ needs },)"),
  );
  assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
  const { said } = await trial.import(changed("get", "post", "delete"), []);
  assert.equal(said.match(/^Changed tools/gm)?.length, 3);
});

/** Moves files, and changes the paths in all. */
async function move(
  trial: Trial,
  moves: Record<string, string>,
  paths: [from: string, to: string][],
): Promise<void> {
  for (const [from, to] of Object.entries(moves)) {
    const full = `${trial.root}/${to}`;
    await Deno.mkdir(full.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.rename(`${trial.root}/${from}`, full);
  }
  for (const path of ["tools/mod.ts", ...Object.values(moves)]) {
    const text = paths.reduce(
      (it, [from, to]) => it.replaceAll(from, to),
      await trial.read(path),
    );
    await Deno.writeTextFile(`${trial.root}/${path}`, text);
  }
}

Deno.test("a tool is found in another folder, with its paths", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  await move(trial, {
    "tools/list_cups.ts": "tools/cups/list.ts",
    "tools/list_cups_test.ts": "tools/cups/list_test.ts",
  }, [
    ["./list_cups.ts", "./cups/list.ts"],
    ["../services/", "../../services/"],
  ]);
  await trial.edit("tools/cups/list_test.ts", "./cups/list.ts", "./list.ts");
  assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
  const before = await trial.files("tools");
  assert.equal((await trial.import(changed("get"))).code, 0);
  assert.deepEqual(await trial.files("tools"), before);
  const tool = await trial.read("tools/cups/list.ts");
  assert.match(tool, /title: "Other words"/);
  assert.match(tool, /from "\.\.\/\.\.\/services\/tea_shop\.ts"/);
  const test = await trial.read("tools/cups/list_test.ts");
  assert.match(test, /from "\.\/list\.ts"/);
  // Its tool is written to where its test is.
  await trial.remove("tools/cups/list.ts");
  await trial.import(TEA, ["--pick", "listCups"]);
  assert.deepEqual(await trial.files("tools/cups"), [
    "list.ts",
    "list_test.ts",
  ]);
  await trial.edit(
    "tools/mod.ts",
    'import listCups from "./cups/list.ts";\n',
    "",
  );
  await trial.edit("tools/mod.ts", "listCups, ", "");
  await trial.import(TEA, []);
  const list = await trial.read("tools/mod.ts");
  assert.match(list, /^import list from "\.\/cups\/list\.ts";$/m);
  await trial.remove("tools/cups/list.ts");
  await trial.remove("tools/cups/list_test.ts");
  const { said } = await trial.import(TEA, ["--check"]);
  assert.match(said, /mod\.ts imports cups\/list\.ts, which is not there/);
});

Deno.test("a service stays renamed, with its file and its constant", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  await Deno.rename(
    `${trial.root}/services/tea_shop.ts`,
    `${trial.root}/services/tea.ts`,
  );
  await rewrite(trial, (text) =>
    text.replaceAll(/\bteaShop\b/g, "shop")
      .replace("services/tea_shop.ts", "services/tea.ts"));
  assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
  const { code, said } = await trial.import(changed("get"), []);
  assert.equal(code, 0);
  assert.match(said, /^Changed tools\/list_cups\.ts$/m);
  const tool = await trial.read("tools/list_cups.ts");
  assert.match(tool, /import { shop } from "\.\.\/services\/tea\.ts"/);
  assert.match(tool, /callApi\(needs\.shop, /);
  assert.deepEqual(await trial.files("services"), ["tea.ts"]);
  // Another service is no rename.
  await trial.edit("tools/list_cups.ts", "../services/tea.ts", "../mine.ts");
  const open = await trial.import(TEA, []);
  assert.match(open.said, /^Not written: tools\/list_cups\.ts\./m);
});

Deno.test("import knows a file that begins with a byte order mark", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  await rewrite(trial, (text) => `\uFEFF${text}`);
  assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
  const before = await trial.files("tools");
  const { said } = await trial.import(changed("get"));
  assert.match(said, /^Changed tools\/list_cups\.ts$/m);
  assert.deepEqual(await trial.files("tools"), before);
});

const MARKS = "<<<<<<< HEAD\n$1=======\n$1>>>>>>> other\n";
const CONFLICT = / has the marks of a conflict in Git: resolve it first\.$/;
const NOT_FIRST = / must begin with its line \/\/ Imported: … as it was writ/;

/** Texts of a file that an import cannot understand, and its words. */
const HINDRANCES: [string, path: string, RegExp, string, RegExp][] = [
  ["a conflict at its beginning", "list_cups.ts", /^(.*\n)/, MARKS, CONFLICT],
  ["a conflict", "list_cups.ts", /(^ {2}title.*\n)/m, MARKS, CONFLICT],
  ["a conflict", "mod.ts", /(^import.*\n)/m, MARKS, CONFLICT],
  ["a licence first", "list_cups.ts", /^/, "// Mine\n", NOT_FIRST],
  ["half a first line", "list_cups.ts", / \w+\n/, "\n", NOT_FIRST],
  ["a first line in the test alone", "list_cups.ts", /^.*\n/, "", / your own/],
];

for (const [what, name, from, to, words] of HINDRANCES) {
  Deno.test(`import leaves all as it is if ${name} has ${what}`, async () => {
    await using trial = await Trial.start();
    await trial.import(TEA);
    const path = `tools/${name}`;
    const text = (await trial.read(path)).replace(from, to);
    await Deno.writeTextFile(`${trial.root}/${path}`, text);
    const before = await trial.files("tools");
    for (const args of [["--check"], [], ["--all", "--take"]]) {
      await assert.rejects(trial.import(changed("get"), args), {
        exitCode: 2,
        message: words,
      });
    }
    assert.deepEqual(await trial.files("tools"), before);
    assert.equal(await trial.read(path), text);
    assert.equal((await trial.import(TEA, ["--list"])).code, 0);
  });
}

Deno.test("import says which two files were made of one operation, and changes neither", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const text = await trial.read("tools/list_cups.ts");
  await Deno.writeTextFile(`${trial.root}/tools/small_cups.ts`, text);
  await assert.rejects(trial.import(changed("get"), []), {
    exitCode: 2,
    message:
      /^tools\/(?:list|small)_cups\.ts and tools\/(?:list|small)_cups\.ts were both made of GET \/cups: delete the first line/,
  });
  await trial.edit("tools/small_cups.ts", text.split("\n")[0], "");
  await trial.edit("tools/small_cups.ts", "list_cups", "small_cups");
  assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
});

Deno.test("a file of the author's may speak of the first line", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  const text = "// The first line, such as:\n// Imported: by hand\n";
  await Deno.writeTextFile(`${trial.root}/tools/own.ts`, text);
  assert.deepEqual(await trial.import(TEA, ["--check"]), NOTHING);
});

for (const flag of ["--take", "--keep"]) {
  Deno.test(`${flag} with --pick changes only what is picked`, async () => {
    await using trial = await Trial.start();
    await trial.import(TEA);
    const [picked, other, untouched] = ["list", "pour", "delete"]
      .map((it) => `tools/${it}_cup${it === "pour" ? "" : "s"}.ts`);
    for (const path of [picked, other]) {
      await trial.edit(path, "  title:", "  // Mine.\n  title:");
    }
    const before = await Promise.all(
      [other, untouched].map((it) => trial.read(it)),
    );
    const all = changed("get", "post", "delete");
    const { code, said } = await trial.import(all, [
      flag,
      "--pick",
      "listCups",
    ]);
    assert.equal(code, 0);
    assert.match(
      said,
      /^Not picked, and left as they are: tools\/pour_cup\.ts, tools\/delete_cups\.ts\.$/m,
    );
    const after = await Promise.all(
      [other, untouched].map((it) => trial.read(it)),
    );
    assert.deepEqual(after, before);
    const text = await trial.read(picked);
    assert.equal(text.includes("// Mine."), flag === "--keep");
    // A later import takes the rest.
    const rest = await trial.import(all, ["--take"]);
    assert.match(rest.said, /^Changed tools\/pour_cup\.ts$/m);
    assert.match(rest.said, /^Changed tools\/delete_cups\.ts$/m);
    assert.doesNotMatch(rest.said, /list_cups/);
  });
}

Deno.test("--take with --pick leaves alone a service that its author has changed", async () => {
  await using trial = await Trial.start();
  await trial.import(TEA);
  await trial.edit("services/tea_shop.ts", '"Tea Shop API"', '"Tea"');
  const text = await trial.read("services/tea_shop.ts");
  const other = { ...TEA, servers: [{ url: "https://other.example" }] };
  const as = ["--as", "tea_shop", "--take"];
  const { said } = await trial.import(other, [...as, "--pick", "listCups"]);
  assert.match(said, /^Not picked, and left .*: services\/tea_shop\.ts\.$/m);
  assert.equal(await trial.read("services/tea_shop.ts"), text);
  await trial.import(other, as);
  assert.match(await trial.read("services/tea_shop.ts"), /other\.example/);
});
