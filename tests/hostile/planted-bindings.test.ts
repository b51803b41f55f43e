import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MailboxBinding } from "../../src/protocol/files.ts";
import { registerMailbox, unregisterMailbox } from "../../src/services/mail/binding-register.ts";
import {
  credentialPaths,
  toCredentialRef,
  unregisterJmapMailbox,
  writeCredential,
} from "../../src/services/mail/jmap/register.ts";
import { createJmapOpener } from "../../src/services/mail/openers.ts";
import { createManifestStore } from "../../src/services/sessions/manifest.ts";
import { createSystem } from "../../src/system/system.ts";
import { awaitOutcome } from "../support/await-outcome.ts";
import { createMailRootFixture } from "../support/mail-root.ts";
import { draft, everything } from "../support/mail-story.ts";
import { createScratch, type Scratch } from "../support/scratch.ts";
import { startScriptedJmap } from "../support/scripted-jmap.ts";
import { sampleManifest } from "../support/session-samples.ts";

// Whoever may write a working tree may write the binding in the manifest of a session there.

const address = "ada@svc.localhost";
const password = "the-secret";

/** A session with a login at `url`, as a registration leaves it. */
function registered(at: Scratch, url: string) {
  const sessionRoot = at.path("session");
  const runtimeRoot = at.path("runtime");
  mkdirSync(sessionRoot);
  const ref = toCredentialRef(url, address);
  const paths = credentialPaths(at.files, { runtimeRoot, sessionRoot, ref });
  for (const path of [paths.session, paths.shared]) {
    writeCredential(at.files, path, { credential_ref: ref, login_identity: "ada", password });
  }
  const binding: MailboxBinding = {
    transport: "jmap",
    principal_id: "SVC-ada",
    address,
    bindings_version: "1",
    jmap_url: url,
    login_identity: "ada",
    credential_ref: ref,
    credential_file: paths.session,
  };
  return { sessionRoot, runtimeRoot, paths, binding };
}

/** A server that keeps what it gets. */
function thief() {
  const heard: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      heard.push(request.headers.get("authorization") ?? "no login", await request.text());
      return new Response("{}", { status: 401 });
    },
  });
  const url = `http://127.0.0.1:${server.port}/.well-known/jmap`;
  return { url, heard, [Symbol.asyncDispose]: () => server.stop(true) };
}

const opener = () => createJmapOpener(createSystem());
const refused = /was not made for/;

describe("a binding to a mail server that was changed", () => {
  test("the unchanged one is served", async () => {
    await using server = startScriptedJmap();
    using at = createScratch();
    server.answers["Email/query"] = () => ({
      ids: [],
      queryState: "0",
      total: 0,
      position: 0,
      canCalculateChanges: true,
    });
    server.answers["Email/get"] = () => ({ list: [], notFound: [], state: "0", accountId: "a" });
    const { binding } = registered(at, server.url);
    await opener()
      .open(binding)
      .list(everything)
      .catch(() => {});
    expect(server.calls.length).toBeGreaterThan(0);
  });

  test.each<{
    id: string;
    change: (facts: ReturnType<typeof registered>, url: string) => Partial<MailboxBinding>;
  }>([
    { id: "to another server", change: (_facts, url) => ({ jmap_url: url }) },
    {
      id: "to another server, with the name of its login",
      change: (_facts, url) => ({ jmap_url: url, credential_ref: toCredentialRef(url, address) }),
    },
    {
      id: "to another server, with the login of this one under the other's name",
      change({ sessionRoot, paths }, url) {
        const ref = toCredentialRef(url, address);
        const file = join(sessionRoot, "mailbox-secrets", `${ref}.json`);
        symlinkSync(paths.shared, file);
        return { jmap_url: url, credential_ref: ref, credential_file: file };
      },
    },
    {
      id: "to another server and the login that all sessions share",
      change: ({ paths }, url) => ({ jmap_url: url, credential_file: paths.shared }),
    },
    {
      id: "to another login, which is another file of the user",
      change({ sessionRoot }, url) {
        const file = join(dirname(sessionRoot), "other-login.json");
        const other = { credential_ref: "personal", login_identity: "ada", password };
        writeFileSync(file, JSON.stringify(other), { mode: 0o600 });
        return { jmap_url: url, credential_file: file };
      },
    },
    {
      id: "to another address at another server",
      change: (_facts, url) => ({ jmap_url: url, address: "eve@svc.localhost" }),
    },
  ])("$id: no password is sent", async ({ change }) => {
    await using server = startScriptedJmap();
    await using other = thief();
    using at = createScratch();
    const facts = registered(at, server.url);
    const mailbox = () => opener().open({ ...facts.binding, ...change(facts, other.url) });
    const error = await Promise.try(() => mailbox().list(everything)).catch((thrown: unknown) => thrown);
    expect(other.heard).toEqual([]);
    expect(String(error)).toMatch(/mailbox register/);
    expect(String(error)).not.toContain(password);
  });

  test("to another login of the user at the same server: that one is not used for this address", async () => {
    await using server = startScriptedJmap();
    using at = createScratch();
    const { binding, sessionRoot } = registered(at, server.url);
    const ref = toCredentialRef(server.url, "boss@svc.localhost");
    const file = at.files.contained(sessionRoot, ["mailbox-secrets", `${ref}.json`]);
    writeCredential(at.files, file, { credential_ref: ref, login_identity: "ada", password });
    const mailbox = opener().open({ ...binding, credential_ref: ref, credential_file: file });
    expect(await awaitOutcome(mailbox.list(everything))).toThrow(refused);
    expect(server.calls).toEqual([]);
  });
});

