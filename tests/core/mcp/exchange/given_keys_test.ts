import assert from "node:assert/strict";
import { ToolError } from "../../../../src/authoring/tool.ts";
import { base64, base64url } from "../../../../src/core/crypto/crypto.ts";
import { StorageError } from "../../../../src/core/errors.ts";
import {
  GivenKeys,
  withoutRecentKeys,
} from "../../../../src/core/mcp/exchange/given_keys.ts";
import {
  keyFormsOf,
  KeySearch,
} from "../../../../src/core/mcp/exchange/key_forms.ts";
import { TextSearch } from "../../../../src/core/mcp/exchange/text_search.ts";
import { formsOf, KEYS } from "../../../kit/key_forms.ts";

function given(...keys: string[]): GivenKeys {
  const all = new GivenKeys();
  for (const key of keys) all.add(key);
  return all;
}

function wrap64(text: string): string {
  return base64(new TextEncoder().encode(text)).replace(/.{8}/g, "$&\n");
}

for (const key of KEYS) {
  Deno.test(`hide() finds ${key} in every form`, () => {
    const keys = given(key);
    for (const [form, text] of Object.entries(formsOf(key))) {
      const hidden = keys.hide(`before ${text} after`);
      assert.match(hidden, /^before .*\(hidden\).* after$/, form);
      // At most the letters of what stood next to it are left.
      assert(hidden.length < 60, `${form}: ${hidden}`);
    }
  });

  Deno.test(`hide() finds ${key} at any place of a longer base64 text`, () => {
    const keys = given(key);
    const encoder = new TextEncoder();
    for (let before = 0; before < 7; before++) {
      for (let after = 0; after < 7; after++) {
        const text = "b".repeat(before) + key + "a".repeat(after);
        for (const encode of [base64, base64url]) {
          const encoded = encode(encoder.encode(text));
          const hidden = keys.hide(encoded);
          assert.match(hidden, /\(hidden\)/, text);
          assert(hidden.length <= 8 + 8 + 12, `${text}: ${hidden}`);
        }
      }
    }
  });
}

Deno.test("hide() finds a key of four characters in base64, wherever it begins", () => {
  const keys = given("k9Qz");
  for (const before of ["", "a", "ab"]) {
    for (const after of ["", "c", "cd"]) {
      const text = base64(new TextEncoder().encode(`${before}k9Qz${after}`));
      assert.match(keys.hide(text), /\(hidden\)/, text);
    }
  }
  assert.equal(keys.hide("azlRcg== k9Qy"), "azlRcg== k9Qy");
});

Deno.test("hide() finds a key in base64 and other texts that are broken into lines", () => {
  const key = `lin_A+b/c="q"${"Zk93".repeat(20)}`;
  const keys = given(key, "k9Qz");
  const encoder = new TextEncoder();
  for (const width of [64, 76, 1]) {
    for (
      const brk of ["\n", "\r\n", "\r\n ", "\\n", "\\r\\n", "\\\\n", "%0D%0A"]
    ) {
      const wrap = (text: string) =>
        text.replace(new RegExp(`.{${width}}(?=.)`, "g"), `$&${brk}`);
      for (const before of [0, 1, 2, 40, 59, 70]) {
        for (const secret of [key, "k9Qz"]) {
          const text = "b".repeat(before) + secret;
          const hidden = keys.hide(wrap(base64(encoder.encode(text))));
          assert.match(hidden, /\(hidden\)={0,2}$/, `${width} ${brk} ${text}`);
        }
      }
      assert.match(keys.hide(`x ${wrap(key)}`), /\(hidden\)$/);
    }
  }
  const other = wrap64("lin_A+b/c");
  assert.equal(keys.hide(other), other);
});

