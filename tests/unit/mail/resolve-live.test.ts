import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { MailboxBinding } from "../../../src/protocol/files.ts";
import { MailResolveLive } from "../../../src/protocol/mail.ts";
import { toResolveLive } from "../../../src/services/mail/resolve-live.ts";

const identity = {
  principal_id: "SVC-worker",
  address: "worker@svc.localhost",
  bindings_version: "2026-01-01T00:00:00.000001+00:00",
};
const files: MailboxBinding = { transport: "filesystem", ...identity, filesystem_root: "/mail" };

describe("where an agent's mail is", () => {
  test("below a root, with the folders and databases", () => {
    const found = toResolveLive(files, null);
    expect([...Value.Errors(MailResolveLive, found)]).toEqual([]);
    expect(found).toMatchObject({
      source: "manifest_binding",
      transport: "filesystem",
      ...identity,
      gateway: null,
    });
    const mailbox = "/mail/mailboxes/worker@svc.localhost";
    expect(found.mailbox.filesystem).toEqual({
      root: "/mail",
      mailbox_kind: "in_root",
      mailbox_path: mailbox,
      inbox_path: `${mailbox}/inbox`,
      sqlite_path: "/mail/index.sqlite",
      local_sqlite_path: `${mailbox}/mailbox.sqlite`,
    });
  });

  test("on a server, without a secret", () => {
    const binding = {
      transport: "jmap",
      ...identity,
      jmap_url: "http://mail",
      credential_ref: "jmap-x",
      password: "p",
    };
    const found = toResolveLive(binding, null);
    expect([...Value.Errors(MailResolveLive, found)]).toEqual([]);
    expect(found.mailbox.jmap).toMatchObject({
      jmap_url: "http://mail",
      credential_ref: "jmap-x",
      login_identity: null,
    });
    expect(JSON.stringify(found)).not.toContain('"p"');
  });

  test.each([
    { host: "127.0.0.1", want: "http://127.0.0.1:9" },
    { host: "0.0.0.0", want: "http://127.0.0.1:9" },
    { host: "::", want: "http://127.0.0.1:9" },
    { host: "::1", want: "http://[::1]:9" },
  ])("a gateway on $host is reached at $want", ({ host, want }) => {
    const instance = { host, port: 9, protocol_version: "v1" as const };
    const { gateway } = toResolveLive(files, { instance, statePath: "/s/state.json" });
    expect(gateway).toEqual({
      source: "current_instance_record",
      host,
      port: 9,
      base_url: want,
      protocol_version: "v1",
      state_path: "/s/state.json",
    });
  });

  test.each([
    { ...files, transport: "pigeon" },
    { transport: "filesystem", ...identity },
  ])("is refused for a binding that does not say: %j", (binding) => {
    expect(() => toResolveLive(binding, null)).toThrow(expect.objectContaining({ reason: "unsupported" }));
  });
});
