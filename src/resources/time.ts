import { resource } from "../mod.ts";

const zones = () => ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** A family of resources, whose URI variables are typed. */
export default resource({
  uri: "time://{+zone}",
  name: "time",
  title: "Time",
  description: "What time it is in a time zone, such as time://Europe/Paris.",
  mimeType: "text/plain",
  complete: {
    zone: (text) =>
      zones().filter((zone) => zone.toLowerCase().includes(text.toLowerCase())),
  },
  read({ zone }) {
    if (!zones().includes(zone)) return undefined;
    return new Date().toLocaleString("en-GB", {
      timeZone: zone,
      dateStyle: "full",
      timeStyle: "long",
    });
  },
});
