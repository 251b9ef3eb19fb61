import assert from "node:assert/strict";
import {
  isInNetwork,
  parseAddress,
  parseNetwork,
  printAddress,
} from "../../../src/core/net/address.ts";

for (
  const [written, meant] of [
    ["2001:db8::1", "2001:db8:0:0:0:0:0:1"],
    ["2001:DB8::", "2001:db8:0:0:0:0:0:0"],
    ["::", "0:0:0:0:0:0:0:0"],
    ["::1", "0:0:0:0:0:0:0:1"],
    ["1::2:3", "1:0:0:0:0:0:2:3"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
    ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"],
    ["fe80::1%eth0", "fe80:0:0:0:0:0:0:1"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0:0:0:c000:201"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:c000:0201", "192.0.2.1"],
    ["::1:ffff:c000:201", "0:0:0:0:1:ffff:c000:201"],
    ["0.10.200.255", "0.10.200.255"],
  ]
) {
  Deno.test(`parseAddress() reads ${written} as ${meant}`, () => {
    const address = parseAddress(written);
    assert(address);
    assert.equal(printAddress(address), meant);
  });
}

for (
  const text of [
    "",
    "x",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "1.2.3.0x4",
    "1.2.3.",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4::5:6:7:8",
    "12345::",
    "g::",
    "::1.2.3.256",
    "1.2.3.4::",
  ]
) {
  Deno.test(`parseAddress() refuses ${text || "nothing"}`, () => {
    assert.equal(parseAddress(text), undefined);
  });
}

for (
  const [network, inside, outside] of [
    ["10.0.0.0/8", "10.255.255.255", "11.0.0.0"],
    ["0.0.0.0/0", "255.255.255.255", "::1"],
    ["192.0.2.7", "192.0.2.7", "192.0.2.6"],
    ["2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"],
    ["::/0", "ffff::", "1.2.3.4"],
    ["::1/128", "::1", "::2"],
    ["::ffff:10.0.0.0/104", "10.1.2.3", "11.0.0.0"],
  ]
) {
  Deno.test(`isInNetwork() finds ${inside} in ${network}, and not ${outside}`, () => {
    const range = parseNetwork(network)!;
    assert.equal(isInNetwork(parseAddress(inside)!, range), true);
    assert.equal(isInNetwork(parseAddress(outside)!, range), false);
  });
}

for (
  const text of [
    "10.0.0.0/33",
    "::/129",
    "::ffff:10.0.0.0/95",
    "10.0.0.0/8/8",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "10.0.0.0/1e1",
    "10.0.0.0/0008",
    "x/8",
  ]
) {
  Deno.test(`parseNetwork() refuses ${text}`, () => {
    assert.equal(parseNetwork(text), undefined);
  });
}
