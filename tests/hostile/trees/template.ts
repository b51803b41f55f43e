import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openGatewayDatabase } from "../../../src/db/gateway/request-store.ts";
import { renderJson } from "../../../src/protocol/json.ts";
import { opencodePlugin } from "../../../src/services/extensions/bridges/signals/handover.ts";
import { signalPaths } from "../../../src/services/extensions/bridges/signals/spool-source.ts";
import { coordinatorPaths } from "../../../src/services/fleet/coordinator-files.ts";
import { bridgePaths, questionPaths } from "../../../src/services/headless/acp-files.ts";
import { openTurn } from "../../../src/services/headless/turn-directory.ts";
import { toTurnRequest } from "../../../src/services/headless/turn-request.ts";
import { initMailRoot, openMailRoot } from "../../../src/services/mail/filesystem/root.ts";
import { transcriptPaths } from "../../../src/services/sessions/conversations.ts";
import { buildManifest } from "../../../src/services/sessions/manifest.ts";
import { buildRecord } from "../../../src/services/sessions/record.ts";
import { sessionPaths, sessionRootOf } from "../../../src/services/sessions/roots.ts";
import { openSessionFolder } from "../../../src/services/sessions/session-folder.ts";
import { skills } from "../../../src/services/skills/catalog.ts";
import { installSkills } from "../../../src/services/skills/install.ts";
import { builtInProfiles } from "../../../src/services/terminal/profiles/built-in.ts";
import { createSystem } from "../../../src/system/system.ts";
import { sampleReport } from "../../support/sample-report.ts";

/** Three agents of the repository: one in a terminal, one headless, one that speaks ACP. */
export const agents = [
  {
    name: "worker",
    id: "id-worker",
    backend: "local_interactive",
    session: "local_interactive-20261121-1-a",
  },
  { name: "batch", id: "id-batch", backend: "claude_headless", session: "claude_headless-20261121-1-b" },
  { name: "editor", id: "id-editor", backend: "acp_headless", session: "acp_headless-20261121-1-c" },
] as const;

export const turnId = "turn-0001";
export const addresses = ["alice@svc.localhost", "bob@svc.localhost"] as const;
const moment = "2026-11-21T04:47:00.000+00:00";
const coordinatorPort = 9891;

/** Where the parts of a repository with a `.svc` folder are. Absolute. */
export function treePaths(tree: string) {
  const overlay = join(tree, ".svc");
  const runtime = join(overlay, "runtime");
  return {
    tree,
    overlay,
    runtime,
    mailbox: join(overlay, "mailbox"),
    sessions: agents.map(({ backend, session }) => sessionRootOf(runtime, backend, session)),
    coordinator: coordinatorPaths(runtime, "127.0.0.1", coordinatorPort),
    turns: agents
      .slice(1)
      .map(({ backend, session }) =>
        join(sessionRootOf(runtime, backend, session), "manifest.turn-artifacts", turnId),
      ),
    toolHome: join(tree, ".claude"),
    profiles: join(tree, "profiles.json"),
    brain: join(tree, "brain", "brain.yaml"),
    definition: join(tree, "brain"),
    role: join(tree, "brain", "roles", "worker", "system-prompt.md"),
    roleFile: join(tree, "role.md"),
    program: join(tree, "planted-program"),
  };
}

/** The system's locks are on these files; they hold nothing. */
export const lockPaths = {
  attach: ({ gatewayRoot }: ReturnType<typeof sessionPaths>) => join(gatewayRoot, "attach.lock"),
  gateway: ({ runRoot }: ReturnType<typeof sessionPaths>) => join(runRoot, "gateway.lock"),
};

/** The names under which a program in the working directory might be run by mistake. */
const programNames = ["planted-program", "tmux", "git", "ps", "claude", "svc-mgr", "svc-gateway"];

/**
 * A repository in which everything is as our own commands make it, at `tree`; and in `state` the records of
 * its two agents. What it holds is made by the product itself, so that a new file or a new column is in it.
 */
