import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rebuildCatalog } from "../../src/db/mailbox/rebuild.ts";
import type { MailEnvelope } from "../../src/protocol/mail-file.ts";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { renderMessageFile, toIndexed } from "../../src/services/mail/filesystem/delivery/message-file.ts";
import { initMailRoot, openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { mailRootDeps } from "../support/mail-root.ts";

const words =
  "the build failed after your change to the parser look at its log and say what you find before noon".split(
    " ",
  );
const batch = 1000;
const firstMs = Date.UTC(2026, 0, 1);

/**
 * A mailbox root in which `worker@svc.localhost` has `count` messages, a second apart, of a sender whose own
 * mailbox is no more. Files and rows are what deliveries make, written without waiting for the disk; the
 * mailbox itself has not looked yet. `other@svc.localhost` is there to be written to.
 */
export function makeCorpus(path: string, count: number): void {
  const deps = mailRootDeps();
  initMailRoot(deps, path);
  const root = openMailRoot(deps, path);
  const registered = (name: string) =>
    root.registrations.register({ ...defaultMailbox(name), mode: "safe" }).active_registration_id;
  const worker = registered("worker");
  registered("other");
  const rebuild = rebuildCatalog(root.catalog.store);
  const projections = [{ registrationId: worker, folder: "inbox" }];
  for (let from = 0; from < count; from += batch) {
    const rows = Array.from({ length: Math.min(batch, count - from) }, (_, at) => {
      const message = { envelope: toEnvelope(from + at), body: toBody(from + at) };
      const indexed = toIndexed(message, projections, () => worker);
      const file = join(path, indexed.message.canonicalPath);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(file, renderMessageFile(message), { mode: 0o600 });
      return indexed;
    });
    rebuild.index(rows);
  }
  root.close();
}

function toEnvelope(at: number): MailEnvelope {
  const created = new Date(firstMs + at * 1000).toISOString();
  const stamp = `${created.slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
  const id = `msg-${stamp}-${at.toString(16).padStart(32, "0")}`;
  const principal = (name: string) => {
    const { address, principalId } = defaultMailbox(name);
    return { principal_id: principalId, address };
  };
  return {
    protocol_version: 3,
    message_id: id,
    thread_id: id,
    in_reply_to: null,
    references: [],
    created_at_utc: created,
    from: principal("former"),
    to: [principal("worker")],
    cc: [],
    reply_to: [],
    subject: `message ${at}`,
    attachments: [],
    headers: {},
    notify_block: null,
    notify_auth: null,
  };
}

/** About a kilobyte; every thousandth says `needle`. */
function toBody(at: number): string {
  const text = Array.from({ length: 180 }, (_, index) => words[(at * 7 + index * 3) % words.length]).join(
    " ",
  );
  return at % 1000 === 0 ? `needle ${text}` : text;
}