Deno.test("a search finds what a plain search for each spelling finds, whatever the keys", () => {
  const pick = <T>(from: ArrayLike<T>) =>
    from[Math.floor(Math.random() * from.length)];
  const some = (letters: string, count: number) =>
    Array.from({ length: count }, () => pick(letters)).join("");
  for (let round = 0; round < 300; round++) {
    // Few letters make keys overlap, and contain one another.
    const letters = pick(["ab", "abA/+=", `k9-_ "<é🔑Z`]);
    const keys = Array.from(
      { length: 1 + round % 12 },
      () => some(letters, 4 + Math.floor(Math.random() * pick([4, 60]))),
    );
    const forms = keys.map(keyFormsOf);
    const patterns = forms.flatMap(({ read }) => read);
    const text = Array.from({ length: 40 }, () => {
      const { pattern } = pick(patterns);
      const cut = Math.floor(Math.random() * pattern.length);
      return pick([pattern, pattern.slice(cut), some(letters, 9), ". "]);
    }).join("").replaceAll(/[\\\r\n%&]/g, "");
    const isHidden = new Uint8Array(text.length);
    for (const { pattern, isBase64 } of patterns) {
      for (let at = -1; (at = text.indexOf(pattern, at + 1)) >= 0;) {
        let [start, end] = [at, at + pattern.length];
        if (isBase64) {
          if (/[\w+/-]/.test(text[start - 1] ?? "")) start--;
          if (/[\w+/-]/.test(text[end] ?? "")) end++;
          while (text[end] === "=") end++;
        }
        isHidden.fill(1, start, end);
      }
    }
    const left = text.replaceAll(/[^]/g, (it, at) => isHidden[at] ? "\0" : it);
    const hidden = new KeySearch(forms).hide(text);
    assert.equal(
      hidden.replaceAll(/(\(hidden\))+/g, "\0"),
      left.replaceAll(/\0+/g, "\0"),
      JSON.stringify({ keys, text }),
    );
  }
});

Deno.test("a search finds each spelling of random keys among others", () => {
  const random = () => base64url(crypto.getRandomValues(new Uint8Array(24)));
  const keys = [...KEYS, ...Array.from({ length: 50 }, random)];
  const all = given(...keys);
  for (const key of keys) {
    for (const [form, text] of Object.entries(formsOf(key))) {
      const hidden = all.hide(`before ${text} after`);
      assert.match(hidden, /^before .*\(hidden\).* after$/, `${form}: ${key}`);
      assert(hidden.length < 60, `${form}: ${hidden}`);
    }
  }
  const other = keys.map((key) => key.slice(1, -1)).join(" ");
  assert.equal(all.hide(other), other);
});

Deno.test("a search reads a character at most four times, whatever the keys and the text repeat", () => {
  for (
    const [unit, patterns] of [
      ["a", [`${"a".repeat(4000)}b`, `b${"a".repeat(4000)}`, "aaab"]],
      ["ab", [`${"ab".repeat(2000)}c`, "baba", "abac"]],
      ["a", ["a".repeat(4000), "aaaa"]],
      ["%25", [`${"%25".repeat(1300)}!`, "25%%", "5%2!"]],
      ["xyz1", Array.from({ length: 1000 }, (_, nth) => `xyz${nth}xyz`)],
    ] as const
  ) {
    let reads = 0;
    const text = unit.repeat(1_000_000 / unit.length);
    const search = new TextSearch(patterns);
    const counted = {
      length: text.length,
      charCodeAt: (at: number) => (reads++, text.charCodeAt(at)),
    };
    const ranges = search.rangesIn(counted);
    assert(reads <= 4 * text.length, `${unit}: ${reads}`);
    const found = patterns.filter((it) => text.includes(it));
    assert.deepEqual([...search.patternsIn(counted)], found);
    assert.equal(ranges.length > 0, found.length > 0);
    // Ranges that overlap are one: a text of a key alone fills no memory.
    assert(ranges.length <= 1);
  }
});

Deno.test("hide() leaves a text as it is that has another key, or a part of one", () => {
  const keys = given("lin_ada");
  for (const text of ["lin_eve", "lin_ad", "bGluX2V2ZQ==", "a (b) c"]) {
    assert.equal(keys.hide(text), text);
  }
});

Deno.test("hide() hides a key whole that begins with another", () => {
  assert.equal(given("lin_ada", "lin_ada_2").hide("lin_ada_2"), "(hidden)");
});

