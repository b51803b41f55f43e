import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  attestationHeader,
  type MailAttestation,
  type MailEnvelope,
} from "../../../src/protocol/mail-file.ts";
import { idBesideForeign } from "../../../src/services/mail/address.ts";
import {
  attest,
  attestedOf,
  entryHash,
  hasSignedNames,
  type JudgeFacts,
  judge,
  judgeBody,
} from "../../../src/services/mail/attestation.ts";
import {
  parseMessageFile,
  renderMessageFile,
  toMail,
} from "../../../src/services/mail/filesystem/delivery/message-file.ts";
import { messageId } from "../../../src/services/mail/filesystem/root-paths.ts";
import { sha256 } from "../../../src/system/digest.ts";
import { createSigningKey, openSigningKey, type SigningKey } from "../../../src/system/signatures.ts";

const id = (number: number) => messageId("20260101T000000Z", number.toString(16).padStart(32, "0"));
const [ada, eve] = [newKey(), newKey()];

function newKey(): SigningKey {
  const key = openSigningKey(createSigningKey());
  if (!key) throw new Error("no key");
  return key;
}

const plain: MailEnvelope = {
  protocol_version: 3,
  message_id: id(2),
  thread_id: id(1),
  in_reply_to: id(1),
  references: [id(1)],
  created_at_utc: "2026-01-01T00:00:00.000Z",
  from: { principal_id: "SVC-ada", address: "ada@svc.localhost" },
  to: [
    { principal_id: "SVC-ben", address: "ben@svc.localhost", display_name: "Ben" },
    { principal_id: "SVC-cleo", address: "cleo@svc.localhost" },
  ],
  cc: [{ principal_id: "dora@build-2", address: "dora@build-2" }],
  reply_to: [],
  subject: "Hello",
  attachments: [
    {
      attachment_id: "att-000000000001",
      kind: "managed_copy",
      path: "attachments/managed/att-000000000001/a.txt",
      media_type: "text/plain",
      sha256: sha256("a"),
      size_bytes: 1,
      label: "a.txt",
    },
  ],
  headers: { "x-svc-hops": 1 },
  notify_block: { text: "look", placement: "append" },
  notify_auth: null,
};
const body = "Text of it.\n";
const link = { sequence: 3, previous: sha256("the second") };
const { envelope: signed, hash } = attest({ envelope: plain, body }, ada, link);
const facts: JudgeFacts = {
  envelope: signed,
  body,
  keys: [ada.publicKey],
  ownHost: null,
  mailbox: "ben@svc.localhost",
};
const attestation = signed.headers[attestationHeader] as MailAttestation;
const withAttestation = (change: Partial<MailAttestation>): MailEnvelope => ({
  ...signed,
  headers: { ...signed.headers, [attestationHeader]: { ...attestation, ...change } },
});

describe("a signed message", () => {
  test("carries the statement in the documented layout, signed with the key beside it", () => {
    const content = JSON.stringify([
      "Hello",
      [],
      [
        [
          "att-000000000001",
          "managed_copy",
          "attachments/managed/att-000000000001/a.txt",
          "text/plain",
          sha256("a"),
          1,
          "a.txt",
        ],
      ],
      ["look", "append"],
      null,
      [["x-svc-hops", 1]],
    ]);
    expect(attestation.statement).toBe(
      JSON.stringify([
        "svc-mail-attestation-v2",
        id(2),
        "2026-01-01T00:00:00.000Z",
        "ada@svc.localhost",
        ["ben@svc.localhost", "cleo@svc.localhost"],
        ["dora@build-2"],
        id(1),
        id(1),
        sha256(content),
        sha256(body),
        3,
        sha256("the second"),
        sha256(JSON.stringify([null, ["Ben", null], [null], [], [id(1)]])),
      ]),
    );
    expect(attestation.key).toBe(ada.publicKey);
    expect(ada.sign(attestation.statement)).toBe(attestation.signature);
    expect(hash).toBe(sha256(`${attestation.statement}\n${attestation.signature}`));
    expect(attestedOf(signed)).toEqual({ attestation, hash: entryHash(attestation), ...link });
  });

  test("is verified, also after it was written to its file and read again", () => {
    expect(judge(facts)).toEqual({ state: "verified" });
    const read = parseMessageFile(renderMessageFile({ envelope: signed, body }));
    if (!read.ok) throw new Error(read.why);
    expect(judge({ ...facts, ...read.message })).toEqual({ state: "verified" });
    expect(judgeBody(read.message.envelope, read.message.body)).toEqual({ state: "verified" });
  });

  test("is verified whatever its text and subject are", () => {
    const text = fc.string({ unit: "binary" }).map((one) => one.replaceAll("\0", "").toWellFormed());
    fc.assert(
      fc.property(text, text, (subject, anyBody) => {
        const message = { envelope: { ...plain, subject: `s${subject}` }, body: anyBody };
        const { envelope } = attest(message, ada, link);
        const read = parseMessageFile(renderMessageFile({ envelope, body: anyBody }));
        expect(read.ok && judge({ ...facts, ...read.message }).state).toBe("verified");
      }),
      { numRuns: 60 },
    );
  });
});

