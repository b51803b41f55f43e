import { describe, expect, test } from "bun:test";
import type { RegistrationRow } from "../../../src/db/mailbox/catalog.ts";
import type { MailEnvelope } from "../../../src/protocol/mail-file.ts";
import {
  type EvidenceFacts,
  planDelivered,
} from "../../../src/services/mail/filesystem/repair/repair-index.ts";

const principal = (name: string) => ({ principal_id: `SVC-${name}`, address: `${name}@svc.localhost` });
const envelope: MailEnvelope = {
  protocol_version: 3,
  message_id: `msg-20261121T100000Z-${"a".repeat(32)}`,
  thread_id: `msg-20261121T100000Z-${"a".repeat(32)}`,
  in_reply_to: null,
  references: [],
  created_at_utc: "2026-11-21T10:00:00.500Z",
  from: principal("ann"),
  to: [principal("bob")],
  cc: [],
  reply_to: [],
  subject: "hello",
  attachments: [],
  headers: {},
  notify_block: null,
  notify_auth: null,
};

const registration = (name: string, change: Partial<RegistrationRow> = {}): RegistrationRow => ({
  registrationId: `reg-${name}`,
  address: `${name}@svc.localhost`,
  ownerPrincipalId: `SVC-${name}`,
  status: "active",
  mailboxKind: "in_root",
  mailboxPath: `mailboxes/${name}@svc.localhost`,
  mailboxEntryPath: `mailboxes/${name}@svc.localhost`,
  displayName: null,
  manifestPathHint: null,
  role: null,
  createdAtUtc: "2026-11-20T10:00:00.000Z",
  deactivatedAtUtc: null,
  replacedByRegistrationId: null,
  ...change,
});

const sentAndReceived = ["reg-ann sent", "reg-bob inbox"];

describe("who got a message that the index does not know", () => {
  const cases: { id: string; given: Partial<EvidenceFacts>; want: string[] | null }[] = [
    { id: "nobody, when nothing names it and the index is whole", given: {}, want: null },
    { id: "all parties, when the index is lost", given: { catalogLost: true }, want: sentAndReceived },
    {
      id: "who holds it, and the party that has not looked since",
      given: { holders: ["reg-ann"] },
      want: sentAndReceived,
    },
    {
      id: "not the party whose mailbox knows newer mail: it dropped this one",
      given: { holders: ["reg-ann"], newestKnown: new Map([["reg-bob", "2026-11-21T10:00:01.000Z"]]) },
      want: ["reg-ann sent"],
    },
    {
      id: "not the successor of the party",
      given: { catalogLost: true, registrations: [registration("bob", { ownerPrincipalId: "SVC-eve" })] },
      want: [],
    },
    {
      id: "the party whose registration was lost, so that nobody knows its owner",
      given: { catalogLost: true, registrations: [registration("bob", { ownerPrincipalId: "" })] },
      want: ["reg-bob inbox"],
    },
    {
      id: "not a mailbox that was put aside, unless it holds the message",
      given: { catalogLost: true, registrations: [registration("bob", { status: "stashed" })] },
      want: [],
    },
    {
      id: "who writes to himself finds it once, in the inbox",
      given: {
        catalogLost: true,
        envelope: { ...envelope, to: [principal("ann")] },
        registrations: [registration("ann")],
      },
      want: ["reg-ann inbox"],
    },
  ];
  test.each(cases)("$id", ({ given, want }) => {
    const facts: EvidenceFacts = {
      envelope,
      holders: [],
      registrations: [registration("ann"), registration("bob")],
      newestKnown: new Map(),
      catalogLost: false,
      ...given,
    };
    const plan = planDelivered(facts);
    const told = plan?.projections.map((one) => `${one.registrationId} ${one.folder}`) ?? null;
    expect(told).toEqual(want);
  });
});
