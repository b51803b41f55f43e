import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { MailList, MailMessage } from "../../src/protocol/mail.ts";
import { launched } from "../support/cli-agent.ts";
import { type CliFixture, type CliRun, createCliFixture } from "../support/cli-fixture.ts";
import { isWholeMatrix } from "../support/matrix.ts";

/** Two scripted agents with gateways of their own, both with a mailbox below the project's overlay. */
interface MailFixture extends AsyncDisposable {
  fixture: CliFixture;
  root: string;
  /** A command line of `svc-mgr`, further words behind it. */
  type(line: string, ...more: string[]): Promise<CliRun>;
  list(name: string, line?: string): Promise<MailMessage[]>;
  /** A mail route of one's gateway. */
  http(name: string, verb: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Names of all canonical messages below the root. */
  stored(): string[];
}

async function twoAgents(...flags: string[]): Promise<MailFixture> {
  const fixture = createCliFixture();
  const urls: Record<string, string> = {};
  for (const name of ["alice", "bob"]) {
    const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...flags, "--json"];
    const launch = await fixture.mgr(...words);
    if (launch.exitCode !== 0) throw new Error(launch.stderr + launch.stdout);
    urls[name] = String(launch.json()["gateway_base_url"]);
  }
  const root = join(fixture.workdir, ".svc/mailbox");
  const type = (line: string, ...more: string[]) => fixture.mgr(...line.split(" "), ...more);
  return {
    fixture,
    root,
    type,
    list: async (name, line = "mail list") =>
      ((await type(`agents single --agent-name ${name} ${line} --json`)).json() as unknown as MailList)
        .messages,
    async http(name, verb, body) {
      const init = body && {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      };
      const reply = await fetch(`${urls[name]}/v1/mail/${verb}`, { ...init, proxy: false } as RequestInit);
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    },
    stored: () =>
      readdirSync(join(root, "messages"), { recursive: true })
        .map(String)
        .filter((path) => path.endsWith(".md")),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

/** What the manifest of one of them says. */
async function launchOf(at: MailFixture, name: string) {
  const listed = (await at.type("agents list --json")).json()["agents"] as Record<string, string>[];
  const found = listed.find((one) => one["agent_name"] === name);
  const manifest_path = found?.["manifest_path"] ?? "";
  const manifest = JSON.parse(readFileSync(manifest_path, "utf8")) as { runtime: { agent_pid: number } };
  return { manifest_path, agent_id: found?.["agent_id"] ?? "", pid: manifest.runtime.agent_pid };
}

const done = (operation: string, execution_path: string) => ({
  schema_version: 1,
  operation,
  execution_path,
  authoritative: true,
  status: "verified",
  transport: "filesystem",
});

describe("mail between two agents", () => {
  test("goes by command and by HTTP, is peeked at, read, answered and archived", async () => {
    await using at = await twoAgents("--mailbox");
    expect(existsSync(join(at.fixture.workdir, ".svc/.gitignore"))).toBe(true);
    const notes = join(at.fixture.workdir, "notes.txt");
    writeFileSync(notes, "attached words");
    const words = ["--subject", "the plan", "--body-content", "first **this**", "--attach", "notes.txt"];
    const sent = await at.type(
      "agents single --agent-name alice mail send --to bob@svc.localhost --json",
      ...words,
      "--notify-block",
      "look",
    );
    expect(sent.json()).toMatchObject({ ...done("send", "gateway_backed"), address: "alice@svc.localhost" });

    const [letter] = await at.list("bob");
    expect(letter).toMatchObject({
      subject: "the plan",
      unread: true,
      body_text: null,
      notify_block: { text: "look", placement: "append" },
      sender: { address: "alice@svc.localhost", principal_id: "SVC-alice" },
      attachments: [{ kind: "managed_copy", label: "notes.txt", size_bytes: 14, media_type: "text/plain" }],
    });
    expect(readFileSync(letter?.attachments[0]?.locator ?? "", "utf8")).toBe("attached words");
    const ref = letter?.message_ref ?? "";
    const peeked = await at.type("agents single --agent-name bob mail peek --message-ref", ref);
    expect(peeked.stdout).toContain("first **this**\n\n```svc-notify\nlook\n```");
    expect((await at.list("bob", "mail list --read-state unread"))[0]?.message_ref).toBe(ref);
    expect(
      (await at.type("agents single --agent-name bob mail read --json --message-ref", ref)).json(),
    ).toMatchObject(done("read", "gateway_backed"));
    expect(await at.list("bob", "mail list --read-state unread")).toEqual([]);

    const replied = await at.http("bob", "reply", { message_ref: ref, body_content: "done" });
    expect(replied.status).toBe(200);
    const answers = (await at.http("alice", "list", { include_body: true })).body as unknown as MailList;
    expect(answers).toMatchObject({ message_count: 1, unread_count: 1 });
    expect(answers.messages[0]).toMatchObject({
      subject: "Re: the plan",
      body_text: "done",
      thread_ref: letter?.thread_ref,
    });
    const answerRef = answers.messages[0]?.message_ref ?? "";
    const archived = await at.type(
      "agents single --agent-name alice mail archive --json --message-ref",
      answerRef,
    );
    expect(archived.json()).toMatchObject({ ...done("archive", "gateway_backed"), message_count: 1 });
    expect((await at.list("alice", "mail list --archived"))[0]).toMatchObject({
      archived: true,
      read: true,
    });
    expect((await at.list("bob", "mail list --answered-state answered"))[0]?.message_ref).toBe(ref);

    await at.type("agents single --agent-name bob mail mark --unread --message-ref", ref);
    expect(await at.list("bob", "mail list --read-state unread")).toHaveLength(1);
    await at.type("agents single --agent-name bob mail move --destination-box later --message-ref", ref);
    expect((await at.list("bob", "mail list --box later"))[0]).toMatchObject({ box: "later" });
    const posted = await at.type(
      "agents single --agent-name bob mail post --subject note --body-content text --reply-policy none --json",
    );
    expect(posted.json()).toMatchObject({ message: { sender: { address: "SVC-operator@svc.localhost" } } });
    const noteRef = (await at.list("bob"))[0]?.message_ref ?? "";
    const refused = await at.type(
      "agents single --agent-name bob mail reply --body-content x --message-ref",
      noteRef,
    );
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("repl")]);
    expect(at.stored()).toHaveLength(3);
  }, 120_000);

  test("goes on without a gateway, and each command says how it went", async () => {
    await using at = await twoAgents("--mailbox", "--no-gateway");
    const status = await at.type("agents single --agent-name alice mail status --json");
    expect(status.json()).toMatchObject({ ...done("status", "manager_direct"), principal_id: "SVC-alice" });
    const piped = await at.fixture.run(
      "svc-mgr",
      [..."agents single --agent-name alice mail send --to bob@svc.localhost --subject hi --json".split(" ")],
      { input: "from standard input" },
    );
    expect(piped.json()).toMatchObject(done("send", "manager_direct"));
    const [letter] = await at.list("bob", "mail list --include-body");
    expect(letter?.body_text).toBe("from standard input");
    const live = await at.type("agents single --agent-name bob mail resolve-live --json");
    expect(live.json()).toMatchObject({
      schema_version: 1,
      source: "manifest_binding",
      gateway: null,
      gateway_available: false,
      managed_agent: { mode: "single", agent_name: "bob" },
      mailbox: { filesystem: { root: at.root, mailbox_kind: "in_root" } },
    });
    const attached = await at.type("agents single --agent-name bob gateway attach --background --json");
    const port = Number(attached.json()["gateway_port"]);
    expect((await at.type("agents single --agent-name bob mail resolve-live --json")).json()).toMatchObject({
      gateway_available: true,
      gateway: {
        source: "current_instance_record",
        base_url: `http://127.0.0.1:${port}`,
        protocol_version: "v1",
      },
    });
    const listed = async () => (await at.type("agents single --agent-name bob mail list --json")).json();
    expect(await listed()).toMatchObject(done("list", "gateway_backed"));

    await at.type("agents single --agent-name bob gateway detach");
    const open = await at.type(
      "agents single --agent-name bob gateway attach --background --host 0.0.0.0 --allow-unauthenticated --json",
    );
    const url = `http://127.0.0.1:${open.json()["gateway_port"]}/v1/mail/status`;
    const refused = await fetch(url, { proxy: false } as RequestInit);
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { detail: expect.stringContaining("loopback") },
    ]);
    expect(await listed()).toMatchObject(done("list", "manager_direct"));
  }, 120_000);

  test("is to be had by an agent that runs already, and to be taken away again", async () => {
    await using at = await twoAgents("--gateway-background");
    const without = await at.http("alice", "status");
    expect([without.status, without.body["detail"]]).toEqual([
      422,
      expect.stringContaining("mailbox register"),
    ]);
    expect((await at.type("agents single --agent-name alice mailbox status --json")).json()).toMatchObject({
      registered: false,
      activation_state: null,
      runtime_mailbox_enabled: false,
      joined_session: false,
    });
    const registered = await at.type("agents single --agent-name alice mailbox register --json");
    expect(registered.json()).toMatchObject({
      registered: true,
      activation_state: "active",
      runtime_mailbox_enabled: true,
      mailbox_root: at.root,
      address: "alice@svc.localhost",
      principal_id: "SVC-alice",
      transport: "filesystem",
      shared_registration: { ok: true, mode: "safe", status: "active" },
    });
    const { bindings_version } = registered.json();
    expect((await at.http("alice", "status")).body).toMatchObject({
      address: "alice@svc.localhost",
      bindings_version,
    });

    const { manifest_path, agent_id } = await launchOf(at, "alice");
    const record = join(
      at.fixture.folder,
      "home/.local/state/svc/registry/live_agents",
      agent_id,
      "record.json",
    );
    const recorded = JSON.parse(readFileSync(record, "utf8")) as { mailbox?: object };
    expect(recorded.mailbox).toMatchObject({ address: "alice@svc.localhost", bindings_version });
    const env = { ...at.fixture.env, SVC_MANIFEST_PATH: manifest_path };
    const self = await at.fixture.run("svc-mgr", ["agents", "self", "mail", "resolve-live", "--json"], {
      env,
    });
    expect(self.json()).toMatchObject({
      bindings_version,
      managed_agent: { mode: "self", agent_name: "alice" },
    });

    const again = await at.type(
      "agents single --agent-name alice mailbox register --address other.name@svc.localhost --json",
    );
    expect(again.json()["bindings_version"]).not.toBe(bindings_version);
    expect((await at.http("alice", "status")).body).toMatchObject({ address: "other.name@svc.localhost" });
    const taken = await at.type(
      "agents single --agent-name bob mailbox register --address other.name@svc.localhost",
    );
    expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining("SVC-alice")]);

    const third = "agents launch --tool demo --agent-name carol --no-gateway --mailbox --json";
    await at.type("mailbox register --address carol@svc.localhost --principal-id SVC-someone");
    const carol = await at.type(third);
    expect([carol.exitCode, carol.json()["mailbox_error"]]).toEqual([
      2,
      expect.stringContaining("SVC-someone"),
    ]);
    expect(at.fixture.alive(Number((await launchOf(at, "carol")).pid))).toBe(true);

    const gone = await at.type("agents single --agent-name alice mailbox unregister --json");
    expect(gone.json()).toMatchObject({
      registered: false,
      shared_unregistration: { ok: true, mode: "deactivate", resulting_status: "inactive" },
    });
    expect((await at.http("alice", "status")).status).toBe(422);
    const told = await at.type("agents single --agent-name alice mail list");
    expect([told.exitCode, told.stderr]).toEqual([1, expect.stringContaining("mailbox register")]);
  }, 120_000);
});

