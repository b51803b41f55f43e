import { describe, expect, test } from "bun:test";
import type { RegistrationRow } from "../../../../src/db/mailbox/catalog.ts";
import { fromHostMail, toHostMail } from "../../../../src/services/extensions/hosts/host-mail.ts";
import { idBesideForeign } from "../../../../src/services/mail/address.ts";
import type { StoredMessage } from "../../../../src/services/mail/filesystem/delivery/message-file.ts";

const id = (digit: string) => `msg-20261125T100000Z-${digit.repeat(32)}`;
const at = (address: string) => ({ principal_id: `SVC-${address.split("@")[0]}`, address });

const sent: StoredMessage = {
  envelope: {
    protocol_version: 3,
    message_id: id("a"),
    thread_id: id("b"),
    in_reply_to: id("c"),
    references: [id("b"), id("c")],
    created_at_utc: "2026-11-25T10:00:00.000Z",
    from: { ...at("ann@svc.localhost"), display_name: "Ann", manifest_path_hint: "/secret/path" },
    to: [at("bob@build-2"), at("eve@svc.localhost")],
    cc: [at("cyd@build-3"), at("dan@example.org")],
    reply_to: [],
    subject: "Plan",
    attachments: [],
    notify_block: null,
    notify_auth: null,
    headers: { "x-svc-hops": 3, "x-svc-origin": "operator" },
  },
  body: "text",
};
const bob = {
  registrationId: "reg-1",
  address: "bob@svc.localhost",
  ownerPrincipalId: "SVC-bob",
} as RegistrationRow;
const nowMs = Date.UTC(2026, 10, 25, 12);
const received = (change: object = {}, fromHost = "build-1") =>
  fromHostMail(
    { ...sentTo("build-2"), ...change },
    { fromHost, ownHost: "build-2", receivers: new Map([["bob", bob]]), nowMs },
  ).envelope;

function sentTo(host: string) {
  const mail = toHostMail(sent, { ownHost: "build-1", host });
  if (mail === null) throw new Error(`nobody of ${host}`);
  return mail;
}

describe("what goes to another host", () => {
  test("names each mailbox as everybody reads it, and holds no path", () => {
    const mail = sentTo("build-2");
    expect(mail).toMatchObject({ from: { name: "ann", display_name: "Ann" }, deliver_to: ["bob"], hops: 3 });
    expect([...mail.to, ...mail.cc].map(({ address }) => address)).toEqual([
      "bob@build-2",
      "eve@build-1",
      "cyd@build-3",
      "dan@example.org",
    ]);
    expect(JSON.stringify(mail)).not.toContain("/secret/path");
  });

  test("is nothing where no recipient is", () => {
    expect(toHostMail(sent, { ownHost: "build-1", host: "build-9" })).toBeNull();
  });
});

describe("what comes from another host", () => {
  test("is from the host that sent it, whatever it says, and to our mailboxes by their own addresses", () => {
    const envelope = received();
    expect(envelope.from).toEqual({
      principal_id: "ann@build-1",
      address: "ann@build-1",
      display_name: "Ann",
    });
    expect(received({}, "build-7").from.address).toBe("ann@build-7");
    expect(envelope.to).toEqual([
      { principal_id: "SVC-bob", address: "bob@svc.localhost" },
      { principal_id: "eve@build-1", address: "eve@build-1" },
    ]);
  });

  test("keeps its thread and its hops and no other header: it is no note of the operator", () => {
    const envelope = received();
    expect([envelope.message_id, envelope.thread_id, envelope.references]).toEqual([
      id("a"),
      id("b"),
      [id("b"), id("c")],
    ]);
    expect(envelope.headers).toEqual({ "x-svc-hops": 3 });
  });

  test("is never from the future", () => {
    expect(received({ created_at_utc: "9999-01-01T00:00:00Z" }).created_at_utc).toBe(
      "2026-11-25T12:00:00.000Z",
    );
    expect(received({ created_at_utc: "no time" }).created_at_utc).toBe("2026-11-25T12:00:00.000Z");
    expect(received().created_at_utc).toBe("2026-11-25T10:00:00.000Z");
  });
});

test("an id that a third host gave away leads to another one, the same each time", () => {
  const beside = idBesideForeign(id("a"), "build-2");
  expect(beside).toMatch(/^msg-20261125T100000Z-[0-9a-f]{32}$/);
  expect(beside).not.toBe(id("a"));
  expect(idBesideForeign(id("a"), "build-2")).toBe(beside);
  expect(idBesideForeign(id("a"), "build-3")).not.toBe(beside);
});
