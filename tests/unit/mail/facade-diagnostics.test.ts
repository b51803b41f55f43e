import { expect, test } from "bun:test";
import { renderDiagnostic } from "../../../src/services/diagnostics/diagnostic-log.ts";
import { createMailFacade, observeMail } from "../../../src/services/mail/facade.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { createFakeMail } from "../../support/fake-mailbox.ts";

test("what begins, ends and fails is reported with counts and references, never with a word of a message", async () => {
  const mail = createFakeMail();
  const mailbox = mail.open("worker@svc.localhost");
  mail.open("other@svc.localhost");
  const written: Record<string, unknown>[] = [];
  const facade = observeMail(
    createMailFacade({ bound: () => ({ mailbox, bindingsVersion: "1" }), served: true }),
    (diagnostic) => void written.push(JSON.parse(renderDiagnostic(diagnostic, "now"))),
  );
  const { message } = await facade.send({
    to: ["other@svc.localhost"],
    subject: "secret subject",
    body_content: "secret body",
    notify_block: { text: "secret notice" },
  });
  expect(written).toEqual([
    expect.objectContaining({
      level: "info",
      event: "gateway.mailbox_operation_started",
      operation: "send",
      to_count: 1,
      notify_block_present: true,
    }),
    expect.objectContaining({
      event: "gateway.mailbox_operation_completed",
      result_message_ref: message.message_ref,
    }),
  ]);
  await expect(facade.archive({ message_refs: ["filesystem:unknown"] })).rejects.toThrow();
  expect(written.at(-1)).toMatchObject({
    level: "warning",
    event: "gateway.mailbox_operation_failed",
    operation: "archive",
    error_reason: "not_found",
    message_refs_count: 1,
  });
  mail.failWith(new ServiceError("transport_failed", "the disk is full"));
  await expect(facade.list({})).rejects.toThrow("the disk is full");
  expect(written.at(-1)).toMatchObject({ level: "error", error_reason: "transport_failed" });
  await expect(facade.status()).resolves.toMatchObject({ bindings_version: "1" });
  expect(JSON.stringify(written)).not.toContain("secret");
});
