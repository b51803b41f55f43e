import { describe, expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MailboxBinding } from "../../../src/protocol/files.ts";
import { createMailBinding, isOutOfReach } from "../../../src/services/mail/binding.ts";
import { openMailRoot } from "../../../src/services/mail/filesystem/root.ts";
import { createFilesystemOpener } from "../../../src/services/mail/openers.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";

function setup() {
  const fixture = createMailRootFixture();
  fixture.mailbox("worker");
  const facts: { binding: MailboxBinding } = {
    binding: {
      transport: "filesystem",
      principal_id: "SVC-worker",
      address: "worker@svc.localhost",
      bindings_version: "1",
      filesystem_root: fixture.path,
    },
  };
  const binding = createMailBinding({
    readBinding: () => facts.binding,
    openers: {
      filesystem: createFilesystemOpener({
        files: fixture.deps.files,
        openRoot: (root) => openMailRoot(fixture.deps, root),
      }),
    },
    clock: createFakeClock(),
  });
  const caught = (): unknown => {
    try {
      return binding.bound();
    } catch (error) {
      return error;
    }
  };
  return {
    fixture,
    facts,
    binding,
    caught,
    [Symbol.dispose]() {
      binding.close();
      fixture[Symbol.dispose]();
    },
  };
}

describe("a binding to a mailbox on the file system", () => {
  test("can be acted on while its address is registered for its principal", () => {
    using at = setup();
    expect(at.binding.supported()).toMatchObject({ supported: true, error: null });
    at.fixture.root.registrations.deregister({ address: "worker@svc.localhost", mode: "deactivate" });
    expect(at.caught()).toMatchObject({
      reason: "unsupported",
      message: expect.stringContaining("mailbox register"),
    });
    expect(isOutOfReach(at.caught())).toBe(false);
    at.fixture.mailbox("worker");
    expect(at.binding.supported().supported).toBe(true);
    at.facts.binding = { ...at.facts.binding, principal_id: "SVC-other" };
    expect(at.caught()).toMatchObject({ message: expect.stringContaining("belongs to SVC-worker") });
  });

  test("is out of reach where the root is not there, and works once it is back", () => {
    using at = setup();
    renameSync(at.fixture.path, `${at.fixture.path}-away`);
    expect(at.caught()).toMatchObject({
      reason: "unsupported",
      message: expect.stringContaining("no mailbox root"),
    });
    expect(isOutOfReach(at.caught())).toBe(true);
    renameSync(`${at.fixture.path}-away`, at.fixture.path);
    expect(at.binding.supported().supported).toBe(true);
  });

  test("reports a broken carrier as what it is", () => {
    using at = setup();
    for (const name of ["index.sqlite-wal", "index.sqlite-shm"])
      rmSync(join(at.fixture.path, name), { force: true });
    writeFileSync(join(at.fixture.path, "index.sqlite"), "this is no database at all ".repeat(1000));
    expect(at.caught()).toMatchObject({ reason: "transport_failed" });
  });

  test("without a root is none", () => {
    using at = setup();
    const { filesystem_root: _root, ...rest } = at.facts.binding;
    at.facts.binding = rest;
    expect(at.binding.supported()).toEqual({
      supported: false,
      error: expect.stringContaining("filesystem_root"),
      remedy: null,
    });
  });
});