export async function makeTemplate(places: {
  tree: string;
  state: string;
  witness: string;
  bystanderPid: number;
  /** Of listeners that are none of ours, one for each agent. */
  ports: readonly number[];
}): Promise<void> {
  const { tree } = places;
  const paths = treePaths(tree);
  const put = (path: string, text: string, mode = 0o600) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode });
  };
  put(join(paths.overlay, ".gitignore"), "*\n");
  put(join(tree, ".git", "HEAD"), "ref: refs/heads/main\n");
  put(join(tree, ".git", "config"), `[core]\n\tfsmonitor = ${paths.program}\n\tpager = ${paths.program}\n`);
  const program = `#!/bin/sh\necho "$0 $*" >> ${places.witness}\n`;
  for (const name of programNames) put(join(tree, name), program, 0o755);
  put(paths.roleFile, "You review.\n");
  put(paths.role, "You work.\n");
  put(paths.brain, brainManifest);
  put(
    paths.profiles,
    renderJson({ schema_version: 1, profiles: [{ ...builtInProfiles[0], tool: "planted" }] }),
  );
  await makeMail(paths.mailbox);
  installSkills(
    { files: createSystem().files, storeRoot: join(places.state, "skills") },
    { tool: "claude", home: paths.toolHome, projection: "copy", skills },
  );
  for (const [index, root] of paths.sessions.entries()) makeSession(places, root, index);
  makeCoordinator(paths, places);
}

const brainManifest = renderJson({
  schema_version: 3,
  inputs: { tool: "claude", role_prompt_text: "You work." },
  launch_policy: { operator_prompt_mode: "unattended" },
  runtime: {
    launch_home_selector: { env_var: "CLAUDE_CONFIG_DIR", value: "/nonexistent" },
    launch_contract: { adapter_defaults: { args: ["--model", "x"] } },
  },
});

const everything = {
  box: "inbox",
  readState: "any",
  answeredState: "any",
  archived: null,
  limit: 20,
  since: null,
  includeBody: false,
  cursor: null,
  query: null,
} as const;

async function makeMail(path: string): Promise<void> {
  const deps = createSystem();
  initMailRoot(deps, path);
  const root = openMailRoot(deps, path);
  const register = (address: string, principalId: string) =>
    root.registrations.register({ address, principalId, mode: "safe" });
  for (const address of [...addresses, "former@svc.localhost", "moved@svc.localhost"]) {
    register(address, `SVC-${address.split("@")[0]}`);
  }
  const boxes = addresses.map((address) =>
    root.openMailbox({ address, principalId: `SVC-${address.split("@")[0]}` }),
  );
  const [alice, bob] = boxes;
  const nothing = { notifyBlock: null, notifyAuth: null };
  for (const number of [1, 2]) {
    await alice?.send({
      ...nothing,
      to: [addresses[1]],
      cc: [addresses[0]],
      subject: `letter ${number}`,
      body: `body ${number}\n`,
      attachments: [],
    });
  }
  for (const box of boxes) await box.list(everything);
  root.registrations.deregister({ address: "former@svc.localhost", mode: "deactivate" });
  root.registrations.register({ address: "moved@svc.localhost", principalId: "SVC-other", mode: "stash" });
  const attached = join(path, "attachments", "managed", "att-0123456789ab");
  mkdirSync(attached, { recursive: true, mode: 0o700 });
  writeFileSync(join(attached, "note.txt"), "attached\n");
  for (const box of [alice, bob]) box?.close();
  root.close();
}

