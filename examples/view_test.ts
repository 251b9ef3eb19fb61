import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { daylight, sunOfDay } from "./view.ts";

const london = { latitude: 51.5, longitude: -0.13, timeZone: "Europe/London" };

Deno.test("daylight gives the model two days, and its view all of them", async () => {
  await using server = await testServer({ tools: [daylight] });
  const { html } = await server.view(daylight);
  assert.match(html, /ui\/initialize/);
  const { structured, text, meta } = await server.call(daylight, {
    place: "London",
    ...london,
  });
  assert.equal(structured.longest.date.slice(0, 7), "2026-06");
  assert.equal(structured.shortest.date.slice(0, 7), "2026-12");
  assert.match(text, /^In London the sun is up for 4\d\d minutes on 2026-12/);
  const days = meta.days as number[][];
  assert.equal(days.length, 365);
  // 21 June 2026, by the almanac: 04:43 to 21:21.
  const [minutes, rise, set] = days[171];
  assert.ok(Math.abs(minutes - 998) <= 2, `${minutes}`);
  assert.ok(Math.abs(rise - 283) <= 2, `${rise}`);
  assert.ok(Math.abs(set - 1281) <= 2, `${set}`);
});

Deno.test("sun_of_day knows days without sunset, and what is no time zone", async () => {
  await using server = await testServer({ tools: [sunOfDay] });
  const north = { latitude: 69.65, longitude: 18.96, date: "2026-06-21" };
  assert.deepEqual((await server.call(sunOfDay, north)).structured, {
    minutes: 1440,
    height: 44,
  });
  const noon = { ...london, date: "2026-12-21" };
  assert.match(
    (await server.call(sunOfDay, noon)).structured.rise!,
    /^08:0\d$/,
  );
  const { isError, text } = await server.call(sunOfDay, {
    ...noon,
    timeZone: "Middle-earth",
  });
  assert.equal(isError, true);
  assert.match(text, /Middle-earth is no time zone/);
});

Deno.test("sun_of_day is for the view alone", async () => {
  await using server = await testServer({ tools: [daylight, sunOfDay] });
  const { tools } = await server.list();
  const [, { _meta }] = tools;
  assert.deepEqual((_meta?.ui as Record<string, unknown>).visibility, ["app"]);
});