describe("attachments of mail that goes to a server", () => {
  test("are read below the folders of the session alone, and nothing is sent before all were opened", async () => {
    await using server = startScriptedJmap();
    using at = createScratch();
    const { binding } = registered(at, server.url);
    const below = at.path("work");
    mkdirSync(below);
    writeFileSync(join(below, "report"), "fine");
    writeFileSync(at.path("diary"), "precious");
    symlinkSync(at.path("diary"), join(below, "away"));
    symlinkSync("/proc/self/environ", join(below, "environment"));
    const mailbox = opener().open(binding);
    for (const path of [
      at.path("diary"),
      join(below, "../diary"),
      join(below, "away"),
      join(below, "environment"),
      "/proc/self/environ",
      "/dev/zero",
      below,
    ]) {
      const attachments = [join(below, "report"), path].map((one) => ({ path: one, below: [below] }));
      expect(await awaitOutcome(mailbox.send(draft("bob", "files", { attachments })))).toThrow(
        "attachment 2",
      );
    }
    expect(server.calls.filter((name) => name !== "Identity/get" && name !== "Mailbox/get")).toEqual([]);
  });
});

describe("unregistering under a planted manifest", () => {
  const deps = (at: Scratch) => ({
    ...createSystem(),
    manifests: createManifestStore(createSystem()),
    registry: { setMailbox: async () => true },
    files: at.files,
    runtimeRoot: at.path("runtime"),
  });

  /** The agent of a session whose manifest has `mailbox`. */
  function agentOf(sessionRoot: string, mailbox?: MailboxBinding) {
    const manifest = sampleManifest();
    if (mailbox) manifest.launch_plan.mailbox = mailbox;
    const manifestPath = join(sessionRoot, "manifest.json");
    mkdirSync(sessionRoot, { recursive: true });
    writeFileSync(manifestPath, JSON.stringify(manifest));
    return { manifest, manifestPath, sessionRoot };
  }

  test.each(["../../../precious/login", "precious", "/etc/passwd", ""])(
    "a login named %p removes no other file",
    async (name) => {
      using at = createScratch();
      const { binding, sessionRoot, paths } = registered(at, "https://mail.example/jmap");
      const others = [
        at.path("precious/login.json"),
        join(dirname(paths.shared), "precious.json"),
        join(dirname(paths.session), "precious.json"),
      ];
      for (const path of others) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, "precious");
      }
      const planted = { ...binding, credential_ref: name };
      await unregisterJmapMailbox(deps(at), agentOf(sessionRoot, planted), planted, "purge").catch(() => {});
      expect(others.filter((path) => !existsSync(path))).toEqual([]);
    },
  );

  test.each(["mailbox-secrets", "mailbox-credentials"])(
    "a link in place of %s removes nothing behind it",
    async (name) => {
      using at = createScratch();
      const url = "https://mail.example/jmap";
      const { binding, sessionRoot, runtimeRoot, paths } = registered(at, url);
      const behind = at.path("precious");
      const file = `${binding.credential_ref}.json`;
      for (const folder of [behind, join(behind, "jmap")]) {
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, file), "precious");
      }
      const folder = name === "mailbox-secrets" ? dirname(paths.session) : join(runtimeRoot, name);
      at.files.remove("test", at.files.contained(dirname(folder), name));
      symlinkSync(behind, folder);
      await unregisterJmapMailbox(deps(at), agentOf(sessionRoot, binding), binding, "purge").catch(() => {});
      expect([readdirSync(behind).sort(), readdirSync(join(behind, "jmap"))]).toEqual([
        [file, "jmap"].sort(),
        [file],
      ]);
    },
  );

  test("the mailbox of another agent keeps its mail and its registration", async () => {
    using at = createScratch();
    using fixture = createMailRootFixture();
    const open = () => fixture.root;
    const victim = agentOf(at.path("victim"));
    const { binding } = await registerMailbox(deps(at), victim, open(), {
      mode: "safe",
      address,
      principalId: "SVC-ada",
    });
    const planted = agentOf(at.path("planted"), binding);
    for (const mode of ["deactivate", "purge"] as const) {
      const { shared } = await unregisterMailbox(deps(at), planted, open, mode);
      expect(shared).toBeNull();
      planted.manifest.launch_plan.mailbox = binding;
    }
    expect(fixture.root.registrations.active(address)).toMatchObject({ owner_principal_id: "SVC-ada" });
    expect(JSON.parse(readFileSync(planted.manifestPath, "utf8")).launch_plan.mailbox).toBeUndefined();
    const { shared } = await unregisterMailbox(
      deps(at),
      {
        ...victim,
        manifest: { ...victim.manifest, launch_plan: { ...victim.manifest.launch_plan, mailbox: binding } },
      },
      open,
      "deactivate",
    );
    expect(shared?.resulting_status).toBe("inactive");
  });
});