function makeSession(
  places: { tree: string; state: string; bystanderPid: number; ports: readonly number[] },
  root: string,
  index: number,
) {
  const agent = agents[index] ?? agents[0];
  const headless = index > 0;
  const speaksAcp = index === 2;
  const { clock, steps, files } = createSystem();
  const paths = sessionPaths(root);
  const manifest = buildManifest({
    createdAtUtc: moment,
    tool: speaksAcp ? "demo-acp" : headless ? "claude" : "demo",
    agentName: agent.name,
    agentId: agent.id,
    sessionId: agent.session,
    generationId: `generation-${index}`,
    workdir: places.tree,
    executable: treePaths(places.tree).program,
    args: ["--flag"],
    home: { envVar: "CLAUDE_CONFIG_DIR", path: join(places.tree, ".claude") },
    envVarNames: ["NAMED"],
    unattendedArgs: null,
    tmux: {
      sessionName: `SVC-${agent.name}-1`,
      windowName: "agent",
      windowId: "@0",
      paneId: "%0",
      socket: null,
    },
    agent: { pid: places.bystanderPid, startToken: "1" },
    ...(headless
      ? {
          headless: {
            backend: agent.backend,
            life: "life-1",
            displayStyle: "plain",
            displayDetail: "concise",
            model: undefined,
            reasoningLevel: undefined,
            acp: speaksAcp ? { mode: null, policy: [] } : undefined,
          },
        }
      : {}),
  });
  const put = (path: string, value: unknown) =>
    files.write("tree", path, typeof value === "string" ? value : renderJson(value), { durable: false });
  files.ensureDirectory("tree", root);
  const mailboxRoot = treePaths(places.tree).mailbox;
  manifest.launch_plan.mailbox = {
    transport: "filesystem",
    principal_id: "SVC-alice",
    address: addresses[0],
    bindings_version: "1",
    filesystem_root: mailboxRoot,
    mailbox_kind: "in_root",
    mailbox_path: join(mailboxRoot, "mailboxes", addresses[0]),
  };
  put(paths.manifest, manifest);
  openSessionFolder(files, root).seed(manifest);
  put(join(root, "launch-environment.json"), { NAMED: "value" });
  put(paths.currentInstance, {
    schema_version: 1,
    protocol_version: "v1",
    pid: places.bystanderPid,
    host: "127.0.0.1",
    port: places.ports[index],
    execution_mode: "detached_process",
    managed_agent_instance_epoch: 1,
  });
  put(paths.pidFile, `${places.bystanderPid}\n`);
  put(paths.token, "planted-token\n");
  put(paths.challengeKey, `${"5e".repeat(32)}\n`);
  put(paths.lastPort, `${places.ports[index]}\n`);
  put(paths.events, `${JSON.stringify({ seq: 1, at_utc: moment, kind: "started" })}\n`);
  put(paths.gatewayLog, `${moment} started\n`);
  const database = openGatewayDatabase({ path: paths.queue, clock, steps });
  database.client
    .prepare(
      `INSERT INTO gateway_requests (request_id, request_kind, lane, payload_json, state, accepted_at_utc,
       managed_agent_instance_epoch) VALUES ('r-1', 'submit_prompt', 'turn_boundary', '{"prompt":"x"}', 'accepted', ?, 1)`,
    )
    .run(moment);
  database.close();
  const turn = treePaths(places.tree).turns[index - 1];
  if (turn !== undefined) makeTurn(places, { manifest, folder: turn }, put);
  if (speaksAcp && turn !== undefined) makeAcp(places, { root, turn }, put);
  makeSignals(root, put);
  makeTranscript(root, put);
  for (const lock of Object.values(lockPaths)) put(lock(paths), "");
  const record = buildRecord({
    manifest,
    manifestPath: paths.manifest,
    sessionRoot: root,
    nowMs: clock.nowMs(),
  });
  const folder = join(places.state, "registry", "live_agents", agent.id);
  files.ensureDirectory("tree", folder);
  put(join(folder, "record.json"), record);
}

function makeSignals(root: string, put: (path: string, value: unknown) => void) {
  const paths = signalPaths(root);
  createSystem().files.ensureDirectory("tree", paths.root);
  put(paths.spool, `${JSON.stringify(sampleReport({ prompt: "x" }))}\n`);
  put(paths.rotated, `${JSON.stringify(sampleReport({ prompt: "earlier" }))}\n`);
  put(paths.cursor, { schema_version: 1, read: [{ file: "1:1", offset: 0 }] });
  put(paths.claudeSettings, { hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } });
  put(paths.opencodePlugin, opencodePlugin(paths.spool));
  put(paths.opencodeConfig, { plugin: [paths.opencodePlugin] });
}

