import { expect } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { faultTest } from "../support/fault-table.ts";

faultTest(
  "archived mail stays archived when mailbox.sqlite is lost under a live gateway, which says so",
  {
    area: "mail",
    fault: "A mailbox.sqlite is removed, also under a live gateway",
    outcome:
      "it is rebuilt from the links in the boxes: archived and moved mail stays there, mail in the inbox counts as unread",
    seen: "a line in gateway.log and an event mailbox_state_rebuilt; a warning where a command finds it first",
    recovery: "by itself",
  },
  async () => {
    await using fixture = createCliFixture();
    const root = join(fixture.folder, "mail");
    const launch = [
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "worker",
      "--mailbox-root",
      root,
      "--json",
    ];
    const { session_root, mailbox_address: address } = (await fixture.mgr(...launch)).json();
    const mail = (...words: string[]) =>
      fixture.mgr("agents", "single", "--agent-name", "worker", "mail", ...words);
    for (const subject of ["done", "open"]) {
      const sent = await mail("post", "--subject", subject, "--body-content", "text");
      expect(sent.exitCode).toBe(0);
    }
    type Listed = { messages: { subject: string; message_ref: string }[] };
    const listed = async (box: string) =>
      ((await mail("list", "--box", box, "--json")).json() as unknown as Listed).messages;
    const done = (await listed("inbox")).find(({ subject }) => subject === "done");
    expect((await mail("archive", "--message-ref", done?.message_ref ?? "")).exitCode).toBe(0);

    for (const ending of ["", "-wal", "-shm"])
      rmSync(join(root, "mailboxes", String(address), `mailbox.sqlite${ending}`), { force: true });
    expect((await listed("inbox")).map(({ subject }) => subject)).toEqual(["open"]);
    expect((await listed("archive")).map(({ subject }) => subject)).toEqual(["done"]);
    const log = readFileSync(join(String(session_root), "gateway/logs/gateway.log"), "utf8");
    expect(log).toContain("mailbox.sqlite of worker@svc.localhost was missing");
    const events = readFileSync(join(String(session_root), "gateway/events.jsonl"), "utf8");
    expect(events).toContain('"kind":"mailbox_state_rebuilt"');
  },
  120_000,
);