test("two people without agents mail each other between registered addresses", async () => {
  await using fixture = createCliFixture();
  const type = (line: string, ...more: string[]) => fixture.mgr(...line.split(" "), ...more);
  await type("mailbox init");
  for (const name of ["ann", "ben"]) {
    await type(`mailbox register --address ${name}@svc.localhost --principal-id SVC-${name}`);
  }
  const sent = await type(
    "mail send --address ann@svc.localhost --to ben@svc.localhost --json",
    "--subject",
    "lunch",
    "--body-content",
    "at noon?",
  );
  expect(sent.json()).toMatchObject({ ...done("send", "manager_direct"), principal_id: "SVC-ann" });
  const listed = await type("mail list --address ben@svc.localhost");
  expect(listed.stdout).toContain("ann@svc.localhost  lunch");
  const ref = /filesystem:\S+/.exec(listed.stdout)?.[0] ?? "";
  const replied = await type(
    `mail reply --address ben@svc.localhost --message-ref ${ref} --body-content yes --json`,
  );
  expect(replied.json()).toMatchObject({ message: { subject: "Re: lunch" } });
  const near = await type("mail list --address bem@svc.localhost");
  expect([near.exitCode, near.stderr]).toEqual([
    1,
    expect.stringContaining("Did you mean ben@svc.localhost?"),
  ]);
  expect((await type("mail list")).exitCode).toBe(2);
  await using empty = createCliFixture();
  const nowhere = await empty.mgr("mail", "list", "--address", "ann@svc.localhost");
  expect([nowhere.exitCode, nowhere.stderr]).toEqual([1, expect.stringContaining("mailbox init")]);
  expect(existsSync(join(empty.workdir, ".svc"))).toBe(false);
}, 120_000);

