import assert from "node:assert/strict";
import {
  idOfSubject,
  isSubjectOfOther,
  issuerId,
  machineSubject,
  subjectOf,
} from "../../../src/core/oauth/subject.ts";

const PRESETS = ["github", "google", "microsoft", "gitlab", "dev"];

/** Lists every text of up to three of some characters. */
function textsOf(characters: readonly string[]): string[] {
  const texts = [""];
  for (const text of texts) {
    if (text.length === 3) break;
    texts.push(...characters.map((character) => text + character));
  }
  return texts;
}

/** Lists issuers that have one host, or one of our own names for a host. */
function issuersOf(host: string): string[] {
  const paths = textsOf(["a", ":", "/"]).map((text) => `/${text}`)
    // A slash at the end is the same issuer without it.
    .filter((path) => !path.endsWith("/"));
  const more = ["/%3A", "/%253a", "/%23", "/%3F", "/tenant-a", "/tenant-b"];
  return ["", ":1", ":11"].flatMap((port) =>
    ["", ...paths, ...more].map((path) => `https://${host}${port}${path}`)
  );
}

Deno.test("subjectOf() gives no two people of all issuers one subject, and idOfSubject() finds whose it is", () => {
  const issuers = ["a", "[::1]", "client", "https", ...PRESETS]
    .flatMap(issuersOf)
    .flatMap((issuer) => [{ issuer }, { issuer, tenant: "a#1" }]);
  const ids = [...PRESETS, ...issuers.map(issuerId)];
  const names = textsOf(["a", "1", ":", "/", "#", "?"]).slice(1);
  names.push("//gitlab:a", "//gitlab#a");
  const seen = new Set<string>(names.map(machineSubject));
  for (const id of ids) {
    for (const name of names) {
      const subject = subjectOf(id, { subject: name });
      assert(!seen.has(subject), `${subject} is two people's`);
      seen.add(subject);
    }
    assert.equal(idOfSubject(subjectOf(id, { subject: "a:1#b" }), ids), id);
  }
});

for (
  const [issuer, name, subject] of [
    ["https://id.example.com", "42", "https://id.example.com#42"],
    ["https://id.example.com", "auth0|5f7", "https://id.example.com#auth0|5f7"],
    ["https://id.example.com", "f:6c8:jo", "https://id.example.com#f:6c8:jo"],
    ["https://id.example.com/t1/", "42", "https://id.example.com/t1#42"],
    ["http://localhost:9000", "42", "http://localhost:9000#42"],
    ["https://id.example.com:8443", "1:a", "https://id.example.com:8443#1:a"],
    ["https://gitlab", "42", "https://gitlab#42"],
    // Spellings of a setting that make no difference.
    ["https://ID.Example.com:443/T1/", "42", "https://id.example.com/T1#42"],
    ["HTTP://LocalHost:80", "42", "http://localhost#42"],
  ]
) {
  Deno.test(`subjectOf() calls ${name} of ${issuer} ${subject}`, () => {
    assert.equal(subjectOf(issuerId({ issuer }), { subject: name }), subject);
  });
}

Deno.test("subjectOf() calls people by the name of a provider that has one, and by an organization", () => {
  assert.equal(subjectOf("github", { subject: "583231" }), "github:583231");
  const id = issuerId({ issuer: "https://id.example.com", tenant: "acme" });
  assert.equal(
    subjectOf(id, { subject: "42" }),
    "https://id.example.com?acme#42",
  );
});

Deno.test("isSubjectOfOther() knows the ids of others with what follows", () => {
  const others = ["https://id.example.com", "github"];
  assert(isSubjectOfOther("https://id.example.com#42", others));
  assert(isSubjectOfOther("github:42", others));
  assert(!isSubjectOfOther("https://id.example.com", others));
  assert(!isSubjectOfOther("https://id.example.com/t1#42", others));
  assert(!isSubjectOfOther("https://id.example.com.au#42", others));
  assert(!isSubjectOfOther("f:6c8:jo", others));
});
