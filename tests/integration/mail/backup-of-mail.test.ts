import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createBackup } from "../../../src/services/backup/create.ts";
import { openMailRoot } from "../../../src/services/mail/filesystem/root.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { sentMail } from "../../support/late-mail.ts";
import { mailRootDeps } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";
import { until } from "../../support/until.ts";

/** Unpacks the place `mailbox` of the archive, and reads it as another machine does. */
async function listed(archive: string, folder: string, mailbox: { address: string; principalId: string }) {
  mkdirSync(folder);
  expect(await Bun.spawn(["tar", "-xf", archive, "-C", folder]).exited).toBe(0);
  const root = openMailRoot(mailRootDeps({ system: { clock: createFakeClock() } }), join(folder, "mailbox"));
  const restored = root.openMailbox(mailbox);
  const { messages } = await restored.list({ ...everything, includeBody: true });
  restored.close();
  root.close();
  return messages.map(({ subject, body_text }) => [subject, body_text]).sort();
}

test("a backup has the text of each message that its index names, whenever the file is written", async () => {
  using has = await sentMail();
  const { fixture, clock, ben } = has;
  await has.ada.send({ ...draft("ben", "two"), body: "second" });
  expect(existsSync(has.file)).toBe(false);
  const output = fixture.scratch.path("backup.tar");
  await createBackup(fixture.deps, {
    output,
    manifest: {
      ...{ schema_version: 1, svc_version: "0", created_at_utc: "2026-01-01T00:00:00.000+00:00" },
      ...{ home: fixture.scratch.path("home"), with_secrets: true },
      places: [{ name: "mailbox", kind: "mailbox", path: fixture.path }],
    },
    signal: new AbortController().signal,
    onProgress: (done) => {
      if (done === 0) fixture.putOnDisk();
    },
  });
  await clock.advance(1000);
  await until("the files to be on disk", () => has.waiting().length === 0);
  expect(await listed(output, fixture.scratch.path("restored"), ben)).toEqual([
    ["one", has.mail.body_text],
    ["two", "second"],
  ]);
});
