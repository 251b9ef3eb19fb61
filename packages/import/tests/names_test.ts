/** The names of tools, arguments and services that documents name otherwise. */
import assert from "node:assert/strict";
import { camelCase, isLossy, snakeCase } from "../names.ts";
import { documentOf, linked, runTests, Trial } from "./kit.ts";

Deno.test("names are in Latin letters where there are such", () => {
  for (
    const [text, snake, camel = snake] of [
      ["größe", "grosse"],
      ["größeTyp", "grosse_typ", "grosseTyp"],
      ["STRASSE", "strasse"],
      ["Łódź", "lodz"],
      ["Smørrebrød", "smorrebrod"],
      ["İstanbul", "istanbul"],
      ["заказы", "zakazy"],
      ["ПолучитьЗаказ", "poluchit_zakaz", "poluchitZakaz"],
      ["объект щи", "obekt_shchi", "obektShchi"],
      ["Αριθμός", "arithmos"],
    ]
  ) {
    assert.equal(snakeCase(text), snake);
    assert.equal(camelCase(text), camel);
    assert.equal(isLossy(text), false, text);
  }
  for (const text of ["名前", "get名前", "١٢", "日本", "5", "🍵"]) {
    assert.equal(isLossy(text), true, text);
  }
  assert.equal(snakeCase("get名前"), "get");
  assert.equal(camelCase("名前"), "value");
});

Deno.test("of a text of any length, a name is made of its beginning", () => {
  for (const part of ["1_", "A", "É", "名"]) {
    assert.doesNotMatch(snakeCase(`${part.repeat(100_000)} tail`), /tail/);
  }
});

const text = { type: "string" };

Deno.test("a parameter of an endless name is described in a line", async () => {
  await using trial = await Trial.start();
  const name = "1_".repeat(100_000);
  const parameters = [{ name, in: "query", schema: text }];
  const { code } = await trial.import(
    documentOf({ "/a": { get: { operationId: "a", parameters } } }),
  );
  assert.equal(code, 0);
  const tool = await trial.read("tools/a.ts");
  assert.match(tool, /value: z\.string\(\)[^]{1,50}"(?:1_)+1?…"/);
  const [described] = /"(?:1_)+1?…"/.exec(tool)!;
  assert(described.length < 300, `${described.length}`);
});

Deno.test("what has no Latin letters is described by its own name, and names that meet are told apart", async () => {
  await using trial = await Trial.start();
  const query = ["名前", "年齢", "größe", "grosse", "GROSSE"].map((name) => ({
    name,
    in: "query",
    schema: text,
    ...name === "年齢" && { description: "In years." },
  }));
  const { code } = await trial.import(documentOf({
    "/茶": {
      get: { operationId: "茶を探す", parameters: query },
      post: { summary: "Pour tea" },
      put: {},
    },
    "/茶/{id}": { get: {} },
    "/заказы": { get: {} },
    "/größe": { get: { operationId: "text" } },
    "/grosse": { get: { operationId: "größe" } },
    "/grösse": { get: { operationId: "grosse" } },
  }, { info: { title: "Größen", version: "1" } }));
  assert.equal(code, 0);
  const made = (await trial.files("tools"))
    .filter((it) => !/^mod\.|_test\./.test(it));
  assert.deepEqual(made, [
    "get.ts",
    "get_by_id.ts",
    "get_zakazy.ts",
    "grosse.ts",
    "grosse_2.ts",
    "pour_tea.ts",
    "put.ts",
    "text.ts",
  ]);
  assert.deepEqual(await trial.files("services"), ["grossen.ts"]);
  const found = await trial.read("tools/get.ts");
  assert.match(found, /title: "茶を探す",\n\s*description: "茶を探す\.",/);
  assert.match(found, /value: z\.string\(\)\.optional\(\)\.describe\("名前"\)/);
  assert.match(found, /queryValue: .*\.describe\("年齢: In years\."\)/);
  assert.match(found, /"名前": value,\s*"年齢": queryValue,/);
  assert.match(found, /"größe": grosse,\s*grosse: queryGrosse,/);
  assert.match(found, /GROSSE: queryGrosse2/);
  const none = await trial.read("tools/put.ts");
  assert.match(none, /title: "PUT \/茶",\n\s*description: "PUT \/茶\.",/);
  assert.match(await trial.read("tools/get_zakazy.ts"), /"Get zakazy"/);
  await linked(trial);
  for (const name of made) {
    await runTests(`${trial.root}/tools/${name.replace(".ts", "_test.ts")}`);
  }
});