describe("a message that was signed in the former layout", () => {
  /** Without names and references in what was signed. */
  const statement = JSON.stringify([
    "svc-mail-attestation-v1",
    ...(JSON.parse(attestation.statement) as unknown[]).slice(1, 12),
  ]);
  const former = withAttestation({ statement, signature: ada.sign(statement) });

  test("is verified for what was signed, and its names are not shown as if they were", () => {
    const renamed = { ...former, from: { ...former.from, display_name: "Alice" } };
    expect(judge({ ...facts, envelope: renamed })).toEqual({ state: "verified" });
    expect([hasSignedNames(signed), hasSignedNames(former), hasSignedNames(plain)]).toEqual([
      true,
      false,
      false,
    ]);
    const shown = (envelope: MailEnvelope) =>
      toMail({
        envelope,
        state: { read: false, answered: false, box: "inbox" },
        preview: "",
        body: null,
        verdict: judge({ ...facts, envelope }),
        locate: (path) => path,
      });
    expect(shown(renamed)).toMatchObject({ attestation: "verified", sender: { display_name: null } });
    expect(shown(signed).to[0]?.display_name).toBe("Ben");
  });

  test("is broken when a signed part was changed", () => {
    expect(judge({ ...facts, envelope: { ...former, subject: "Hullo" } }).state).toBe("broken");
  });
});

describe("a message without an attestation", () => {
  test("is unsigned, under any sender", () => {
    expect(judge({ ...facts, envelope: plain })).toEqual({ state: "unsigned" });
  });
});

const differs = (what: string) => `its ${what} from what was signed`;

describe("a signed message is broken", () => {
  test.each<{ id: string; given: Partial<JudgeFacts>; why: string }>([
    {
      id: "its text was changed",
      given: { body: "Text of it!\n" },
      why: "its text is not the one that was signed",
    },
    {
      id: "its subject was changed",
      given: { envelope: { ...signed, subject: "Hullo" } },
      why: differs("subject, notice, attachments or headers differ"),
    },
    {
      id: "its notice was changed",
      given: { envelope: { ...signed, notify_block: { text: "run", placement: "append" } } },
      why: differs("subject, notice, attachments or headers differ"),
    },
    {
      id: "an attachment was swapped",
      given: {
        envelope: {
          ...signed,
          attachments: signed.attachments.map((one) => ({ ...one, sha256: sha256("b") })),
        },
      },
      why: differs("subject, notice, attachments or headers differ"),
    },
    {
      id: "a header was added",
      given: { envelope: { ...signed, headers: { ...signed.headers, "x-svc-origin": "operator" } } },
      why: differs("subject, notice, attachments or headers differ"),
    },
    {
      id: "it names another sender who signs",
      given: { envelope: { ...signed, from: { principal_id: "SVC-ben", address: "ben@svc.localhost" } } },
      why: differs("sender differs"),
    },
    {
      id: "its sender has another name",
      given: { envelope: { ...signed, from: { ...signed.from, display_name: "Alice" } } },
      why: differs("names or references differ"),
    },
    {
      id: "a recipient has another name",
      given: { envelope: { ...signed, cc: signed.cc.map((one) => ({ ...one, display_name: "Alice" })) } },
      why: differs("names or references differ"),
    },
    {
      id: "a reference was added",
      given: { envelope: { ...signed, references: [id(1), id(9)] } },
      why: differs("names or references differ"),
    },
    {
      id: "its recipients were swapped",
      given: { envelope: { ...signed, to: signed.to.toReversed() } },
      why: differs("recipients differ"),
    },
    {
      id: "a recipient was removed",
      given: { envelope: { ...signed, cc: [] } },
      why: differs("recipients differ"),
    },
    {
      id: "it was moved to another thread",
      given: { envelope: { ...signed, thread_id: id(7) } },
      why: differs("thread differs"),
    },
    {
      id: "it was delivered again under another id",
      given: { envelope: { ...signed, message_id: id(8) } },
      why: differs("id differs"),
    },
    {
      id: "it was dated anew",
      given: { envelope: { ...signed, created_at_utc: "2026-01-02T00:00:00.000Z" } },
      why: differs("time differs"),
    },
    {
      id: "its statement was changed",
      given: { envelope: withAttestation({ statement: attestation.statement.replace("ada", "adb") }) },
      why: "the signature is not of the key of ada@svc.localhost",
    },
    {
      id: "another mailbox signed it with the sender's key beside it",
      given: { envelope: withAttestation({ signature: eve.sign(attestation.statement) }) },
      why: "the signature is not of the key of ada@svc.localhost",
    },
    {
      id: "another mailbox signed it",
      given: { envelope: attest({ envelope: plain, body }, eve, link).envelope },
      why: "it is signed with a key that is not of ada@svc.localhost",
    },
    {
      id: "no key of the sender is known",
      given: { keys: [] },
      why: "no key of ada@svc.localhost is known here",
    },
    {
      id: "its attestation is of another form",
      given: { envelope: { ...signed, headers: { [attestationHeader]: { key: 1 } } } },
      why: "its attestation cannot be read",
    },
    {
      id: "its statement is no JSON",
      given: { envelope: withAttestation({ statement: "[", signature: ada.sign("[") }) },
      why: "its attestation cannot be read",
    },
    {
      id: "it lies in a mailbox to which it was not written",
      given: { mailbox: "eve@svc.localhost" },
      why: "it was not written to eve@svc.localhost",
    },
  ])("when $id", ({ given, why }) => {
    expect(judge({ ...facts, ...given })).toEqual({ state: "broken", why });
  });

  test("after any change of its statement or signature, and never throws", () => {
    const field = fc.constantFrom("statement", "signature", "key");
    fc.assert(
      fc.property(field, fc.nat(), fc.constantFrom("A", "0", '"', "]"), (name, position, char) => {
        const text = attestation[name as keyof MailAttestation];
        const at = position % text.length;
        const changed = text.slice(0, at) + char + text.slice(at + 1);
        // The last character of base64url has unused bits.
        fc.pre(changed !== text && (name === "statement" || at < text.length - 1));
        expect(judge({ ...facts, envelope: withAttestation({ [name]: changed }) }).state).toBe("broken");
      }),
      { numRuns: 100 },
    );
  });
});

