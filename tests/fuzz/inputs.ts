/**
 * Strangers' inputs: nearly right, and right in the wrong place.
 *
 * @module
 */
import fc from "fast-check";

/** Texts with a meaning for some parser. */
const MEANT = [
  "",
  " ",
  "\u0000",
  "\r\nX: y",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "NaN",
  "-0",
  "1e999",
  "../../",
  "%00",
  "%zz",
  "\ud800",
  "\u202e",
  "=?base64?YQ==?=",
  "=?base64?%?=",
  "{x}",
  "{+x}",
  "javascript:alert(1)",
  "https://app.example.com/cb",
  "https://app.example.com:443/cb",
  "http://127.0.0.1:7777/cb",
  "http://[::1]/cb",
  "https://2130706433/cb",
  "cursor://x/cb",
  "::ffff:127.0.0.1",
  "10.0.0.0/8",
  "Bearer x",
  "Basic eDp5",
  "S256",
  "code",
  "2026-07-28",
  "2025-11-25",
  "tools/call",
  "mail://1",
  'for="[::1]:80";by=x, for=1.2.3.4',
  "max-age=99999999999999999999",
  "a".repeat(43),
  "a".repeat(3000),
];

/** Any text, and often one with a meaning. */
export const texts: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...MEANT) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 60 }) },
  { weight: 1, arbitrary: fc.webUrl({ withQueryParameters: true }) },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom(...MEANT), { maxLength: 4 })
      .map((parts) => parts.join("")),
  },
);

/** Texts that a header can hold. */
export const headerTexts: fc.Arbitrary<string> = texts.map((text) =>
  text.replaceAll(/[^\x20-\x7e\x80-\xff]/g, "?").trim()
);

/** JSON of any shape, with names and texts from above. */
export const json: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -1, 0.5, 1e308, 2 ** 53),
    fc.double(),
    texts,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(texts, tie("value"), { maxKeys: 4 }),
  ),
})).value;

/**
 * Makes an object with some of these members right, some missing, some
 * arbitrary.
 */
export function nearly(
  members: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<Record<string, unknown>> {
  const loose = Object.fromEntries(
    Object.entries(members).map(([name, right]) => [
      name,
      fc.oneof(
        { weight: 5, arbitrary: right },
        { weight: 1, arbitrary: json },
        { weight: 1, arbitrary: fc.constant(undefined) },
      ),
    ]),
  );
  return fc.tuple(
    fc.record(loose),
    fc.oneof(
      { weight: 4, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.dictionary(texts, json, { maxKeys: 2 }) },
    ),
  ).map(([right, more]) => ({ ...right, ...more }));
}

/** Does the same for parameters of a form or an address. */
export function nearlyParameters(
  members: Readonly<Record<string, fc.Arbitrary<string>>>,
): fc.Arbitrary<[string, string][]> {
  const pairs = Object.entries(members).map(([name, right]) =>
    fc.oneof(
      { weight: 5, arbitrary: right.map((value) => [[name, value]]) },
      { weight: 1, arbitrary: texts.map((value) => [[name, value]]) },
      { weight: 1, arbitrary: fc.constant([]) },
      {
        weight: 1,
        arbitrary: right.map((value) => [[name, value], [name, ""]]),
      },
    )
  );
  return fc.tuple(
    fc.tuple(...pairs),
    fc.array(fc.tuple(texts, texts), { maxLength: 2 }),
  ).map(([own, more]) => [...own.flat(), ...more] as [string, string][]);
}
