import { expect, test } from "bun:test";
import { join } from "node:path";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { everything } from "../../support/mail-story.ts";

const seconds = 3;
const asked = { cleanupStaging: true, quarantineStaging: true };

/** A line of the sending process. */
interface Reported {
  sent?: string;
  to?: string[];
  archived?: string;
  at?: string;
}

test("while others send, read and archive, repairs lose, double and undo nothing", async () => {
  using fixture = createMailRootFixture();
  const names = ["ann", "bob", "cleo", "dora"];
  for (const name of names) await fixture.mailbox(name).list(everything);
  const sender = join(import.meta.dir, "../../support/mail-sender.ts");
  const child = Bun.spawn([process.execPath, sender, fixture.path, String(seconds), "7"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = new Response(child.stdout).text();
  let repairs = 0;
  for (; child.exitCode === null && child.signalCode === null; repairs++) {
    await repairMailRoot(fixture.deps, fixture.path, asked);
  }
  expect(await child.exited).toBe(0);
  const told = (await output)
    .trim()
    .split("\n")
    .map((line): Reported => JSON.parse(line));
  expect(told.length).toBeGreaterThan(0);
  expect(repairs).toBeGreaterThan(0);
  const { findings } = await repairMailRoot(fixture.deps, fixture.path, asked);
  expect(findings).toEqual([]);
  const held = new Map<string, string[]>();
  for (const { address, owner_principal_id: principalId } of fixture.root.registrations.list()) {
    const mailbox = fixture.root.openMailbox({ address, principalId });
    for (const box of ["inbox", "archive"]) {
      for (const { message_ref } of (await mailbox.list({ ...everything, box })).messages) {
        held.set(message_ref, [...(held.get(message_ref) ?? []), `${address} ${box}`]);
      }
    }
    mailbox.close();
  }
  const archived = new Set(told.flatMap((one) => (one.archived ? [`${one.archived} ${one.at}`] : [])));
  for (const { sent, to = [] } of told) {
    if (!sent) continue;
    const places = to.map(
      (address) => `${address} ${archived.has(`${sent} ${address}`) ? "archive" : "inbox"}`,
    );
    expect(held.get(sent)?.toSorted()).toEqual(places.toSorted());
  }
  expect(held.size).toBe(told.filter((one) => one.sent).length);
}, 120_000);
