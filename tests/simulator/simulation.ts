/**
 * One simulation from its seed to its end: people and clients act while faults
 * happen; then all is well, and everything must come to its end.
 *
 * @module
 */
import { memoryKv } from "../../src/core/kv/memory_kv.ts";
import { filesBelow } from "../kit/files.ts";
import { BASE_URL } from "../kit/server.ts";
import { App } from "./app.ts";
import type { Simulation } from "./faults.ts";
import { Habits } from "./habits.ts";
import { insist, Person } from "./person.ts";
import { Payments } from "./payments.ts";
import { Random } from "./random.ts";
import { Orders } from "./work.ts";
import { type BrokenPromise, World } from "./world.ts";

/** The time in which everything must end once all is well. */
const END_SECONDS = 1800;
/** The most happenings of that time. */
const MAX_END_STEPS = 2_000_000;

/** The result of a simulation. */
export interface Outcome {
  simulation: Simulation;
  steps: number;
  /** The names of its clients. */
  apps: string[];
  /** The time that passed in it. */
  seconds: number;
  /** The fingerprint of all that has happened. */
  trace: string;
  broken?: BrokenPromise;
}

/** The surroundings of a simulation, for those who look into one. */
export interface Surroundings {
  /** Is told what happens. */
  onStep?(line: string): void;
  /** Replaces the database, by one with a fault of its own. */
  replace?(kv: Deno.Kv): Deno.Kv;
}

/** Runs a simulation. */
export async function simulate(
  simulation: Simulation,
  { onStep, replace = (kv) => kv }: Surroundings = {},
): Promise<Outcome> {
  const { seed, steps, without = [] } = simulation;
  // A module that is loaded on the way takes a time that no seed decides.
  await (warming ??= warmUp());
  const orders: { current?: Orders } = {};
  let payments: Payments | undefined;
  using world = new World(simulation, (world, version) => ({
    tools: [
      ...(orders.current ??= new Orders(world)).tools(version),
      (payments ??= new Payments(world)).tool(),
    ],
    routes: (app, { answer }) => {
      app.post("/paid", async (c) => {
        const { token, data } = await c.req.json();
        return c.json({ isUsed: await answer(token, data) });
      });
    },
  }), replace(memoryKv()));
  const { scheduler } = world;
  scheduler.onStep = onStep;
  const random = new Random(seed, "actors");
  const habits = new Habits(simulation);
  orders.current!.onWebhook = (work, n, token) => {
    void scheduler.as(undefined, async () => {
      const known = work.known[n];
      const quick = world.random.chance(0.5) ? 0.2 : 60;
      const { promise, resolve } = Promise.withResolvers<void>();
      world.webhooks.set(work.id, resolve);
      await Promise.race([
        world.sleep(world.random.between(0, quick)),
        promise,
      ]);
      world.webhooks.delete(work.id);
      for (let tries = 1;; tries++) {
        const data = { from: work.id, tries };
        const { text, status } = await insist(
          world,
          () =>
            world.send(`${BASE_URL}/paid`, {
              method: "POST",
              body: JSON.stringify({ token, data }),
            }),
        );
        if (status !== 200) {
          world.breaks(`/paid was answered ${status} ${text}`);
        }
        if (JSON.parse(text).isUsed) {
          if (known.accepted !== undefined) {
            world.breaks(`a webhook of ${work.id} was accepted twice`);
          }
          known.accepted = { text: JSON.stringify(data), at: world.seconds };
        }
        return;
      }
    });
  };
  const apps: App[] = [];
  const people = 1 + random.below(3);
  const everyone: Person[] = [];
  for (let n = 1; n <= people; n++) {
    const person = new Person(world, `person${n}`);
    everyone.push(person);
    const count = 1 + random.below(3);
    for (let m = 1; m <= count; m++) {
      const name = `app${n}${m}`;
      if (without.includes(name)) continue;
      const own = new Random(seed, name);
      apps.push(
        new App(name, world, person, orders.current!, payments!, habits, own),
      );
    }
  }
  for (const app of apps) {
    const failed = (error: Error) =>
      world.breaks(`${app.name}: ${error.stack}`);
    scheduler.plan(
      0,
      `${app.name} begins`,
      () => void app.live().catch(failed),
    );
  }
  void scheduler.as(undefined, async () => {
    for (;;) {
      await world.sleep(5);
      world.services.crm.checkEnds();
      world.services.other.checkEnds();
      world.checkLeases();
    }
  });
  while (scheduler.steps < steps && !world.broken) await scheduler.step();
  world.heal();
  for (const person of everyone) {
    void scheduler.as(undefined, () => person.leave());
  }
  const end = world.seconds + END_SECONDS;
  const last = scheduler.steps + MAX_END_STEPS;
  const rest = () => apps.flatMap(({ unfinished }) => unfinished);
  while (!world.broken) {
    await scheduler.step();
    if (world.seconds > world.wellSince + 90 && rest().length === 0) break;
    if (world.seconds > end || scheduler.steps > last) {
      world.breaks(`work never ends: ${rest().join(", ")}`);
      break;
    }
  }
  return {
    simulation,
    steps: scheduler.steps,
    apps: apps.map(({ name }) => name),
    seconds: world.seconds,
    trace: scheduler.trace,
    broken: world.broken,
  };
}

let warming: Promise<void> | undefined;

/** Loads every module that is loaded when it is first needed. */
async function warmUp(): Promise<void> {
  for (const folder of ["core", "features", "authoring"]) {
    const { pathname } = new URL(`../../src/${folder}`, import.meta.url);
    for await (const path of filesBelow(pathname)) {
      if (!/\.tsx?$/.test(path)) continue;
      const text = await Deno.readTextFile(path);
      for (const [, name] of text.matchAll(IMPORT)) {
        const isOurs = name.startsWith(".");
        await import(isOurs ? new URL(name, `file://${path}`).href : name);
      }
    }
  }
}

/** An import of a module that is loaded when it is first needed. */
const IMPORT = /\bimport\(\s*"([^"]+)"\s*,?\)/g;
