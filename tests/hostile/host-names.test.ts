import { expect, test } from "bun:test";
import { hostRule } from "../../src/routes/http/gate.ts";

test.each([
  {
    bound: "127.0.0.1",
    ours: ["127.0.0.1", "127.0.0.1:1", "localhost:65535", "LocalHost", "[::1]", "[::1]:80"],
  },
  { bound: "::1", ours: ["[::1]", "[::1]:9891", "localhost"] },
  { bound: "fe80::1", ours: ["[fe80::1]", "[FE80::1]:9891"] },
  { bound: "box.lan", ours: ["box.lan:9891", "BOX.LAN"] },
  { bound: "0.0.0.0", ours: ["192.168.1.5:9891", "10.0.0.1", "[fe80::1]:9891", "localhost"] },
  { bound: "::", ours: ["[2001:db8::1]", "192.168.1.5"] },
])("a listener on $bound is reached under its own names", ({ bound, ours }) => {
  const allows = hostRule(bound);
  expect(ours.filter((host) => !allows(host))).toEqual([]);
});

test.each(["127.0.0.1", "::1", "fe80::1", "box.lan", "0.0.0.0", "::"])(
  "a listener on %s is no other's, whatever a name is made to lead to",
  (bound) => {
    const allows = hostRule(bound);
    const foreign = [
      "",
      ":",
      ":80",
      "evil.example",
      "localhost.evil.example",
      "evil.localhost",
      "localhost.",
      "127.0.0.1.",
      "127.0.0.1.evil.example",
      "127.0.0.1:80:80",
      "127.0.0.1:",
      "127.0.0.1:a",
      "user@127.0.0.1",
      "127.0.0.1@evil",
      "127.1",
      "2130706433",
      "0x7f000001",
      "[::1",
      "::1",
      "[::1].evil",
      "1.2.3.4.nip.io",
      "a, 127.0.0.1",
    ];
    expect(foreign.filter((host) => allows(host))).toEqual([]);
  },
);
