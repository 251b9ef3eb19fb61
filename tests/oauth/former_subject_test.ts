import assert from "node:assert/strict";
import {
  formerBinding,
  formerLedgerId,
  formerSubject,
  isBoundTo,
  withSubjectOfToday,
} from "../../src/oauth/former_subject.ts";
import {
  issuerId,
  machineSubject,
  subjectOf,
} from "../../src/oauth/subject.ts";

/** Subjects as version 0.2 wrote them, and as they are written today. */
const WRITTEN = [
  ["id.example.com:42", "https://id.example.com", "42"],
  ["id.example.com:f:6c8:jo", "https://id.example.com", "f:6c8:jo"],
  ["id.example.com/t1:42", "https://id.example.com/t1", "42"],
  ["id.example.com:8443/t1:42", "https://id.example.com:8443/t1", "42"],
  ["id.example.com:8443:1:a", "https://id.example.com:8443", "1:a"],
  ["id.example.com::8443:a", "https://id.example.com", "8443:a"],
  ["id.example.com/t%3A1:a", "https://id.example.com/t:1", "a"],
  ["id.example.com/t%253A1:a", "https://id.example.com/t%3A1", "a"],
  ["id.example.com#acme:42", "https://id.example.com?acme", "42"],
  ["localhost:9000:42", "http://localhost:9000", "42"],
  ["[::1]:9000:42", "http://[::1]:9000", "42"],
  ["https://gitlab:42", "https://gitlab", "42"],
  ["https://https:42", "https://https", "42"],
] as const;

for (const [former, id, subject] of WRITTEN) {
  Deno.test(`withSubjectOfToday() reads ${former} as a person of ${id}, whose formerSubject() it is`, () => {
    const today = subjectOf(id, { subject });
    const identity = { subject, name: "Jo" };
    const record = { subject: former, identity, clientId: "app" };
    assert.deepEqual(withSubjectOfToday(record), { ...record, subject: today });
    assert.equal(formerSubject(today), former);
  });
}

Deno.test("withSubjectOfToday() leaves what is written today, machines and people of a provider with a name", () => {
  const names = ["42", "a:b", "id.example.com:42", "//evil.example:42"];
  const ids = ["github", "google", "microsoft", "gitlab", "dev", "client"];
  for (const name of names) {
    for (const id of [...ids, ...WRITTEN.map(([, id]) => id)]) {
      const subject = subjectOf(id, { subject: name });
      const record = { subject, identity: { subject: name } };
      assert.equal(withSubjectOfToday(record), record);
    }
    assert.equal(formerSubject(machineSubject(name)), undefined);
    assert.equal(
      formerSubject(subjectOf("github", { subject: name })),
      undefined,
    );
  }
  const forgotten = { subject: "", identity: { subject: "" } };
  assert.equal(withSubjectOfToday(forgotten), forgotten);
});

for (
  const [why, subject, name] of [
    ["an issuer with a query", "id.example.com?a:42", "42"],
    ["a host in capitals", "ID.example.com:42", "42"],
    ["a usual port", "id.example.com:443:42", "42"],
    ["no host", "not a host:42", "42"],
    ["another name than the identity's", "id.example.com:42", "2"],
    ["no name", "id.example.com:", ""],
  ]
) {
  Deno.test(`withSubjectOfToday() takes a subject with ${why} for no one's`, () => {
    const record = { subject, identity: { subject: name } };
    assert.equal(withSubjectOfToday(record), record);
  });
}

Deno.test("withSubjectOfToday() reads whom an assertion named by the issuer that it came from, and no other", () => {
  const whole = (subject: string, assertedBy?: string) =>
    withSubjectOfToday({ subject, identity: { subject }, assertedBy });
  const named = (subject: string) => ({ subject, identity: { subject } });
  for (
    const [former, assertedBy, today] of [
      [
        "id.example.com:f:6c8:jo",
        "https://id.example.com",
        "https://id.example.com#f:6c8:jo",
      ],
      [
        "id.example.com::8443:a",
        "https://id.example.com/",
        "https://id.example.com#8443:a",
      ],
      [
        "id.example.com#acme:42",
        "https://id.example.com#acme",
        "https://id.example.com?acme#42",
      ],
    ]
  ) {
    assert.deepEqual(whole(former, assertedBy), {
      ...named(today),
      assertedBy,
    });
  }
  for (
    const [subject, assertedBy] of [
      ["id.example.com:8443:a", "https://id.example.com"],
      ["id.example.com:42", "https://id.example.org"],
      ["id.example.com#acme:42", "https://id.example.com"],
      ["id.example.com?a:42", "https://id.example.com?a"],
      ["id.example.com:42", undefined],
    ]
  ) {
    assert.equal(whole(subject!, assertedBy).subject, subject);
  }
});

