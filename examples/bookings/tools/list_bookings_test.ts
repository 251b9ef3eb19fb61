// Imported: bookings test of GET /bookings 941f36144f30
import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import listBookings from "./list_bookings.ts";

Deno.test("list_bookings asks for GET /bookings", async () => {
  const answer = { ok: true };
  const needs = { bookings: { "GET /bookings?city=tea": answer } };
  await using server = await testServer({ tools: [listBookings] });
  const { text } = await server.call(listBookings, { city: "tea" }, { needs });
  assert.equal(text, JSON.stringify(answer));
});