function makeTranscript(root: string, put: (path: string, value: unknown) => void) {
  const paths = transcriptPaths(root);
  createSystem().files.ensureDirectory("tree", paths.root);
  const turn = { schema_version: 1, started_at_ms: 1, ended_at_ms: 2, prompt: "x", answer: "done" };
  put(paths.conversations, {
    schema_version: 1,
    conversations: [
      { tool: "claude", id: "conversation-1", names: ["project", "conversation-1.jsonl"], noted_at_ms: 1 },
    ],
  });
  put(paths.screen, `${JSON.stringify(turn)}\n`);
  put(paths.lastScreen, { schema_version: 1, at_utc: "2026-01-01T00:00:00.000+00:00", rows: ["done"] });
  put(paths.screenBefore, `${JSON.stringify(turn)}\n`);
}

function makeAcp(
  { bystanderPid: pid }: { bystanderPid: number },
  { root, turn }: { root: string; turn: string },
  put: (path: string, value: unknown) => void,
) {
  const paths = bridgePaths(root);
  createSystem().files.ensureDirectory("tree", paths.folder);
  put(paths.host, {
    schema_version: 1,
    life: "life-1",
    runner_pid: pid,
    runner_start: "1",
    child_pid: pid,
    child_start: "1",
  });
  put(paths.next, { schema_version: 1, turn_id: turnId });
  put(paths.lock, "");
  const { question, answer } = questionPaths(turn);
  const options = [{ index: 1, text: "Allow", selected: false }];
  put(question, {
    schema_version: 1,
    decision: { kind: "permission_request", question: "Run it?", options, id: "question-1" },
  });
  put(answer, { schema_version: 1, id: "question-1", index: 1, answered_at_utc: moment });
}

function makeTurn(
  places: { bystanderPid: number },
  { manifest, folder }: { manifest: Parameters<typeof toTurnRequest>[0]["manifest"]; folder: string },
  put: (path: string, value: unknown) => void,
) {
  const { files } = createSystem();
  files.ensureDirectory("tree", folder);
  const { paths } = openTurn(files, folder);
  put(
    paths.request,
    toTurnRequest({
      manifest,
      turnId,
      turnIndex: 1,
      requestId: "r-1",
      requestedAtUtc: moment,
      prompt: "x",
      session: { mode: "exact", id: "conversation-1" },
      execution: undefined,
    }),
  );
  put(paths.process, {
    runner_pid: places.bystanderPid,
    runner_start: "1",
    child_pid: places.bystanderPid,
    child_start: "1",
    launched_at_utc: moment,
  });
  put(paths.interrupt, { requested_at_utc: moment, requested_by: "stop" });
  put(paths.result, {
    schema_version: 1,
    status: "completed",
    completed_at_utc: moment,
    returncode: 0,
    signal: null,
    completion_source: "exit",
    session_id: "conversation-1",
    history_summary: "done",
    error: null,
    usage: { input_tokens: 1 },
  });
  put(paths.exitCode, "0\n");
  put(paths.lock, "");
  put(paths.stdout, `${JSON.stringify({ type: "result", result: "done" })}\n`);
  put(paths.stderr, "nothing\n");
  put(
    paths.events,
    `${JSON.stringify({
      kind: "assistant",
      message: "done",
      turn_index: 1,
      provider: "claude",
      provider_event_type: "assistant",
      timestamp_utc: moment,
    })}\n`,
  );
}

function makeCoordinator(
  { coordinator }: ReturnType<typeof treePaths>,
  { bystanderPid: pid, ports }: { bystanderPid: number; ports: readonly number[] },
): void {
  const { files } = createSystem();
  for (const folder of [coordinator.runRoot, coordinator.logRoot]) files.ensureDirectory("tree", folder);
  const instance = {
    schema_version: 1,
    status: "ok",
    pid,
    api_base_url: `http://127.0.0.1:${ports[0]}`,
    server_root: coordinator.root,
    started_at_utc: moment,
  };
  files.write("tree", coordinator.instance, renderJson(instance), { durable: false });
  files.write("tree", coordinator.token, "planted-token\n", { durable: false });
  files.write("tree", coordinator.challengeKey, `${"5e".repeat(32)}\n`, { durable: false });
  files.write("tree", coordinator.tokenRequired, "\n", { durable: false });
  files.write("tree", coordinator.lock, "", { durable: false });
  files.write("tree", coordinator.log, "started\n", { durable: false });
}
