import assert from "node:assert/strict";
import {
  isTemplate,
  MAX_URI_CHARACTERS,
  parseUriTemplate,
} from "../../../src/core/catalogue/uri_template.ts";

Deno.test("parseUriTemplate() matches {name} with one path segment", () => {
  const { variables, match } = parseUriTemplate("notes://{folder}/{id}");
  assert.deepEqual(variables, ["folder", "id"]);
  assert.deepEqual(match("notes://work/1"), { folder: "work", id: "1" });
  for (
    const uri of [
      "notes://work",
      "notes://work/",
      "notes:///1",
      "notes://work/1/2",
      "notes://work/1?a",
      "notes://work/1#a",
      "other://work/1",
      "xnotes://work/1",
    ]
  ) assert.equal(match(uri), undefined, uri);
});

Deno.test("parseUriTemplate() matches {+name} with the rest of a path", () => {
  const { match } = parseUriTemplate("files:///{+path}");
  assert.deepEqual(match("files:///a/b.txt"), { path: "a/b.txt" });
  assert.equal(match("files:///"), undefined);
});

Deno.test("parseUriTemplate() lets each variable take what the rest leaves it", () => {
  const cases: [string, string, Record<string, string> | undefined][] = [
    ["a://{+b}/{c}", "a://1/2/3", { b: "1/2", c: "3" }],
    ["a://{b}{c}", "a://123", { b: "12", c: "3" }],
    ["a://{b}-{c}.txt", "a://1-2-3.txt", { b: "1-2", c: "3" }],
    ["a://{+b}x{+c}x", "a://1x2x3x", { b: "1x2", c: "3" }],
    ["a://{b}{+c}", "a://1/2", { b: "1", c: "/2" }],
    ["a://{b}/{+c}", "a:///1", undefined],
    ["a://{b}.txt", "a://.txt", undefined],
    ["a://{b}aa", "a://aa", undefined],
    ["{+b}", "a://b", { b: "a://b" }],
  ];
  for (const [template, uri, expected] of cases) {
    assert.deepEqual(parseUriTemplate(template).match(uri), expected, template);
  }
});

Deno.test("parseUriTemplate() matches as the regular expression would, for any URI", () => {
  const letters = "a/-x";
  const template = "a{+p}-{q}x{+r}/{s}";
  const { match } = parseUriTemplate(template);
  const expression = /^a(?<p>.+)-(?<q>[^/?#]+)x(?<r>.+)\/(?<s>[^/?#]+)$/;
  let matches = 0;
  for (let n = 0; n < 4 ** 9; n++) {
    const uri = "a" + Array.from(
      { length: 9 },
      (_, digit) => letters[(n >> (2 * digit)) & 3],
    ).join("");
    const found = match(uri);
    const groups = expression.exec(uri)?.groups;
    assert.deepEqual(found, groups && { ...groups }, uri);
    if (found) matches++;
  }
  assert.ok(matches > 1000);
});

Deno.test("parseUriTemplate() looks at no URI beyond the limit", () => {
  const { match } = parseUriTemplate("a://{+b}");
  const longest = "a://".padEnd(MAX_URI_CHARACTERS, "b");
  assert.ok(match(longest));
  assert.equal(match(longest + "b"), undefined);
});

Deno.test("parseUriTemplate() decodes what it finds", () => {
  const { match } = parseUriTemplate("notes://{id}");
  assert.deepEqual(match("notes://a%20b%2Fc"), { id: "a b/c" });
});

Deno.test("parseUriTemplate() matches no broken percent-encoding", () => {
  const { match } = parseUriTemplate("notes://{id}");
  assert.equal(match("notes://%E0%A4%A"), undefined);
});

Deno.test("parseUriTemplate() takes what stands around variables literally", () => {
  const { match } = parseUriTemplate("a://x.y/{id}.(json)");
  assert.deepEqual(match("a://x.y/1.(json)"), { id: "1" });
  assert.equal(match("a://xzy/1.(json)"), undefined);
});

for (
  const [what, template] of [
    ["an operator it does not match", "a://{?query}"],
    ["a modifier", "a://{name*}"],
    ["a list", "a://{a,b}"],
    ["an empty expression", "a://{}"],
    ["a variable that stands twice", "a://{id}/{id}"],
    ["an unclosed brace", "a://{id"],
    ["an unopened brace", "a://id}"],
  ]
) {
  Deno.test(`parseUriTemplate() refuses ${what}`, () => {
    assert.throws(() => parseUriTemplate(template), SyntaxError);
  });
}

Deno.test("isTemplate() sees any brace", () => {
  assert.ok(isTemplate("a://{id}"));
  assert.ok(isTemplate("a://id}"));
  assert.ok(!isTemplate("a://id"));
});

Deno.test("parseUriTemplate() without a variable matches itself alone", () => {
  const { variables, match } = parseUriTemplate("a://x");
  assert.deepEqual(variables, []);
  assert.deepEqual(match("a://x"), {});
  for (const uri of ["a://", "a://xy", "a://xx"]) {
    assert.equal(match(uri), undefined, uri);
  }
});
