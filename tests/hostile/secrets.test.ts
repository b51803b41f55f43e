import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { json } from "../support/http-surface.ts";
import { until } from "../support/until.ts";
import { secretsOf } from "./planted-secrets.ts";

const dist = join(import.meta.dirname, "../../dist");

/** Where each secret belongs, by the path below the fixture's folder; anywhere else it was let out. */
const homes: Record<keyof ReturnType<typeof secretsOf>, RegExp> = {
  gatewayToken: /\/gateway\/run\/token$/,
  coordinatorToken: /\/coordinators\/[^/]+\/run\/token$/,
  // The transcript gets it at the turn's end, which may come before the search or after it.
  prompt:
    /\/gateway\/queue\.sqlite(?:-wal)?$|\/demo-agent\/|\/manifest\.turn-artifacts\/|\/transcript\/(?:screen-turns|last-screen)/,
  mailBody: /\/mailbox\/(?:messages|index\.sqlite|mailboxes)|^work\/body\.md$/,
  typed: /\/demo-agent\//,
  variable: /\/environment\.json$|\/launch-environment/,
  sharedToken: /\/gateway\/queue\.sqlite(?:-wal)?$/,
};

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Our processes of the fixture, whoever started them, as a process list shows them. */
function processesOf(fixture: CliFixture): { pid: number; command: string; environment: string }[] {
  const read = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "latin1").replaceAll("\0", " ");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => ({ pid: Number(pid), command: read(pid, "cmdline"), environment: read(pid, "environ") }))
    .filter(({ command, environment }) => `${command} ${environment}`.includes(fixture.folder));
}

/** What a file holds; of events not what a turn said, which they are there to tell. */
function withoutAnswers(path: string): string {
  const text = readFileSync(path, "latin1");
  if (!path.endsWith("/events.jsonl")) return text;
  return text
    .split("\n")
    .filter((line) => !line.includes('"kind":"turn_event"'))
    .join("\n");
}

test("secrets that pass through our programs lie where they belong and nowhere else", async () => {
  const fixture = createCliFixture({ executable: join(dist, "svc-gateway") });
  const secrets = secretsOf(fixture.folder);
  await using _ = fixture;
  fixture.env["SVC_GATEWAY_TOKEN"] = secrets.gatewayToken;
  const said: string[] = [];
  const mgr = async (words: string, ...more: string[]) => {
    const run = await fixture.mgr(...words.split(" "), ...more);
    said.push(run.stdout, run.stderr);
    expect([words, run.exitCode, run.exitCode === 0 ? "" : run.stderr]).toEqual([words, 0, ""]);
    return run;
  };
  await mgr(
    "agents launch --tool demo --agent-name alice --mailbox --json",
    "--env",
    `KEY=${secrets.variable}`,
  );
  await mgr(
    "agents launch --tool demo --agent-name bob --mailbox --headless --json",
    "--env",
    `KEY=${secrets.variable}`,
  );
  const coordinators = { ...fixture, command: () => [join(dist, "svc-coord")] };
  await using coordinator = await startCoordinator(coordinators, {
    env: { SVC_COORD_TOKEN: secrets.coordinatorToken },
  });
  const ask = async (path: string, init: RequestInit, token = secrets.coordinatorToken) => {
    const reply = await coordinator.request(path, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` },
    });
    const text = await reply.text();
    if (reply.status >= 400) said.push(text);
    return reply.status;
  };
  writeFileSync(join(fixture.workdir, "body.md"), `${secrets.mailBody}\n`);

  const submit = (prompt: unknown) => json({ request_kind: "submit_prompt", prompt });
  expect(await ask("/svc/agents/alice/requests", submit(`say ${secrets.prompt}`))).toBe(200);
  expect(await ask("/svc/agents/bob/requests", submit(`say ${secrets.prompt}`))).toBe(200);
  expect(await ask("/svc/agents/alice/requests", submit([secrets.prompt]))).toBe(422);
  expect(await ask("/svc/agents/alice/requests", submit("x"), secrets.prompt)).toBe(401);
  const keys = json({ sequence: `${secrets.typed}<[C-u]>` });
  expect(await ask("/svc/agents/alice/gateway/control/send-keys", keys)).toBe(200);
  const notifier = json(
    {
      enabled: true,
      notify_block_auth_verifier: "shared-token",
      notify_block_shared_tokens: [secrets.sharedToken],
    },
    "PUT",
  );
  expect(await ask("/svc/agents/alice/gateway/mail-notifier", notifier)).toBe(200);
  const reminder = {
    mode: "one_off",
    title: "tea",
    prompt: secrets.prompt,
    ranking: 1,
    start_after_seconds: 3600,
  };
  expect(await ask("/svc/agents/alice/gateway/reminders", json({ reminders: [reminder] }))).toBe(200);
  await mgr(
    "agents single --agent-name bob mail send --to alice@svc.localhost --subject hello --body-file body.md",
  );
  await until("the wake-up is audited", async () => {
    const audit = await mgr("agents single --agent-name alice gateway mail-notifier audit --json");
    return audit.stdout.includes("enqueued");
  });
  await mgr("agents list --json");
  await mgr("doctor --json").catch(() => undefined);

  const letOut: string[] = [];
  const search = (where: string, text: string, allowed: (name: string) => boolean = () => false) => {
    for (const [name, secret] of Object.entries(secrets)) {
      if (text.includes(secret) && !allowed(name)) letOut.push(`${name}: ${where}`);
    }
  };
  for (const path of filesBelow(fixture.folder)) {
    const place = relative(fixture.folder, path);
    search(place, withoutAnswers(path), (name) => homes[name as keyof typeof homes].test(place));
  }
  for (const { pid, command, environment } of processesOf(fixture)) {
    search(`the command line of ${pid}: ${command}`, command);
    const gateway = /\b(?:gateway|serve)\b/.test(command);
    const agent = /demo-agent/.test(command);
    search(`the environment of ${pid}: ${command}`, environment, (name) =>
      name === "variable"
        ? agent
        : name === "coordinatorToken"
          ? pid === coordinator.pid
          : name === "gatewayToken" && (gateway || pid === coordinator.pid),
    );
  }
  for (const session of ["", ...(await fixture.sessions())]) {
    const words = session === "" ? ["-g"] : ["-t", `=${session}:`];
    search(`the tmux environment ${words.join(" ")}`, await fixture.tmux("show-environment", ...words));
  }
  // The last words of a program may tell what it held.
  await mgr("agents single --agent-name alice stop --json");
  await mgr("agents single --agent-name bob stop --json");
  search("what the commands said", said.join("\n"));
  search("what the coordinator complained of", coordinator.complaints());
  expect(letOut).toEqual([]);
}, 120_000);
