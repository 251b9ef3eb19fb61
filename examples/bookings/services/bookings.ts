// Imported: bookings service b9fad85bac38 of bookings from https://bookings.example.com/api
import { account } from "@tool-server/tool-server";

export const bookings = account("bookings", {
  api: "https://bookings.example.com/api",
  title: "Bookings",
  authorize: "https://bookings.example.com/authorize",
  token: "https://bookings.example.com/token",
  scopes: ["bookings"],
});
