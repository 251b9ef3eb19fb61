import assert from "node:assert/strict";
import { isService } from "../../src/process/service.ts";

const person = { pid: 500, ppid: 400, terminal: false };

Deno.test("isService() knows whom systemd started, and who merely inherited its word", () => {
  assert(isService({ ...person, systemdPid: "500" }));
  // Started by `deno task`.
  assert(isService({ ...person, systemdPid: "400" }));
  assert(!isService({ ...person, systemdPid: "300" }));
  assert(!isService(person));
});

Deno.test("isService() knows the first process of a container, and no orphan", () => {
  assert(isService({ ...person, pid: 1, ppid: 0 }));
  // Started in Deno's image, whose first process is an init.
  assert(isService({ ...person, pid: 8, ppid: 1, image: "1" }));
  // Started by a person in it.
  assert(!isService({ ...person, image: "1" }));
  // Left in the background by a shell that has ended.
  assert(!isService({ ...person, ppid: 1 }));
});

Deno.test("isService() takes nothing that a person looks at for a service", () => {
  assert(!isService({ pid: 1, ppid: 0, terminal: true }));
  assert(!isService({ pid: 8, ppid: 1, image: "1", terminal: true }));
  assert(!isService({ ...person, systemdPid: "500", terminal: true }));
});