Deno.test("hide() ends at once where a text differs from a key at its end, whatever its signs", () => {
  for (
    const [part, near] of [["\\!", "\\\\\\\\\\\\\\\\!"], ["%", "%25"], [
      "&",
      "&amp;",
    ]]
  ) {
    for (const count of [20, 90]) {
      const key = `lin_${part.repeat(count)}X`;
      const text = `lin_${near.repeat(count)}Y`;
      assert.equal(given(key).hide(text), text);
    }
  }
});

Deno.test("hide() hides keys of many signs, and of nothing else", () => {
  const key = '"/\\'.repeat(1365);
  assert.equal(given(key).hide(`x${key}`), "x(hidden)");
  const quoted = JSON.stringify(key).slice(1, -1);
  assert.equal(given(key).hide(`x${quoted}`), "x(hidden)");
  assert.equal(given("!".repeat(4096)).hide("a title!"), "a title!");
  const slashes = "\\".repeat(4096);
  assert.equal(given(slashes).hide(`x${slashes}y`), "x(hidden)y");
});

Deno.test("hide() finds a key of any letters whose encoding for a URL is encoded again", () => {
  for (const key of ["clé-ñ9", "ключ", "🔑🔑🔑🔑"]) {
    const once = encodeURIComponent(key);
    const twice = encodeURIComponent(once);
    const all = `a ${once} b ${twice} c ${encodeURIComponent(twice)} %C3 %C3 d`;
    const hidden = "a (hidden) b (hidden) c (hidden) %C3 %C3 d";
    assert.equal(given(key).hide(all), hidden);
  }
});

Deno.test("hide() finds an encoded key wherever it is in a long text of encodings", () => {
  const keys = given("k🔑9&Qz/x7");
  const spellings = [
    "%6B%F0%9F%94%919&amp;Qz%2Fx7",
    "k&#128273;9&Qz\\/x\n7",
    "%6B%F0%9F%94%91%39%26%51%7A%2F%78%37",
  ];
  for (const [nth, before] of ["%41", "%F0%9F%98%80", "a&lt;"].entries()) {
    const start = "plain ".repeat(nth * 20) + before.repeat(8170);
    for (let more = 0; more < 30; more++) {
      for (const spelling of spellings) {
        const around = (text: string) =>
          `${start}${"-".repeat(more)}${text} ${before.repeat(3)}`;
        assert.ok(keys.hide(around(spelling)) === around("(hidden)"));
      }
    }
  }
});

Deno.test("add() takes no text for a key that is too short to keep a secret", () => {
  assert.equal(given("", "e", "abc").hide("an error, abc"), "an error, abc");
});

Deno.test("addFor() adds the password of Basic credentials, or the name where there is no password", () => {
  const pairs = [
    ["ada:hunter2secret", "hunter2secret"],
    [btoa("ada:hunter2secret"), "hunter2secret"],
    ["sk-live-1:", "sk-live-1"],
  ];
  for (const [key, secret] of pairs) {
    const given = new GivenKeys();
    given.addFor({ scheme: "Basic" }, key);
    assert.equal(given.hide(`ada has ${secret}.`), "ada has (hidden).");
    assert.deepEqual(given.cleanData([secret]), ["(hidden)"]);
  }
  const bearer = new GivenKeys();
  bearer.addFor({}, "ada:hunter2secret");
  assert.equal(bearer.hide("hunter2secret"), "hunter2secret");
  const noBase64 = new GivenKeys();
  noBase64.addFor({ scheme: "Basic" }, "no base64!");
  assert.equal(noBase64.hide("no base64!"), "(hidden)");
});

Deno.test("cleanData() hides a key that is folded over lines", () => {
  const given = new GivenKeys();
  given.add("crm-access-2");
  for (const fold of ["\r\n ", "\n\t", "\r\n"]) {
    const text = `it is crm-a${fold}ccess-2.`;
    assert.deepEqual(given.cleanData({ text }), { text: "it is (hidden)." });
  }
});

