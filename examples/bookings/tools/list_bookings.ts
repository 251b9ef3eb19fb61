// Imported: bookings GET /bookings 3def37ce9e8b
import { tool, z } from "@tool-server/tool-server";
import { callApi } from "@tool-server/tool-server/api";
import { bookings } from "../services/bookings.ts";

export default tool({
  name: "list_bookings",
  title: "List my bookings",
  description: "List my bookings.",
  input: z.object({
    city: z.string().optional(),
  }),
  needs: { bookings },
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  },
  run: ({ city }, { needs, signal }) =>
    callApi(needs.bookings, "GET /bookings", { query: { city }, signal }),
});
