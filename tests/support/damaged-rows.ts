import { globSync } from "node:fs";
import { join } from "node:path";
import { signalPaths } from "../../src/services/extensions/bridges/signals/spool-source.ts";
import { sha256 } from "../../src/system/digest.ts";
import { type Damage, everyDamage, type Reported } from "./damaged-files.ts";
import type { SickAgent } from "./sick-agent.ts";

const open = "healthy/connected/open";
const closed = "not_attached/unavailable/blocked_unavailable";

/** Of an agent in good order, with a gateway that runs and without one. */
export const fine: Reported = { status: open, request: "202", mail: "200 200", list: "listed", doctor: "ok" };
export const offline: Reported = {
  status: closed,
  request: "none",
  mail: "none",
  list: "listed",
  doctor: "ok",
};

type Part = Partial<Reported>;
/** What differs from an agent in good order: for every damage, then for single ones. */
export type Difference = Part & { but?: Partial<Record<Damage, Part>> };

/** What writes a file, as `tests/faults/damaged-files-full-disk.test.ts` does it on a full disk. */
export type FullDiskWrite =
  | "prompt"
  | "turn"
  | "mail"
  | "mail flags"
  | "mailbox init"
  | "reminder"
  | "status"
  | "event"
  | "manifest"
  | "desired config"
  | "hook"
  | "launch"
  | "headless launch"
  | "adopt"
  | "coordinator"
  | "start"
  /** The lock of an empty file: nothing is written. */
  | "lock";

interface Place {
  agent: SickAgent;
  agentId: string;
  mailRoot: string;
  stateRoot: string;
  /** The project overlay of the agent; there for a row with `overlay` only. */
  overlay: string;
}

/** One file of a session or of its mailbox, in an agent of its own. */
export interface FileRow {
  /** As the documentation has it. */
  file: string;
  full: FullDiskWrite;
  path: (place: Place) => string;
  /** `ends`: without the file the gateway is as good as absent, and ends. */
  live: Difference | "ends";
  offline: Difference;
  /** The exit code with which a gateway is then started; 0 where nothing is given. */
  attach?: Partial<Record<Damage, number>>;
  /** Of the agent's launch. */
  env?: Record<string, string>;
  agentFlags?: string[];
  /** The agent is launched in a project whose overlay was adopted. */
  overlay?: true;
  /** A gateway works only from its start with the file that was put back. */
  restart?: true;
  /** A gateway that runs may have written it again before `doctor` looks. */
  rewritten?: true;
}

const noticed = { doctor: "warning" };
const broken = { doctor: "damaged" };
const derived: Difference = { ...noticed, but: { deleted: { doctor: "ok" } } };
const text: Difference = { but: { "a folder": broken } };
const unusable = (damage: string) => `blocked_unavailable/database_${damage}`;
const lostLive = { status: `healthy/connected/${unusable("lost")}` };
/** The gateway writes it again, but not where a folder is. */
const unreachable: Difference = {
  but: {
    "a folder": { status: `${closed}/gateway_unreachable`, list: "problem", ...broken },
  },
};
/** Contract 4.1, mail rule 3: a session without a usable manifest-backed binding answers 422. */
const noManifest: Difference = {
  request: "503",
  status: "healthy/unavailable/blocked_unavailable/manifest_unusable",
  mail: "422 422",
  list: "problem",
  ...broken,
};
const all = (code: number) => Object.fromEntries(everyDamage.map((damage) => [damage, code]));

