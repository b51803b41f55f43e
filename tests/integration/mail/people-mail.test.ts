import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { RegistryRecord } from "../../../src/protocol/files.ts";
import { createPeopleMail } from "../../../src/services/attention/people-mail.ts";
import type { Mailbox } from "../../../src/services/mail/mailbox.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";

const send = (from: Mailbox, to: string, subject: string) =>
  from.send({
    to: [`${to}@svc.localhost`],
    cc: [],
    subject,
    body: "BODY",
    attachments: [],
    notifyBlock: null,
    notifyAuth: null,
  });

test("unread mail of people and of the operator, with the agent that wrote it, until it is read", async () => {
  using fixture = createMailRootFixture();
  const { registrations } = fixture.root;
  registrations.register({
    address: "ann@svc.localhost",
    principalId: "SVC-ann",
    role: "person",
    mode: "safe",
  });
  const worker = fixture.mailbox("worker");
  const other = fixture.mailbox("other");
  await send(worker, "ann", "done");
  await send(other, "ann", "and me");
  await send(other, "worker", "of agents");
  const note = await worker.post({
    subject: "look",
    body: "",
    attachments: [],
    replyPolicy: "operator_mailbox" as const,
    notifyBlock: null,
    notifyAuth: null,
  });
  await worker.reply(note.message_ref, {
    body: "seen",
    attachments: [],
    notifyBlock: null,
    notifyAuth: null,
  });

  const record = {
    agent_id: "id-worker",
    agent_name: "worker",
    mailbox: { address: "worker@svc.localhost", filesystem_root: fixture.path },
  } as RegistryRecord;
  // The same folder by another path, and folders that are not there or cannot be used.
  const linked = fixture.scratch.path("linked");
  symlinkSync(fixture.path, linked);
  const faults: string[] = [];
  const people = createPeopleMail({
    files: fixture.deps.files,
    otherRoots: () => [linked, fixture.scratch.path("absent"), dirname(fixture.path)],
    records: () => [record],
    openRoot: () => fixture.reopen(),
    onError: (what) => faults.push(what),
  });
  const listed = async () =>
    (await people.unread())
      .map(({ address, subject, from, agent }) => [address, subject, from, agent?.name ?? null])
      .sort();
  const operator = ["SVC-operator@svc.localhost", "Re: look", "worker@svc.localhost", "worker"];
  const fromOther = ["ann@svc.localhost", "and me", "other@svc.localhost", null];
  expect(await listed()).toEqual([
    operator,
    fromOther,
    ["ann@svc.localhost", "done", "worker@svc.localhost", "worker"],
  ]);
  const done = (await people.unread()).find(({ subject }) => subject === "done");
  expect(JSON.stringify(done)).not.toContain("BODY");

  const ann = fixture.root.openMailbox({ address: "ann@svc.localhost", principalId: "SVC-ann" });
  await ann.peek(done?.messageRef ?? "");
  expect(await listed()).toHaveLength(3);
  await ann.read(done?.messageRef ?? "");
  expect(await listed()).toEqual([operator, fromOther]);
  ann.close();
});

test("a folder that cannot be opened is reported, and the others are read", async () => {
  using fixture = createMailRootFixture();
  fixture.root.registrations.register({
    address: "ann@svc.localhost",
    principalId: "SVC-ann",
    role: "person",
    mode: "safe",
  });
  await send(fixture.mailbox("worker"), "ann", "done");
  const broken = fixture.scratch.path("broken");
  mkdirSync(broken);
  writeFileSync(`${broken}/index.sqlite`, "");
  const faults: string[] = [];
  const people = createPeopleMail({
    files: fixture.deps.files,
    otherRoots: () => [broken, fixture.path],
    records: () => [],
    openRoot(root) {
      if (root === fixture.path) return fixture.reopen();
      throw new Error("not ours");
    },
    onError: (what) => faults.push(what),
  });
  expect((await people.unread()).map(({ subject }) => subject)).toEqual(["done"]);
  expect(faults).toEqual([`mail of people in ${broken}: not ours`]);
});
