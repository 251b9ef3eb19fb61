// Imported: bookings test of DELETE /bookings/{id} 4607d13a3a45
import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import cancelBooking from "./cancel_booking.ts";

Deno.test("cancel_booking asks for DELETE /bookings/{id}", async () => {
  const answer = { ok: true };
  const needs = { bookings: { "DELETE /bookings/tea": answer } };
  await using server = await testServer({ tools: [cancelBooking] });
  const { text } = await server.as({ subject: "ada" }).call(cancelBooking, {
    id: "tea",
  }, { needs, approval: "approve" });
  assert.equal(text, JSON.stringify(answer));
});
