import { describe, expect, test } from "bun:test";
import type { PlacedMessage } from "../../../src/db/mailbox/inspect.ts";
import type { Registration } from "../../../src/services/mail/filesystem/registration/registrations.ts";
import { planExport, toLists } from "../../../src/services/mail/filesystem/upkeep/export-plan.ts";
import { done, type Outcome } from "../../../src/services/mail/filesystem/upkeep/maintenance.ts";

const message = {
  messageId: "msg-20261121T044700Z-00000000000000000000000000000001",
  canonicalPath: "messages/2026-11-21/msg-20261121T044700Z-00000000000000000000000000000001.md",
  folder: "inbox",
} as PlacedMessage;

const account = (name: string) => ({
  account: {
    registration_id: `reg-${name}`,
    address: `${name}@svc.localhost`,
    status: "active",
    mailbox_path: `/mail/mailboxes/${name}@svc.localhost`,
  } as Registration,
  refused: null,
  messages: [message],
  boxes: new Map([[message.messageId, "archive"]]),
  hasState: false,
});

const plan = (change: Partial<Parameters<typeof planExport>[0]> = {}) =>
  planExport({
    root: "/mail",
    archive: "/archive",
    symlinkMode: "preserve",
    accounts: [account("ann"), account("bob")],
    attachmentsOf: () => [],
    ...change,
  });

describe("the plan of an export", () => {
  test("copies a message once and shows it in the box of each mailbox", () => {
    const entries = plan();
    const copies = entries.filter(({ step }) => step.kind === "copy");
    const links = entries.filter(({ step }) => step.kind === "link");
    expect([copies.length, links.length]).toEqual([1, 2]);
    const position = entries.indexOf(copies[0] as never);
    expect(links.map(({ needs }) => needs)).toEqual([position, position]);
    expect(links.map(({ projection }) => projection?.folder)).toEqual(["archive", "archive"]);
  });

  test("reports a message whose path leaves the root, and shows it in no box", () => {
    const outside = { ...message, canonicalPath: "../elsewhere/a.md" };
    const entries = plan({ accounts: [{ ...account("ann"), messages: [outside] }] });
    expect(entries.some(({ step }) => step.kind === "copy" || step.kind === "link")).toBe(false);
    const lists = toLists(
      entries,
      entries.map(() => done),
    );
    expect(lists.blocked_artifacts).toMatchObject([{ reason: "it lies outside of the mailbox root" }]);
    expect([lists.messages, lists.projections]).toEqual([[], []]);
  });

  test("lists nothing of a message that could not be copied but the reason", () => {
    const entries = plan();
    const copied = entries.findIndex(({ step }) => step.kind === "copy");
    const outcomes = entries.map(({ needs }, nth): Outcome => {
      if (nth === copied) return { result: "failed", why: "it is missing" };
      return needs === copied ? { result: "skipped" } : done;
    });
    const lists = toLists(entries, outcomes);
    expect(lists.blocked_artifacts).toMatchObject([{ archive_path: null, reason: "it is missing" }]);
    expect([lists.messages, lists.projections]).toEqual([[], []]);
    expect(lists.accounts).toHaveLength(2);
  });
});