if (isWholeMatrix) {
  test("an invalid mail is refused with its reason, and nothing is written", async () => {
    await using at = await twoAgents("--mailbox", "--gateway-background");
    const letter = { to: ["bob@svc.localhost"], subject: "hello", body_content: "text" };
    mkdirSync(join(at.fixture.workdir, "folder"));
    writeFileSync(join(at.fixture.workdir, "secret.txt"), "x");
    const link = join(at.fixture.workdir, "link.txt");
    symlinkSync(join(at.fixture.workdir, "secret.txt"), link);
    await at.http("bob", "post", { subject: "private", body_content: "text" });
    const [{ message_ref: foreign } = { message_ref: "" }] = await at.list("bob");
    const before = at.stored();

    const bad: [string, object, number][] = [
      ["send", { ...letter, to: ["../bob@svc.localhost"] }, 422],
      ["send", { ...letter, to: ["bob/../alice@svc.localhost"] }, 422],
      ["send", { ...letter, to: ["bob\0@svc.localhost"] }, 422],
      ["send", { ...letter, to: ["bob"] }, 422],
      ["send", { ...letter, to: ["nobody@svc.localhost"] }, 422],
      ["send", { ...letter, subject: "a\r\nx-svc-origin: operator" }, 422],
      ["send", { ...letter, body_content: "a\0b" }, 422],
      ["send", { ...letter, from: { address: "bob@svc.localhost" } }, 422],
      ["send", { ...letter, headers: { "x-svc-origin": "operator" } }, 422],
      ["send", { ...letter, attachments: [{ path: join(at.fixture.workdir, "absent.txt") }] }, 422],
      ["send", { ...letter, attachments: [{ path: join(at.fixture.workdir, "folder") }] }, 422],
      ["send", { ...letter, attachments: [{ path: link }] }, 422],
      ["send", { ...letter, notify_auth: { scheme: "jws" } }, 422],
      ["peek", { message_ref: foreign }, 404],
      ["read", { message_ref: foreign }, 404],
      ["reply", { message_ref: foreign, body_content: "x" }, 404],
      ["archive", { message_refs: [foreign] }, 404],
      ["peek", { message_ref: "filesystem:../../etc/passwd" }, 404],
      ["peek", { message_ref: "jmap:x" }, 422],
      ["move", { message_refs: [foreign], destination_box: "../x" }, 422],
    ];
    for (const [verb, body, status] of bad) {
      const answer = await at.http("alice", verb, body);
      expect([verb, body, answer.status, typeof answer.body["detail"] !== "undefined"]).toEqual([
        verb,
        body,
        status,
        true,
      ]);
    }
    expect(at.stored()).toEqual(before);
    expect(await at.list("alice", "mail list --box sent")).toEqual([]);

    const words = (...more: string[]) =>
      at.type("agents single --agent-name alice mail send --subject x --to bob@svc.localhost", ...more);
    const usage: [string, CliRun][] = [
      ["not both", await words("--body-content", "x", "--body-file", "y")],
      ["no file absent.md", await words("--body-file", "absent.md")],
      ["no file", await words("--body-content", "x", "--attach", "absent.txt")],
      ["folder", await words("--body-content", "x", "--attach", "folder")],
      ["--notify-block", await words("--body-content", "x", "--notify-block-placement", "prepend")],
      ["--to", await at.type("agents single --agent-name alice mail send --subject x --body-content x")],
      [
        "exclude each other",
        await at.type("agents single --agent-name alice mail mark --message-ref x --read --unread"),
      ],
      ["what to mark", await at.type("agents single --agent-name alice mail mark --message-ref x")],
      ["--message-ref", await at.type("agents single --agent-name alice mail archive")],
    ];
    for (const [says, run] of usage)
      expect([run.exitCode, run.stderr]).toEqual([2, expect.stringContaining(says)]);
    const near = await at.type(
      "agents single --agent-name alice mail send --to bop@svc.localhost --subject x --body-content x",
    );
    expect([near.exitCode, near.stderr]).toEqual([1, expect.stringContaining("bob@svc.localhost")]);
    expect(at.stored()).toEqual(before);
  }, 120_000);

  test("where nobody reaches the mailbox the agent is asked in its terminal, and nothing is claimed", async () => {
    await using at = await launched("--no-gateway", "--mailbox");
    renameSync(join(at.fixture.workdir, ".svc/mailbox"), join(at.fixture.workdir, "elsewhere"));
    const send = () =>
      at.type(
        "agents single --agent-name worker mail send --to x@svc.localhost --subject plan --json",
        "--body-content",
        "text",
        "--notify-block",
        "look",
      );
    const asked = await send();
    expect([asked.exitCode, asked.json()]).toEqual([
      0,
      expect.objectContaining({
        authoritative: false,
        status: "submitted",
        execution_path: "tui_submission",
        operation: "send",
        address: "worker@svc.localhost",
        transport: "filesystem",
        verification_required: true,
        request_id: expect.stringMatching(/^mailreq-\d{8}-\d{6}Z-[0-9a-f]{10}$/),
        verification_paths: [expect.stringContaining("mail list --box sent")],
      }),
    ]);
    const [heard] = at.heard();
    expect(heard).toContain(String(asked.json()["request_id"]));
    expect(heard).toContain('"subject": "plan"');
    expect(heard).not.toContain("look");

    const listed = await at.type("agents single --agent-name worker mail list");
    expect([listed.exitCode, listed.stderr]).toEqual([1, expect.stringContaining("no mailbox root")]);
    const status = await at.type("agents single --agent-name worker mailbox status --json");
    expect(status.json()).toMatchObject({
      registered: true,
      activation_state: null,
      runtime_mailbox_enabled: false,
    });
    await at.fixture.tmux("kill-session", "-t", `=${at.session}`);
    const gone = await send();
    expect([gone.exitCode, gone.error()["detail"]]).toEqual([1, expect.stringContaining("no mailbox root")]);
  }, 120_000);
}
