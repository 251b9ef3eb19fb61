import assert from "node:assert/strict";
import {
  resultInWords,
  stateInWords,
  stepsInWords,
} from "../../../src/features/work/own_tasks.ts";
import type { Step } from "../../../src/features/work/steps.ts";

const NOW = 1_790_000_000;

function stepOf(id: string, more: Partial<Step> = {}): Step {
  return {
    id,
    number: 1,
    version: 1,
    isAlone: true,
    state: "kept",
    startedAt: NOW - 100,
    ...more,
  };
}

Deno.test("stateInWords() tells a question before a sleep, and a failed tool from one that went well", () => {
  const status = "working" as const;
  const sleepsUntil = NOW + 60;
  assert.deepEqual(stateInWords({ status, sleepsUntil }, undefined, NOW), {
    state: "sleeping",
    until: sleepsUntil,
  });
  const told = (
    known: Parameters<typeof stateInWords>[0],
    asked?: "person" | "others",
  ) => stateInWords(known, asked, NOW).state;
  assert.equal(told({ status, sleepsUntil }, "person"), "waiting");
  assert.equal(told({ status, sleepsUntil }, "others"), "approving");
  const asking = (...methods: string[]) => ({
    status: "input_required" as const,
    sleepsUntil,
    inputRequests: Object.fromEntries(
      methods.map((method) => [method, { method, params: {} }]),
    ),
  });
  assert.equal(told(asking("roots/list")), "asking");
  assert.equal(told(asking("roots/list", "elicitation/create")), "waiting");
  assert.equal(told({ status, sleepsUntil, waitsFor: "its turn" }), "held");
  assert.equal(told({ status, waitsFor: "its turn" }), "held");
  assert.equal(told({ status, sleepsUntil: NOW }), "running");
  assert.equal(told({ status }), "running");
  assert.equal(told({ status: "completed" }), "done");
  assert.equal(told({ status: "completed", isError: true }), "failed");
  const refused = { isError: true, isRefused: true } as const;
  assert.equal(told({ status: "completed", ...refused }), "refused");
  assert.equal(told({ status: "cancelled" }), "cancelled");
});

Deno.test("stepsInWords() makes one line of a wait for a word from outside", () => {
  const open = stepOf("step:wait pay: open");
  const time = stepOf("sleep:wait pay: time", { until: NOW + 60 });
  const end = stepOf("step:wait pay: end", { startedAt: NOW - 5 });
  const working = { status: "working" } as const;
  const told = (...steps: Step[]) =>
    stepsInWords(steps, working, false, NOW)
      .map(({ name, state, at }) => [name, state, at - NOW]);
  assert.deepEqual(told(open, time), [["pay", "awaiting", 60]]);
  assert.deepEqual(told(open, time, end), [["pay", "waited", -5]]);
  assert.deepEqual(told(open), [["wait pay: open", "kept", -100]]);
});

Deno.test("stepsInWords() gives the words of a tool for a failure, and those of no other error", () => {
  const said = (name: string) =>
    stepsInWords(
      [stepOf("step:a", {
        state: "failed",
        error: { name, message: "of an error" },
      })],
      { status: "failed" },
      false,
      NOW,
    )[0].said;
  assert.equal(said("ToolError"), "of an error");
  assert.equal(said("TypeError"), undefined);
});

Deno.test("stepsInWords() says of a task that is over what it left", () => {
  const steps = [
    stepOf("step:a", { state: "begun" }),
    stepOf("step:b", { state: "waiting", attempts: 2, until: NOW + 60 }),
    stepOf("sleep:c", { until: NOW + 60 }),
    // An end in milliseconds, in the second of the page.
    stepOf("sleep:d", { until: NOW + 0.6 }),
    stepOf("sleep:wait e: time", { until: NOW + 60 }),
    stepOf("ask:f", { state: "begun" }),
  ];
  const told = (status: "working" | "cancelled") =>
    stepsInWords(steps, { status }, false, NOW).map(({ state }) => state);
  assert.deepEqual(told("working"), [
    "running",
    "tried",
    "sleeping",
    "slept",
    "awaiting",
    "asking",
  ]);
  assert.deepEqual(told("cancelled"), [
    "uncertain",
    "failed",
    "left",
    "slept",
    "left",
    "left",
  ]);
});

Deno.test("resultInWords() takes whatever a tool gave for text", () => {
  const told = (outcome: Record<string, unknown>) =>
    resultInWords({ status: "completed", outcome } as never)?.text;
  assert.equal(told({ content: "no list" }), "");
  assert.equal(told({ content: [], structuredContent: 7 }), "7");
  const deep = { a: [[[1]]] };
  assert.equal(told({ content: [], structuredContent: deep }), '{"a":[[[1]]]}');
  assert.equal(told({ content: [null, { type: "text", text: 7 }] }), "[]\n\n");
  const failed = { status: "failed", outcome: { message: "No" } } as const;
  assert.equal(resultInWords(failed)?.text, "No");
  assert.equal(resultInWords({ status: "working" }), undefined);
});

Deno.test("stepsInWords() says that a question is answered before its work goes on", () => {
  const step = stepOf("ask:sure", { state: "begun", key: "sure" });
  const asked = { method: "elicitation/create" as const, params: {} };
  const told = (open: Record<string, typeof asked>, isOnPage = false) =>
    stepsInWords(
      [step],
      { status: "working", inputRequests: open },
      isOnPage,
      NOW,
    )[0].state;
  assert.equal(told({ sure: asked }), "asking");
  assert.equal(told({ other: asked }), "answered");
  assert.equal(told({}), "answered");
  assert.equal(told({}, true), "asking");
});