export const fileRows: FileRow[] = [
  {
    file: ".../manifest.json",
    full: "manifest",
    path: ({ agent }) => agent.paths.manifest,
    live: noManifest,
    offline: { status: "exit 1", list: "problem", ...broken },
    attach: all(1),
  },
  {
    file: ".../gateway/queue.sqlite",
    full: "prompt",
    path: ({ agent }) => agent.paths.queue,
    live: {
      status: `healthy/connected/${unusable("damaged")}`,
      request: "503",
      list: "problem",
      ...broken,
      but: { deleted: lostLive, "a folder": lostLive },
    },
    offline: {
      status: `not_attached/unavailable/${unusable("damaged")}`,
      list: "problem",
      ...broken,
      but: {
        deleted: { status: `not_attached/unavailable/${unusable("lost")}` },
        "a folder": { status: `not_attached/unavailable/${unusable("unusable")}` },
      },
    },
    attach: { cut: 3, garbage: 3, "not JSON": 3, "a folder": 3 },
    restart: true,
  },
  {
    file: ".../gateway/desired-config.json",
    full: "desired config",
    path: ({ agent }) => agent.paths.desiredConfig,
    live: { ...broken, but: { deleted: { doctor: "ok" } } },
    offline: { ...broken, but: { deleted: { doctor: "ok" } } },
    attach: { ...all(3), deleted: 0 },
  },
  {
    file: ".../gateway/state.json",
    full: "status",
    path: ({ agent }) => agent.paths.state,
    live: derived,
    offline: derived,
    rewritten: true,
  },
  {
    file: ".../gateway/attach.json",
    full: "start",
    path: ({ agent }) => agent.paths.attach,
    live: derived,
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/gateway_manifest.json",
    full: "start",
    path: ({ agent }) => agent.paths.gatewayManifest,
    live: derived,
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/protocol-version.txt",
    full: "launch",
    path: ({ agent }) => agent.paths.protocolVersion,
    live: text,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/events.jsonl",
    full: "event",
    path: ({ agent }) => agent.paths.events,
    live: text,
    offline: text,
  },
  {
    file: ".../gateway/logs/gateway.log",
    full: "start",
    path: ({ agent }) => agent.paths.gatewayLog,
    live: text,
    offline: text,
    attach: { "a folder": 1 },
  },
  {
    file: ".../gateway/attach.lock",
    full: "lock",
    path: ({ agent }) => join(agent.paths.gatewayRoot, "attach.lock"),
    live: text,
    offline: text,
    attach: { "a folder": 1 },
  },
  {
    file: ".../gateway/run/gateway.lock",
    full: "lock",
    path: ({ agent }) => join(agent.paths.runRoot, "gateway.lock"),
    live: text,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/current-instance.json",
    full: "start",
    path: ({ agent }) => agent.paths.currentInstance,
    live: "ends",
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/gateway.pid",
    full: "start",
    path: ({ agent }) => agent.paths.pidFile,
    live: text,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/challenge-key",
    full: "start",
    path: ({ agent }) => agent.paths.challengeKey,
    live: unreachable,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/token",
    full: "start",
    path: ({ agent }) => agent.paths.token,
    env: { SVC_GATEWAY_TOKEN: "a-token-of-this-test" },
    live: unreachable,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/last-port",
    full: "start",
    path: ({ agent }) => agent.paths.lastPort,
    live: text,
    offline: text,
  },
  {
    file: "MAILBOX_ROOT/index.sqlite",
    full: "mail",
    path: ({ mailRoot }) => join(mailRoot, "index.sqlite"),
    // The carrier failed, whatever the binding says: contract 4.1, mail rule 3.
    live: { ...broken, mail: "502 502" },
    offline: broken,
    restart: true,
  },
  {
    file: "MAILBOX_ROOT/mailboxes/<address>/mailbox.sqlite",
    full: "mail flags",
    path: ({ mailRoot, agent }) => join(mailRoot, `mailboxes/${agent.name}@svc.localhost/mailbox.sqlite`),
    live: {
      ...broken,
      mail: "502 502",
      but: {
        deleted: { doctor: "ok", mail: "200 200" },
        emptied: { doctor: "ok", mail: "200 200" },
      },
    },
    offline: { ...broken, but: { deleted: { doctor: "ok" }, emptied: { doctor: "ok" } } },
    restart: true,
  },
  {
    file: "MAILBOX_ROOT/mailboxes/<address>/attestation.key",
    full: "mail",
    path: ({ mailRoot, agent }) => join(mailRoot, `mailboxes/${agent.name}@svc.localhost/attestation.key`),
    // Mail goes on: with another key, or unsigned.
    live: {},
    offline: {},
  },
  {
    file: "MAILBOX_ROOT/messages/<date>/<id>.md",
    full: "mail",
    path: ({ mailRoot }) => globSync(join(mailRoot, "messages/*/*.md"))[0] ?? "",
    live: { ...noticed, mail: "200 502" },
    offline: noticed,
  },
  {
    file: "MAILBOX_ROOT/attachments/managed/<id>/<name>",
    full: "mail",
    path: ({ mailRoot }) => globSync(join(mailRoot, "attachments/managed/*/report.txt"))[0] ?? "",
    live: noticed,
    offline: noticed,
  },
  {
    file: "MAILBOX_ROOT/protocol-version.txt",
    full: "mailbox init",
    path: ({ mailRoot }) => join(mailRoot, "protocol-version.txt"),
    // Whoever opens the mailbox next writes it again, `doctor` too.
    live: text,
    offline: text,
  },
  {
    file: "MAILBOX_ROOT/locks/index.lock",
    full: "lock",
    path: ({ mailRoot }) => join(mailRoot, "locks/index.lock"),
    live: text,
    offline: text,
  },
  {
    file: "registry/live_agents/<id>/record.json",
    full: "launch",
    path: ({ stateRoot, agentId }) => join(stateRoot, `registry/live_agents/${agentId}/record.json`),
    live: { list: "orphan", ...broken },
    offline: { status: "exit 1", list: "orphan", ...broken },
    attach: all(1),
  },
  {
    file: "registry/locks/<id>.lock",
    full: "lock",
    path: ({ stateRoot, agentId }) => join(stateRoot, `registry/locks/${agentId}.lock`),
    live: text,
    offline: text,
  },
  ...signalRows(),
  ...transcriptRows(),
  {
    file: "overlays/<id>.json",
    full: "adopt",
    path: ({ stateRoot, overlay }) => join(stateRoot, `overlays/${sha256(overlay).slice(0, 32)}.json`),
    overlay: true,
    live: noManifest,
    offline: { status: "exit 1", list: "problem", ...broken },
    attach: all(1),
  },
  {
    file: ".svc/adoption-key",
    full: "adopt",
    path: ({ overlay }) => join(overlay, "adoption-key"),
    overlay: true,
    live: noManifest,
    offline: { status: "exit 1", list: "problem", ...broken },
    attach: all(1),
  },
];

