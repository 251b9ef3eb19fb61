import assert from "node:assert/strict";
import {
  checkViewDocument,
  withViewScript,
} from "../../../src/mcp/catalogue/view_document.ts";

const page = (body: string) => `<!doctype html><title>a</title>${body}`;

const REFUSED: readonly (readonly [string, string, RegExp, object?])[] = [
  ["a path", "./chart.html", /must be an HTML document .* with \{ type/],
  [
    "a script next to it",
    page(`<script src="./chart.js"></script>`),
    /loads \.\/chart\.js, which no client has/,
  ],
  [
    "a stylesheet next to it",
    page(`<link rel="stylesheet" href=style.css>`),
    /loads style\.css/,
  ],
  ["a picture next to it", page(`<img alt="" src='/a.png'>`), /\/a\.png/],
  [
    "an origin that it does not name",
    page(`<script src="https://cdn.example/a.js"></script>`),
    /its origin into load/,
    { load: ["https://example"] },
  ],
  [
    "a frame among what it loads",
    page(`<iframe src="https://maps.example/"></iframe>`),
    /its origin into frames/,
    { load: ["https://maps.example"] },
  ],
  [
    "another scheme of an origin it names",
    page(`<img src="http://cdn.example/a.png">`),
    /into load/,
    { load: ["https://cdn.example"] },
  ],
  [
    "an origin that it does not name, with a path that holds data:",
    page(`<img src="https://cdn.example/data:a">`),
    /into load/,
  ],
  [
    "a picture next to it, with an origin in its query",
    page(`<img src="/a.png?of=https://cdn.example">`),
    /which no client has/,
    { load: ["https://cdn.example"] },
  ],
  [
    "a frame in capitals among what it loads",
    page(`<IFRAME src="https://maps.example/"></IFRAME>`),
    /its origin into frames/,
    { load: ["https://maps.example"] },
  ],
  ["a word before an origin", page(""), /must be an origin/, {
    load: ["'self' https://cdn.example"],
  }],
  ["an address for an origin", page(""), /must be an origin/, {
    connect: ["https://api.example.com/v1"],
  }],
  ["a word for an origin", page(""), /must be an origin/, { load: ["self"] }],
  ["a directive for an origin", page(""), /must be an origin/, {
    frames: ["https://a; script-src *"],
  }],
  ["a bare host for a domain", page(""), /must be an origin/, {
    domain: "tools.example.com",
  }],
];

for (const [what, html, expected, wishes = {}] of REFUSED) {
  Deno.test(`checkViewDocument() refuses ${what}`, () => {
    assert.throws(() => checkViewDocument(html, wishes), expected);
  });
}

Deno.test("checkViewDocument() takes what is within, and origins that are named", () => {
  checkViewDocument(
    page(`
      <script src="tool-server/view"></script>
      <link rel="stylesheet" href="https://fonts.cdn.example/a.css">
      <img src="data:image/png;base64,AA"><a href="other">A link</a>
      <svg><use href="#mark"></use></svg>
      <!-- <script src="old.js"></script> -->
      <iframe src="https://maps.example:8443/x"></iframe>
      <script>const made = '<img src="' + address + '">';</script>`),
    {
      load: ["https://*.cdn.example"],
      frames: ["https://maps.example:8443"],
      connect: ["wss://live.example.com"],
      domain: "https://tools.example.com",
    },
  );
});

Deno.test("withViewScript() puts the script in its place, alone and without comments", () => {
  const html = withViewScript(
    page(`<script src="tool-server/view"></script><p>$&</p>`),
  );
  assert.match(html, /<script>globalThis\.view=/);
  assert.match(html, /ui\/initialize/);
  assert.match(html, /<p>\$&<\/p>$/);
  assert.doesNotMatch(html, /^\s*(\/\/|\/\*)/m);
  assert.doesNotMatch(html, /tool-server\/view/);
  assert.equal(html.match(/<\/script/g)?.length, 1);
  const [, script] = /<script>(.*)<\/script>/s.exec(html)!;
  // Only comments were removed: it can still be parsed.
  assert.ok(new Function(script));
});

Deno.test("withViewScript() leaves a page alone that has another script", () => {
  const html = page("<script>own()</script>");
  assert.equal(withViewScript(html), html);
});
