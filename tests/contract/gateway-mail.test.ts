import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import type { MailList, MailResult } from "../../src/protocol/mail.ts";
import { mailEndpoints } from "../../src/protocol/mail-endpoints.ts";
import type { Mailbox, MailQuery } from "../../src/services/mail/mailbox.ts";
import { ServiceError } from "../../src/system/errors.ts";
import { createFakeMail } from "../support/fake-mailbox.ts";
import { createFilesystemMail } from "../support/filesystem-mail.ts";
import { createGatewayBundle, type GatewayBundle } from "../support/gateway-bundle.ts";
import { inProcess, json, surfaces } from "../support/http-surface.ts";
import { deliverTo } from "../support/mail-delivery.ts";
import { createScratch } from "../support/scratch.ts";

type Options = Parameters<typeof createGatewayBundle>[0];
const unknown = `filesystem:msg-20260101T000000Z-${"f".repeat(32)}`;
const letter = { to: ["other@svc.localhost"], subject: "hello", body_content: "text" };

const inMemory = () => Object.assign(createFakeMail(), { [Symbol.dispose]: () => {} });
const settings = [
  ...surfaces.map((surface) => ({ ...surface, carrier: "in memory", carry: inMemory })),
  { surface: "in process", open: inProcess, carrier: "on the file system", carry: createFilesystemMail },
];

