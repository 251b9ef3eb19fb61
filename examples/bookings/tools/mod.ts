import type { Tool } from "@tool-server/tool-server";
import listBookings from "./list_bookings.ts";
import cancelBooking from "./cancel_booking.ts";

/** Every tool, in the order in which clients list them. */
export const tools: Tool[] = [listBookings, cancelBooking];
