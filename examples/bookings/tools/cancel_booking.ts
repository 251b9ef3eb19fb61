// Imported: bookings DELETE /bookings/{id} 46d24c5a8cb6
import { tool, z } from "@tool-server/tool-server";
import { callApi } from "@tool-server/tool-server/api";
import { bookings } from "../services/bookings.ts";

export default tool({
  name: "cancel_booking",
  title: "Cancel a booking",
  description: "Cancel a booking. The room is given away, and not paid back.",
  input: z.object({
    id: z.string(),
  }),
  needs: { bookings },
  // A person approves each call: take this out if they need not.
  approval: {},
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: true,
  },
  run: ({ id }, { needs, signal }) =>
    callApi(needs.bookings, "DELETE /bookings/{id}", { path: { id }, signal }),
});