describe.each(settings)("mail $carrier $surface", ({ open, carry }) => {
  async function setup(options: Options = {}) {
    const mail = carry();
    const bundle = createGatewayBundle({ mail, ...options });
    const http = open((request) => bundle.app.fetch(request));
    const ask = async (verb: string, body?: object) => {
      const init = body ? json({ schema_version: 1, ...body }) : {};
      const reply = await http.request(`/v1/mail/${verb}`, init);
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    };
    const list = async (body: object = {}) => (await ask("list", body)).body as unknown as MailList;
    return {
      bundle,
      ask,
      list,
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
        mail[Symbol.dispose]();
      },
    };
  }

  test("every result names the mailbox it is from", async () => {
    await using at = await setup();
    const identity = {
      schema_version: 1,
      transport: "filesystem",
      principal_id: "SVC-worker",
      address: "worker@svc.localhost",
    };
    expect(await at.ask("status")).toEqual({
      status: 200,
      body: { ...identity, bindings_version: "2026-01-01T00:00:00.000001+00:00" },
    });
    expect((await at.ask("list", {})).body).toEqual({
      ...identity,
      box: "inbox",
      message_count: 0,
      open_count: 0,
      unread_count: 0,
      messages: [],
      next_cursor: null,
    });
    expect((await at.ask("send", letter)).body).toMatchObject({ ...identity, operation: "send" });
  });

  test("a message has all its fields, null where there is nothing, and no token", async () => {
    await using at = await setup();
    const notifyAuth = { scheme: "none" as const, token: "secret" };
    await deliverTo(at.bundle, { notifyAuth });
    const { messages } = await at.list();
    expect(messages).toEqual([
      {
        message_ref: expect.any(String),
        thread_ref: expect.any(String),
        created_at_utc: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/),
        subject: "hello",
        read: false,
        answered: false,
        archived: false,
        box: "inbox",
        unread: true,
        body_preview: "text",
        body_text: null,
        sender: expect.objectContaining({ address: "other@svc.localhost", principal_id: "SVC-other" }),
        to: [expect.objectContaining({ address: "worker@svc.localhost" })],
        cc: [],
        reply_to: [],
        attachments: [],
        notify_block: null,
        notify_auth: { scheme: "none" },
        number: 1,
        attestation: expect.stringMatching(/^(verified|unsigned)$/),
      },
    ]);
  });

  test("the counts are of the messages returned, the body comes when it is asked for", async () => {
    await using at = await setup();
    const { message_ref } = await deliverTo(at.bundle);
    for (const subject of ["second", "third"]) await deliverTo(at.bundle, { subject });
    await at.ask("read", { message_ref });
    const all = await at.list({ include_body: true });
    expect([all.message_count, all.open_count, all.unread_count]).toEqual([3, 3, 2]);
    expect(all.messages.map((one) => [one.subject, one.body_text])).toEqual([
      ["third", "text"],
      ["second", "text"],
      ["hello", "text"],
    ]);
    const page = await at.list({ limit: 1 });
    expect([page.message_count, page.unread_count, page.messages[0]?.subject]).toEqual([1, 1, "third"]);
    expect((await at.list({ limit: 2, cursor: page.next_cursor })).messages[0]?.subject).toBe("second");
    expect((await at.list({ read_state: "read" })).messages).toHaveLength(1);
    expect((await at.list({ since: "2999-01-01T00:00:00Z" })).messages).toEqual([]);
    const since = all.messages[1]?.created_at_utc.replace("+00:00", "Z");
    expect((await at.list({ since })).messages).toHaveLength(2);
    expect((await at.list({ query: "thi" })).messages.map((one) => one.subject)).toEqual(["third"]);
  });

  test("peek leaves a message unread, read marks it, archive files it, move brings it back", async () => {
    await using at = await setup();
    const { message_ref } = await deliverTo(at.bundle);
    const message_refs = [message_ref];
    const flags = (body: unknown) => {
      const { message, messages } = body as MailResult & MailList;
      const { read, unread, archived, box } = message ?? messages[0];
      return { read, unread, archived, box };
    };
    const peeked = await at.ask("peek", { message_ref });
    expect(flags(peeked.body)).toEqual({ read: false, unread: true, archived: false, box: "inbox" });
    expect((peeked.body as unknown as MailResult).message.body_text).toBe("text");
    expect(flags((await at.ask("read", { message_ref })).body)).toMatchObject({ read: true });
    expect(flags((await at.ask("mark", { message_refs, read: false })).body)).toMatchObject({ unread: true });
    const archived = await at.ask("archive", { message_refs });
    expect(archived.body).toMatchObject({ operation: "archive", message_count: 1 });
    expect(flags(archived.body)).toEqual({ read: true, unread: false, archived: true, box: "archive" });
    expect(flags((await at.ask("move", { message_refs, destination_box: "later" })).body)).toEqual({
      read: true,
      unread: false,
      archived: false,
      box: "later",
    });
  });

  test("a message reaches its recipient, and the reply its sender, in one thread", async () => {
    await using at = await setup();
    const sent = (await at.ask("send", letter)).body as unknown as MailResult;
    expect(sent.message).toMatchObject({ box: "sent", read: true });
    const other = at.bundle.mail.open("other@svc.localhost");
    const { message_ref } = await other.peek(sent.message.message_ref);
    const draft = { body: "thanks", attachments: [], notifyBlock: null, notifyAuth: null };
    await other.reply(message_ref, draft);
    const [answer] = (await at.list()).messages;
    expect(answer).toMatchObject({ subject: "Re: hello", thread_ref: sent.message.thread_ref });
    const reply = await at.ask("reply", {
      message_ref: answer?.message_ref,
      body_content: "you are welcome",
    });
    expect(reply.body).toMatchObject({ operation: "reply", message: { subject: "Re: hello" } });
    expect((await at.list()).messages[0]).toMatchObject({ read: true, answered: true });
  });

  test("a notice is taken from the body, or given and written into it", async () => {
    await using at = await setup();
    const send = async (more: object) =>
      ((await at.ask("send", { ...letter, ...more })).body as unknown as MailResult).message;
    const body_content = "see\n\n```svc-notify\nlook\n```";
    expect((await send({ body_content })).notify_block).toEqual({ text: "look", placement: "append" });
    const given = await send({ notify_block: { text: "x".repeat(600), placement: "prepend" } });
    const text = `${"x".repeat(511)}…`;
    expect(given.notify_block).toEqual({ text, placement: "prepend" });
    expect(given.body_text).toBe(`\`\`\`svc-notify\n${text}\n\`\`\`\n\ntext`);
    expect((await send({ notify_auth: { scheme: "none" } })).notify_auth).toEqual({ scheme: "none" });
  });

  test("the operator's note can be replied to unless it says otherwise", async () => {
    await using at = await setup();
    const post = async (reply_policy?: string) => {
      const note = { subject: "note", body_content: "text", ...(reply_policy ? { reply_policy } : {}) };
      const { body } = await at.ask("post", note);
      return (body as unknown as MailResult).message;
    };
    const open = await post();
    expect(open).toMatchObject({ box: "inbox", sender: { address: "SVC-operator@svc.localhost" } });
    const answered = await at.ask("reply", { message_ref: open.message_ref, body_content: "done" });
    expect(answered.status).toBe(200);
    const { message_ref } = await post("none");
    expect((await at.ask("reply", { message_ref, body_content: "done" })).status).toBe(422);
  });

  const refused: { id: string; verb: string; body: object; says: string }[] = [
    {
      id: "a scheme without a verifier",
      verb: "send",
      body: { ...letter, notify_auth: { scheme: "jws" } },
      says: "verifier not yet supported",
    },
    {
      id: "the same in a reply",
      verb: "reply",
      body: { message_ref: unknown, body_content: "x", notify_auth: { scheme: "hmac-sha256" } },
      says: "verifier not yet supported",
    },
    {
      id: "the same in a post",
      verb: "post",
      body: { subject: "x", body_content: "x", notify_auth: { scheme: "shared-token", token: "t" } },
      says: "verifier not yet supported",
    },
    {
      id: "a blank notice",
      verb: "send",
      body: { ...letter, notify_block: { text: " " } },
      says: "must not be blank",
    },
    {
      id: "a notice with NUL",
      verb: "send",
      body: { ...letter, notify_block: { text: "a\0" } },
      says: "NUL",
    },
    {
      id: "a subject of two lines",
      verb: "send",
      body: { ...letter, subject: "a\r\nBcc: x" },
      says: "one line",
    },
    { id: "a blank subject", verb: "send", body: { ...letter, subject: " " }, says: "subject" },
    {
      id: "a subject with NUL",
      verb: "send",
      body: { ...letter, subject: "a\0b" },
      says: "control characters",
    },
    { id: "a body with NUL", verb: "send", body: { ...letter, body_content: "a\0b" }, says: "NUL" },
    { id: "nobody to send to", verb: "send", body: { ...letter, to: [] }, says: "to" },
    {
      id: "an address with path parts",
      verb: "send",
      body: { ...letter, to: ["../../x@svc.localhost"] },
      says: "address",
    },
    {
      id: "an address with NUL",
      verb: "send",
      body: { ...letter, to: ["a\0@svc.localhost"] },
      says: "address",
    },
    {
      id: "an unknown recipient",
      verb: "send",
      body: { ...letter, to: ["nobody@svc.localhost"] },
      says: "no mailbox has the address",
    },
    {
      id: "ten thousand recipients",
      verb: "send",
      body: { ...letter, to: Array.from({ length: 10_000 }, (_, at) => `a${at}@svc.localhost`) },
      says: "256",
    },
    {
      id: "a forged sender",
      verb: "send",
      body: { ...letter, from: "boss@svc.localhost" },
      says: "not a known field",
    },
    {
      id: "another forged sender",
      verb: "send",
      body: { ...letter, sender: { address: "boss@svc.localhost" } },
      says: "not a known field",
    },
    {
      id: "headers of the caller",
      verb: "post",
      body: { subject: "x", body_content: "x", headers: {} },
      says: "not a known field",
    },
    {
      id: "an attachment that is not there",
      verb: "send",
      body: { ...letter, attachments: [{ path: "/nowhere/at/all" }] },
      says: "attachment",
    },
    {
      id: "an attachment by a relative path",
      verb: "send",
      body: { ...letter, attachments: [{ path: "x.txt" }] },
      says: "absolute",
    },
    { id: "an unknown read_state", verb: "list", body: { read_state: "seen" }, says: "unread" },
    { id: "a limit of 0", verb: "list", body: { limit: 0 }, says: "limit" },
    { id: "a limit as text", verb: "list", body: { limit: "5" }, says: "limit" },
    { id: "a since that is no time", verb: "list", body: { since: "yesterday" }, says: "RFC 3339" },
    {
      id: "a since without an offset",
      verb: "list",
      body: { since: "2026-01-01T00:00:00" },
      says: "RFC 3339",
    },
    {
      id: "a mark that changes nothing",
      verb: "mark",
      body: { message_refs: [unknown] },
      says: "at least one",
    },
    {
      id: "archived and unread",
      verb: "mark",
      body: { message_refs: [unknown], archived: true, read: false },
      says: "archived",
    },
    { id: "a box that is a path", verb: "list", body: { box: "../sent" }, says: "box" },
    { id: "a box of dots", verb: "list", body: { box: ".." }, says: "box" },
    { id: "a blank box", verb: "list", body: { box: " " }, says: "box" },
    {
      id: "a box that is a path, to peek",
      verb: "peek",
      body: { message_ref: unknown, box: "../sent" },
      says: "box",
    },
    {
      id: "a box that is a path, to read",
      verb: "read",
      body: { message_ref: unknown, box: "a/b" },
      says: "box",
    },
    {
      id: "a destination that is a path",
      verb: "move",
      body: { message_refs: [unknown], destination_box: "../sent" },
      says: "destination_box",
    },
    { id: "no reference", verb: "archive", body: { message_refs: [] }, says: "message_refs" },
    { id: "a blank reference", verb: "archive", body: { message_refs: [" "] }, says: "blank" },
    {
      id: "a reference twice",
      verb: "archive",
      body: { message_refs: [unknown, unknown] },
      says: "message_refs",
    },
    {
      id: "a reference of another transport",
      verb: "peek",
      body: { message_ref: "jmap:M1" },
      says: "filesystem",
    },
  ];
  test.each(refused)("$id is 422, says so and changes nothing", async ({ verb, body, says }) => {
    await using at = await setup();
    const answer = await at.ask(verb, body);
    expect([answer.status, JSON.stringify(answer.body["detail"])]).toEqual([
      422,
      expect.stringContaining(says),
    ]);
    expect(JSON.stringify(answer.body)).not.toContain("secret");
    for (const box of ["inbox", "sent"]) expect((await at.list({ box })).messages).toEqual([]);
    expect((await at.bundle.mail.open("other@svc.localhost").list(everything)).messages).toEqual([]);
  });

  test("a message that only another mailbox holds is 404", async () => {
    await using at = await setup();
    const other = at.bundle.mail.open("other@svc.localhost");
    const draft = {
      cc: [],
      subject: "private",
      body: "text",
      attachments: [],
      notifyBlock: null,
      notifyAuth: null,
    };
    const { message_ref } = await other.send({ ...draft, to: ["other@svc.localhost"] });
    expect((await at.ask("peek", { message_ref })).status).toBe(404);
    expect((await at.ask("reply", { message_ref, body_content: "x" })).status).toBe(404);
  });

  test("another box than the message's is 422 and nothing is marked", async () => {
    await using at = await setup();
    const { message_ref } = await deliverTo(at.bundle);
    expect((await at.ask("read", { message_ref, box: "archive" })).status).toBe(422);
    expect((await at.list()).unread_count).toBe(1);
  });

  test("unread of an archived message is 422, and of several messages none is changed", async () => {
    await using at = await setup();
    const { message_ref } = await deliverTo(at.bundle);
    const second = await deliverTo(at.bundle, { subject: "second" });
    await at.ask("archive", { message_refs: [message_ref] });
    await at.ask("read", { message_ref: second.message_ref });
    const both = [second.message_ref, message_ref];
    expect((await at.ask("mark", { message_refs: both, read: false })).status).toBe(422);
    expect((await at.list()).unread_count).toBe(0);
    expect((await at.ask("archive", { message_refs: [second.message_ref, unknown] })).status).toBe(404);
    expect((await at.list()).message_count).toBe(1);
  });

  test("an attachment is reported with its size, and a folder is none", async () => {
    using scratch = createScratch();
    await using at = await setup({ workdir: scratch.folder });
    writeFileSync(scratch.path("notes.txt"), "12345");
    mkdirSync(scratch.path("folder"));
    const send = (path: string) => at.ask("send", { ...letter, attachments: [{ path }] });
    const { body } = await send(scratch.path("notes.txt"));
    const [attachment] = (body as unknown as MailResult).message.attachments;
    expect(attachment).toMatchObject({ media_type: "text/plain", size_bytes: 5, label: "notes.txt" });
    expect((await send(scratch.path("folder"))).status).toBe(422);
  });

  const verbs = Object.values(mailEndpoints).map((one) => one.path.replace("/v1/mail/", ""));
  const good: Record<string, object | undefined> = {
    status: undefined,
    list: {},
    peek: { message_ref: unknown },
    read: { message_ref: unknown },
    send: letter,
    post: { subject: "x", body_content: "x" },
    reply: { message_ref: unknown, body_content: "x" },
    mark: { message_refs: [unknown], read: true },
    move: { message_refs: [unknown], destination_box: "x" },
    archive: { message_refs: [unknown] },
  };

  test("what the schema cannot say is reported like what it can, with the field", async () => {
    await using at = await setup();
    const told = async (verb: string, body: object) => (await at.ask(verb, body)).body["detail"];
    expect(await told("send", { ...letter, notify_auth: { scheme: "jws" } })).toEqual([
      { type: "value_error", loc: ["body", "notify_auth", "scheme"], msg: "verifier not yet supported" },
    ]);
    const attachments = [{ path: "/x" }, { path: "y" }];
    for (const [verb, body, loc] of [
      ["send", { ...letter, subject: "a\nb" }, ["body", "subject"]],
      ["send", { ...letter, attachments }, ["body", "attachments", 1, "path"]],
      ["list", { since: "now" }, ["body", "since"]],
      ["mark", { message_refs: [unknown] }, ["body"]],
    ] as const) {
      expect(await told(verb, body)).toEqual([expect.objectContaining({ loc })]);
    }
  });

  test.each(["peek", "read", "reply", "mark", "move", "archive"])(
    "%s of an unknown message is 404",
    async (verb) => {
      await using at = await setup();
      expect((await at.ask(verb, good[verb])).status).toBe(404);
    },
  );

  test.each(verbs)("%s of a session without a mailbox is 422 and says what to do", async (verb) => {
    await using at = await setup({ opener: { obstacle: () => "register one" } });
    expect(await at.ask(verb, good[verb])).toEqual({
      status: 422,
      body: { detail: "this session has no usable mailbox: register one" },
    });
  });

  test.each(verbs)(
    "%s of a listener that is open to others is 503, a bad request before that 422",
    async (verb) => {
      const open = (): Mailbox => {
        throw new Error("must not be asked");
      };
      await using at = await setup({ mailServed: false, opener: { open } });
      expect((await at.ask(verb, good[verb])).status).toBe(503);
      if (verb !== "status") expect((await at.ask(verb, { surprise: 1 })).status).toBe(422);
      const auth = { notify_auth: { scheme: "jws" } };
      if (["send", "post", "reply"].includes(verb))
        expect((await at.ask(verb, { ...good[verb], ...auth })).status).toBe(422);
    },
  );

  test.each(verbs.filter((verb) => verb !== "status"))("%s with a failing carrier is 502", async (verb) => {
    await using at = await setup();
    at.bundle.mail.failWith(new ServiceError("transport_failed", "the disk is full"));
    expect(await at.ask(verb, good[verb])).toEqual({ status: 502, body: { detail: "the disk is full" } });
  });

  test("a carrier that knows neither notes nor notices nor search says so, and the body goes as it is", async () => {
    const fake = createGatewayBundle();
    const capable = fake.mail.open("worker@svc.localhost");
    const mailbox: Mailbox = {
      ...capable,
      capabilities: { post: false, notify: false, search: false, refusesUnknownRecipients: false },
    };
    await using at = await setup({ opener: { open: () => mailbox } });
    expect((await at.ask("post", { subject: "x", body_content: "x" })).status).toBe(422);
    expect((await at.ask("list", { query: "x" })).status).toBe(422);
    for (const notify of [{ notify_block: { text: "x" } }, { notify_auth: { scheme: "none" } }]) {
      expect((await at.ask("send", { ...letter, ...notify })).status).toBe(422);
      expect((await at.ask("reply", { message_ref: unknown, body_content: "x", ...notify })).status).toBe(
        422,
      );
    }
    const body_content = "```svc-notify\nlook\n```";
    const sent = (await at.ask("send", { ...letter, body_content })).body as unknown as MailResult;
    expect(sent.message).toMatchObject({ notify_block: null, body_text: body_content });
    await fake[Symbol.asyncDispose]();
  });

  test("mail neither waits for the execution slot nor takes it", async () => {
    await using at = await setup({ start: false });
    const { queue }: GatewayBundle = at.bundle;
    await queue.accept({ kind: "submit_prompt", payload: { prompt: "long work" } });
    const depth = queue.depth();
    expect((await at.ask("send", letter)).status).toBe(200);
    expect(queue.depth()).toBe(depth);
  });
});

const everything: MailQuery = {
  box: "inbox",
  readState: "any",
  answeredState: "any",
  archived: null,
  limit: null,
  since: null,
  includeBody: false,
  cursor: null,
  query: null,
};
