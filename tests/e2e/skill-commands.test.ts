import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { skills } from "../../src/services/skills/catalog.ts";
import { createProcesses, type Output } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { fillIn, placeholdersOf, skillCommands } from "../support/skill-commands.ts";
import { until } from "../support/until.ts";

const dist = join(import.meta.dirname, "../../dist");
const processes = createProcesses({ steps: quietSteps });

/** What a placeholder stands for when its command is about to run. */
type Values = Record<string, () => string | Promise<string>>;

/** Two scripted agents with mailboxes; the commands run in a shell of the first one. */
async function openStory(fixture: CliFixture) {
  const launch = async (name: string) => {
    const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, "--mailbox", "--json"];
    const run = await fixture.mgr(...words);
    if (run.exitCode !== 0) throw new Error(run.stderr);
    return run.json() as Record<"gateway_base_url" | "manifest_path", string>;
  };
  const ann = await launch("ann");
  await launch("bob");
  const env = {
    ...fixture.env,
    PATH: `${dist}:${fixture.env["PATH"]}`,
    SVC_MANIFEST_PATH: ann.manifest_path,
  };
  const mgr = async (name: string, ...words: string[]) =>
    (await fixture.mgr("agents", "single", "--agent-name", name, ...words, "--json")).json();
  return {
    gateway: ann.gateway_base_url,
    mgr,
    shell: (command: string): Promise<Output> =>
      processes.run(["sh", "-euc", command], { env, cwd: fixture.workdir, timeoutMs: 60_000 }),
    /** Writes to `ann` from `bob`; resolves with the newest reference in ann's inbox. */
    async receive(subject: string) {
      await mgr(
        "bob",
        "mail",
        "send",
        "--to",
        "ann@svc.localhost",
        "--subject",
        subject,
        "--body-content",
        "x",
      );
      return newest();
    },
    newest,
    /** Resolves when the agent is ready for a prompt, or asks something. */
    async waitFor(name: string, what: "ready" | "decision") {
      const waited = await mgr(name, "gateway", "tui", "wait", "--for", what);
      expect(waited).not.toHaveProperty("error");
    },
    /** Resolves when the agent has had all it was given and would take a direct prompt. */
    idle: (name: string) =>
      until(`${name} to be idle`, async () => {
        const status = await mgr(name, "gateway", "status");
        const idle = status["queue_depth"] === 0 && status["active_execution"] === "idle";
        return idle && status["terminal_surface_eligibility"] === "ready";
      }),
  };
  async function newest() {
    const { messages } = (await mgr("ann", "mail", "list")) as { messages: { message_ref: string }[] };
    return messages[0]?.message_ref ?? "none";
  }
}

/** Runs every command that a skill shows, in the order of its text. */
async function follow(
  name: string,
  shell: (command: string) => Promise<Output>,
  { values, before = {} }: { values: Values; before?: Record<string, () => Promise<unknown>> },
): Promise<string[]> {
  const text = skills.find((skill) => skill.name === name)?.text ?? "";
  const outputs: string[] = [];
  const prepared = new Set<string>();
  for (const command of skillCommands(text)) {
    for (const [part, prepare] of Object.entries(before)) {
      if (!command.includes(part)) continue;
      prepared.add(part);
      await prepare();
    }
    const known = await Promise.all(
      placeholdersOf(command).map(async (one) => [one, (await values[one]?.()) ?? one] as const),
    );
    const filled = fillIn(command, Object.fromEntries(known));
    const run = await shell(filled);
    expect([run.exitCode, run.stderr], `${filled}\n${run.stdout}`).toEqual([0, expect.any(String)]);
    outputs.push(run.stdout);
  }
  expect([...prepared]).toEqual(Object.keys(before));
  return outputs;
}

test("every command of the four skills runs and does what the skill says", async () => {
  await using fixture = createCliFixture({ executable: join(dist, "svc-gateway") });
  const { gateway, mgr, shell, receive, newest, waitFor, idle } = await openStory(fixture);
  const said = `it's "done", $HOME \`x\``;

  let ref = await receive("First");
  const inJson = JSON.stringify(said).slice(1, -1);
  const round = await follow("svc-process-emails-via-gateway", shell, {
    values: {
      GATEWAY: () => gateway,
      REF: () => ref,
      TEXT: () => inJson,
      SUBJECT: () => inJson,
      ADDRESS: () => "bob@svc.localhost",
    },
  });
  const parsed = round.map((output) => JSON.parse(output) as Record<string, unknown>);
  expect(parsed.map((one) => one["detail"] ?? one["operation"] ?? one["box"])).toEqual([
    "inbox",
    "read",
    "reply",
    "send",
    "archive",
  ]);
  const toBob = (await mgr("bob", "mail", "list", "--include-body")) as { messages: { body_text: string }[] };
  expect(toBob.messages.map((message) => message.body_text.trim())).toEqual([said, said]);

  ref = await receive("Second");
  await follow("svc-agent-email-comms", shell, {
    values: {
      REF: () => ref,
      TEXT: () => said,
      SUBJECT: () => "Hello",
      WORDS: () => "Second",
      BOX: () => "later",
      ADDRESS: () => "bob@svc.localhost",
    },
  });
  const later = (await mgr("ann", "mail", "list", "--box", "later")) as { messages: { answered: boolean }[] };
  expect(later.messages.map((message) => message.answered)).toEqual([true]);
  expect(await newest()).not.toBe("none");

  const ids = async (path: string[], key: string, id: string) => {
    const list = (await mgr(...(path as [string]))) as Record<string, Record<string, string>[]>;
    return list[key]?.[0]?.[id] ?? `no ${id}`;
  };
  await waitFor("bob", "ready");
  await mgr("bob", "prompt", "--prompt", "FAST", "--wait");
  await waitFor("bob", "ready");
  await follow("svc-agent-gateway", shell, {
    values: {
      NAME: () => "bob",
      TEXT: () => "FAST",
      TITLE: () => "tea",
      QUESTION: () => "Go on?",
      REQUEST_ID: () => ids(["bob", "requests", "list"], "requests", "request_id"),
      REMINDER_ID: () => ids(["ann", "gateway", "reminders", "list"], "reminders", "reminder_id"),
    },
    before: {
      "tui state": async () => {
        await mgr("bob", "prompt", "--prompt", "MENU Go on?");
        await waitFor("bob", "decision");
      },
      "NAME prompt": () => waitFor("bob", "ready"),
      "gateway prompt": () => idle("bob"),
    },
  });

  await follow("svc-mailbox-mgr", shell, {
    values: {
      NAME: () => "bob",
      ADDRESS: () => "ann@svc.localhost",
      DIR: () => join(fixture.folder, "export"),
    },
    before: {
      "mailbox register": () => mgr("bob", "mailbox", "unregister"),
    },
  });
  expect(existsSync(join(fixture.folder, "export"))).toBe(true);
  const after = (await mgr("bob", "mailbox", "status")) as { registered: boolean };
  expect(after.registered).toBe(false);
}, 120_000);