/** Lists every text of up to three of some characters. */
function textsOf(characters: readonly string[]): string[] {
  const longer = (texts: string[]) =>
    texts.flatMap((text) => characters.map((one) => text + one));
  const one = longer([""]);
  return [...one, ...longer(one), ...longer(longer(one))];
}

Deno.test("no name that an issuer gives makes the former subject of another's person, or a record that is read as theirs", () => {
  const paths = ["", ...textsOf(["a", ":", "/"]).map((text) => `/${text}`)]
    .filter((path) => !path.endsWith("/"));
  const places = ["a", "[::1]", "client", "https", "gitlab"].flatMap((host) =>
    ["", ":1", ":11"].flatMap((port) =>
      [...paths, "/%3A", "/%253a", "/%23", "/%3F"].map((path) => ({
        issuer: `https://${host}${port}${path}`,
      }))
    )
  );
  const ids = [...places, ...places.map((it) => ({ ...it, tenant: "a#1:" }))]
    .map(issuerId);
  ids.push(issuerId({ issuer: "http://[::1]:1" }));
  const names = textsOf(["a", "1", ":", "/", "#"]);
  names.push("//gitlab:a", "//gitlab#a", "https://a#1");
  const seen = new Set<string>();
  for (const name of names) {
    for (const id of ["github", "gitlab", "client"]) {
      seen.add(subjectOf(id, { subject: name }));
    }
  }
  for (const id of ids) {
    for (const subject of names) {
      const today = subjectOf(id, { subject });
      const former = formerSubject(today);
      const isShared = /^https:\/\/(\[::1\]|(client|https|gitlab):\d)/;
      assert.equal(former === undefined, isShared.test(id), id);
      if (former === undefined) continue;
      assert(!seen.has(former), `${former} is two people's`);
      seen.add(former);
      const read = withSubjectOfToday({
        subject: former,
        identity: { subject },
      });
      assert.equal(read.subject, today);
    }
  }
});

Deno.test("isBoundTo() knows what was bound to a person before, and nothing of a JWT's", () => {
  const place = ["https://tools.example.com", "https://tools.example.com/mcp"];
  const bind = (subject: string) => JSON.stringify([...place, subject]);
  const today = bind("https://id.example.com#42");
  assert(isBoundTo(today, today));
  assert(isBoundTo(bind("id.example.com:42"), today));
  assert(!isBoundTo(bind("id.example.com:43"), today));
  assert(!isBoundTo(bind("id.example.com/t1:42"), today));
  assert(!isBoundTo(bind("https://id.example.com#42"), bind("a:42")));
  const jwt = (sub: string) =>
    JSON.stringify(["https://login.example.com", sub]);
  assert(
    !isBoundTo(jwt("id.example.com:42"), jwt("https://id.example.com#42")),
  );
  assert.equal(formerBinding("anonymous"), undefined);
  const more = [...place, "https://id.example.com#42", "more"];
  assert.equal(formerBinding(JSON.stringify(more)), undefined);
});

Deno.test("formerSubject() knows no issuer that is not written as today", () => {
  for (
    const subject of ["https://ID.example.com#42", "https://[::1#42"]
  ) assert.equal(formerSubject(subject), undefined, subject);
});

Deno.test("formerLedgerId() is of assertions alone", () => {
  assert.equal(
    formerLedgerId(JSON.stringify(["https://id.example.com#42", "desk"])),
    JSON.stringify(["id.example.com:42", "desk"]),
  );
  const kept = JSON.stringify(["github:42", "desk"]);
  assert.equal(formerLedgerId(kept), undefined);
  assert.equal(formerLedgerId("client:desk"), undefined);
  assert.equal(formerLedgerId("EGz5VtOH5lUMlMMm9zTWpA"), undefined);
});