/** The tool writes into the first; a gateway that reads nothing of it has the screen. */
function transcriptRows(): FileRow[] {
  return ["conversations.json", "screen-turns.jsonl", "last-screen.json"].map((name) => ({
    file: `.../transcript/${name}`,
    full: "event",
    path: ({ agent }) => join(agent.sessionRoot, "transcript", name),
    live: {},
    offline: {},
  }));
}

function signalRows(): FileRow[] {
  const at = (key: Exclude<keyof ReturnType<typeof signalPaths>, "root">) => (place: Place) =>
    signalPaths(place.agent.sessionRoot)[key];
  const reporting = { agentFlags: ["--signals"] };
  return [
    {
      file: ".../signals/reports.jsonl",
      full: "hook",
      path: at("spool"),
      live: text,
      offline: text,
      ...reporting,
    },
    {
      file: ".../signals/reports.1.jsonl",
      full: "lock",
      path: at("rotated"),
      live: text,
      offline: text,
      ...reporting,
    },
    {
      file: ".../signals/cursor.json",
      full: "hook",
      path: at("cursor"),
      ...reporting,
      rewritten: true,
      live: derived,
      offline: derived,
    },
    {
      file: ".../signals/claude-settings.json",
      full: "launch",
      path: at("claudeSettings"),
      live: derived,
      offline: derived,
    },
    {
      file: ".../signals/opencode-plugin.js",
      full: "launch",
      path: at("opencodePlugin"),
      live: text,
      offline: text,
    },
    {
      file: ".../signals/opencode.json",
      full: "launch",
      path: at("opencodeConfig"),
      live: derived,
      offline: derived,
    },
  ];
}

/** One file of a headless turn that has ended. */
export interface TurnRow {
  file: string;
  full: FullDiskWrite;
  /** Its status while the file is damaged, or the HTTP status; `completed` where nothing is given. */
  told?: "unknown" | 404;
  /** Exit code of `turn status`, and the status or the error. */
  read?: { folder: [number, string]; other: [number, string] };
}

const noRecord: [number, string] = [1, "not_found"];

export const turnRows: TurnRow[] = [
  { file: "request.json", full: "turn", told: 404, read: { folder: noRecord, other: noRecord } },
  // What the output still proves is written again, but not where a folder is.
  {
    file: "result.json",
    full: "turn",
    told: "unknown",
    read: { folder: [1, "storage"], other: [0, "completed"] },
  },
  { file: "process.json", full: "turn" },
  { file: "stdout.jsonl", full: "turn" },
  { file: "stderr.log", full: "turn" },
  { file: "canonical-events.jsonl", full: "turn" },
  { file: "exitcode", full: "turn" },
  { file: "turn.lock", full: "lock" },
];

/** One file of a coordination server that was started with a token. */
interface CoordinatorRow {
  file: string;
  full: FullDiskWrite;
  /** What `doctor` says while it serves: `ok` where nothing is given, and `damaged` of a folder. */
  doctor?: string;
  /**
   * Of the next start: HTTP statuses with the token and without, or a part of the refusal; 200 and 401 unless
   * given.
   */
  restart?: Partial<Record<Damage, [number, number] | string>>;
}

const inTheWay = { "a folder": "a folder is where it belongs; doctor names it" };

const ofCoordinator: CoordinatorRow[] = [
  { file: "run/current-instance.json", full: "coordinator", doctor: "warning", restart: inTheWay },
  { file: "run/token", full: "coordinator", doctor: "warning", restart: inTheWay },
  { file: "run/challenge-key", full: "coordinator", doctor: "warning", restart: inTheWay },
  // Without it nobody knows that this port had a token.
  { file: "token-required", full: "coordinator", restart: { deleted: [200, 200] } },
  { file: "run/coordinator.lock", full: "lock", restart: { "a folder": "is no regular file" } },
  { file: "logs/coordinator.log", full: "coordinator" },
];
export const coordinatorRows = ofCoordinator.map((row) => ({
  ...row,
  file: `runtime/coordinators/<host>-<port>/${row.file}`,
}));