Deno.test("clean() hides keys in message, name, frames and causes, and leaves what has none", () => {
  const keys = given("lin_ada_9");
  const deep = new Error("outer", {
    cause: new AggregateError([new TypeError("quotes lin_ada_9")], "inner"),
  });
  deep.stack = `Error: outer\n    at lin_ada_9 (file:///tool.ts:1:2)`;
  const clean = keys.clean(deep) as Error;
  assert.match(clean.stack!, /^Error: outer\n {4}at \(hidden\) \(file/);
  const told = Deno.inspect(clean);
  assert.match(told, /\[TypeError\]: quotes \(hidden\)/);
  assert.doesNotMatch(told, /lin_ada/);
  const named = new Error("x");
  named.name = "lin_ada_9";
  assert.equal((keys.clean(named) as Error).name, "(hidden)");
  for (const other of [new Error("lin_eve"), "text", 5, undefined, null]) {
    assert.equal(keys.clean(other), other);
  }
});

Deno.test("clean() finds a key far behind in a message, and in what is no error", () => {
  const keys = given("lin_ada");
  const long = `${"x".repeat(20_000)} lin_ada`;
  const clean = keys.clean(new ToolError(long)) as ToolError;
  assert(clean instanceof ToolError);
  assert(clean.message.endsWith("x (hidden)"));
  for (const thrown of ["lin_ada", { token: "lin_ada" }]) {
    assert.match((keys.clean(thrown) as Error).message, /\(hidden\)/);
  }
});

Deno.test("clean() keeps the refusals of the engine, which the run depends on", () => {
  const refusal = new StorageError();
  assert.equal(given(refusal.message).clean(refusal), refusal);
});

Deno.test("cleanData() hides the keys of accounts in values and names, not the provider's token", () => {
  const keys = given("lin_ada_9");
  keys.addToken("provider");
  const data = { lin_ada_9: ["x lin_ada_9", 5, null], provider: "provider" };
  assert.deepEqual(keys.cleanData(data), {
    "(hidden)": ["x (hidden)", 5, null],
    provider: "provider",
  });
  const own = { text: "x" };
  assert.equal(keys.cleanData(own), own);
  const circle: Record<string, unknown> = { key: "lin_ada_9" };
  circle.self = circle;
  assert.equal(keys.cleanData(circle), circle);
  assert.match((keys.clean("provider") as Error).message, /hidden/);
});

Deno.test("withoutRecentKeys() knows the keys of calls that have ended", () => {
  given("lin_recent", "*".repeat(40), "*".repeat(4000) + "quotes");
  const clean = withoutRecentKeys(new Error("quotes lin_recent"));
  assert.equal((clean as Error).message, "quotes (hidden)");
  given("tix_ada");
  const short = withoutRecentKeys(new Error("timer tix_ada")) as Error;
  assert.equal(short.message, "timer (hidden)");
});

Deno.test("clean() hides a key in the members of an error, and behind the end of what is printed", () => {
  const keys = given("lin_ada_1234");
  const failed = Object.assign(new Error("It failed"), {
    config: { headers: { authorization: "Bearer lin_ada_1234" } },
  });
  for (
    const thrown of [
      failed,
      `${"x".repeat(16_380)}lin_ada_1234`,
      { body: `${"x".repeat(20_000)}lin_ada_1234` },
      new Error("outer", { cause: { body: "lin_ada_1234".repeat(2000) } }),
    ]
  ) {
    const told = Deno.inspect(keys.clean(thrown), { strAbbreviateSize: 1e6 });
    assert(!told.includes("lin_ada"), told.slice(0, 200));
  }
});

Deno.test("cleanData() hides a key that is like a word in texts, and leaves names, types and addresses", () => {
  const result = {
    content: [
      { type: "text", text: "a WORD", annotations: { audience: ["user"] } },
      { type: "image", data: "V09SRCBjb250ZW50", mimeType: "image/png" },
      {
        type: "resource",
        resource: { uri: "note://test", blob: "dGVzdA==", mimeType: "a/text" },
      },
    ],
    structuredContent: { test: "a WORD", year: 2026, "WORD s": ["WORD"] },
    requestedSchema: {
      type: "object",
      properties: { test: { type: "string", title: "a WORD", enum: ["test"] } },
      required: ["test"],
    },
    isError: true,
    _meta: { "io.modelcontextprotocol/x": "a WORD" },
  };
  const words = "test text content structuredContent isError _meta type " +
    "annotations audience user image image/png mimeType resource blob 2026 " +
    "object requestedSchema string required note://test additionalProperties";
  for (const word of words.split(" ")) {
    const fill = (hidden: string) =>
      JSON.parse(
        JSON.stringify(result)
          .replaceAll("a WORD", `a ${hidden}`)
          .replace('["WORD"]', `["${hidden}"]`),
      );
    assert.deepEqual(given(word).cleanData(fill(word)), fill("(hidden)"), word);
  }
  const key = "sk_9_word";
  assert.deepEqual(
    given(key).cleanData({ type: key, uri: `x:${key}`, [key]: [key] }),
    { type: "(hidden)", uri: "x:(hidden)", "(hidden)": ["(hidden)"] },
  );
});

Deno.test("clean() leaves the kind of an error whose name has a key that is like a word", () => {
  const thrown = given("Error").clean(new TypeError("an Error")) as Error;
  assert.equal(`${thrown}`, "TypeError: an (hidden)");
});

Deno.test("isKey() takes no member for a key that is like a word", () => {
  const keys = given("test", "sk_9_word");
  assert.ok(keys.isKey("test"));
  assert.ok(!keys.isKey("test", true));
  assert.ok(keys.isKey("sk_9_word", true));
});

Deno.test("cleanData() hides a key that is a number", () => {
  const keys = given("8675309112233");
  assert.deepEqual(keys.cleanData({ sent: 8675309112233, other: 1 }), {
    sent: "(hidden)",
    other: 1,
  });
});

Deno.test("a source with very many tokens takes no other source's key from what is hidden", () => {
  GivenKeys.hideOwn("crm https://crm.test", "crm-key-4711");
  const token = "5a7ea13d-00c1-4b02-9a77-51b0f3c8d2e4";
  GivenKeys.hideOwnToken("shop https://shop.test", token, 3600);
  for (let nth = 0; nth < 1000; nth++) {
    GivenKeys.hideOwnToken("evil", crypto.randomUUID(), 3600);
  }
  const told = `crm-key-4711 ${token}`;
  assert.equal(given().hide(told), "(hidden) (hidden)");
});

Deno.test("a token of httpApi() that is like a word is hidden by its source alone", () => {
  const hides = (token: string, by = given()) => {
    GivenKeys.hideOwnToken("source", token, 3600);
    return by.hide(token) === "(hidden)";
  };
  const words = "content amount structuredContent externalReferenceIdOfOrder " +
    "shipping-address-of-the-order invoice_2026-11 86753091122334455";
  for (const word of words.split(" ")) {
    assert(!hides(word), word);
    assert(hides(word, new GivenKeys("source")), word);
    assert(!new GivenKeys("other").isKey(word), word);
  }
  const sentence = "your order has been sent to the address of the invoice";
  assert(!hides(sentence));
  const tokens = `2YotnFZFEjr1zCsicMWpAA 1d9f0c2ab7e64f5a9b3c ${
    "ey".repeat(20)
  }.e30.x_-Y 09f2c1d4-8b3e-4a6d-b5f7-0c1e2a3b4d5f`;
  for (const token of tokens.split(" ")) assert(hides(token), token);
});

Deno.test("hideStart() reads little of a long text, and hides a key that the end of the beginning divides", () => {
  const keys = given("lin_ada_1234");
  let read = 0;
  const start = (text: string, most: number) =>
    keys.hideStart(text, most, (it) => (read = it.length, it));
  const most = 100;
  for (const before of [0, 80, 95, 99, 100, 50_090, 50_095, 50_100]) {
    const text = `${"x".repeat(before)}lin_ada_1234${"y".repeat(10_000_000)}`;
    const shown = start(text, most);
    const all = `${"x".repeat(before)}(hidden)${"y".repeat(100)}`;
    assert(all.startsWith(shown), shown);
    assert(shown.length <= most && shown.length > most - 5, shown);
    assert(read < 60_000);
  }
  // Keys alone, of which the last one that is read is half a key.
  assert.doesNotMatch(start("lin_ada_1234".repeat(9000), most), /lin|ada|1234/);
  const key = "Zk93".repeat(1250);
  assert.doesNotMatch(given(key).hideStart(key.repeat(20), 1000), /Zk93/);
  assert.equal(start("lin_ada_1234", 5), "(hidd");
});