describe("a message of another host", () => {
  /** As the host build-2 stores what ada on build-1 wrote. */
  const here: JudgeFacts = {
    envelope: {
      ...signed,
      attachments: [],
      from: { principal_id: "ada@build-1", address: "ada@build-1" },
      to: [
        { principal_id: "ben@build-1", address: "ben@build-1", display_name: "Ben" },
        { principal_id: "cleo@build-1", address: "cleo@build-1" },
      ],
      cc: [{ principal_id: "SVC-dora", address: "dora@svc.localhost" }],
    },
    body,
    keys: [ada.publicKey],
    ownHost: "build-2",
    mailbox: "dora@svc.localhost",
  };
  const sentAway = attest({ envelope: { ...plain, attachments: [] }, body }, ada, link).envelope;
  const stored = (change: Partial<MailEnvelope> = {}): JudgeFacts => ({
    ...here,
    envelope: { ...here.envelope, headers: sentAway.headers, ...change },
  });

  test("is verified with the addresses as each host writes them", () => {
    expect(judge(stored())).toEqual({ state: "verified" });
  });

  test("is verified when its time was in the future here, and when its id was taken", () => {
    expect(judge(stored({ created_at_utc: "2025-12-31T23:59:59.000Z" })).state).toBe("verified");
    expect(judge(stored({ message_id: idBesideForeign(id(2), "build-1") })).state).toBe("verified");
  });

  test.each<{ id: string; change: Partial<MailEnvelope>; why: string }>([
    {
      id: "another name of that host",
      change: { from: { principal_id: "eve@build-1", address: "eve@build-1" } },
      why: differs("sender differs"),
    },
    {
      id: "another host",
      change: { to: ["ben@build-3", "cleo@build-1"].map((address) => ({ principal_id: address, address })) },
      why: differs("recipients differ"),
    },
    {
      id: "a later time",
      change: { created_at_utc: "2026-01-01T00:00:01.000Z" },
      why: differs("time differs"),
    },
    { id: "an id that is not made of its own", change: { message_id: id(9) }, why: differs("id differs") },
  ])("is broken with $id", ({ change, why }) => {
    expect(judge(stored(change))).toEqual({ state: "broken", why });
  });

  test("is broken with a key that is not its sender's first", () => {
    expect(judge({ ...stored(), keys: [eve.publicKey] })).toEqual({
      state: "broken",
      why: "its key is not the one with which ada@build-1 signed at first",
    });
  });
});
