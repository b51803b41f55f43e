import { globSync } from "node:fs";
import { join } from "node:path";
import { type Damage, everyDamage, type Told } from "./damaged-files.ts";
import type { SickAgent } from "./sick-agent.ts";

const open = "healthy/connected/open";
const closed = "not_attached/unavailable/blocked_unavailable";

/** Of an agent in good order, with a gateway that runs and without one. */
export const fine: Told = { status: open, request: "202", mail: "200 200", list: "listed", doctor: "ok" };
export const offline: Told = { status: closed, request: "none", mail: "none", list: "listed", doctor: "ok" };

type Part = Partial<Told>;
/** What differs from an agent in good order: for every damage, then for single ones. */
export type Difference = Part & { but?: Partial<Record<Damage, Part>> };

/** One file of a session or of its mailbox, in an agent of its own. */
export interface FileRow {
  /** As the documentation has it. */
  file: string;
  path: (place: { agent: SickAgent; agentId: string; mailRoot: string; stateRoot: string }) => string;
  /** `ends`: without the file the gateway is as good as absent, and ends. */
  live: Difference | "ends";
  offline: Difference;
  /** The exit code with which a gateway is then started; 0 where nothing is given. */
  attach?: Partial<Record<Damage, number>>;
  /** Of the agent's launch. */
  env?: Record<string, string>;
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
const all = (code: number) => Object.fromEntries(everyDamage.map((damage) => [damage, code]));

export const fileRows: FileRow[] = [
  {
    file: ".../manifest.json",
    path: ({ agent }) => agent.paths.manifest,
    live: {
      request: "503",
      status: "healthy/unavailable/blocked_unavailable/manifest_unusable",
      mail: "422 422",
      list: "problem",
      ...broken,
    },
    offline: { status: "exit 1", list: "problem", ...broken },
    attach: all(1),
  },
  {
    file: ".../gateway/queue.sqlite",
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
    path: ({ agent }) => agent.paths.desiredConfig,
    live: { ...broken, but: { deleted: { doctor: "ok" } } },
    offline: { ...broken, but: { deleted: { doctor: "ok" } } },
    attach: { ...all(3), deleted: 0 },
  },
  {
    file: ".../gateway/state.json",
    path: ({ agent }) => agent.paths.state,
    live: derived,
    offline: derived,
    rewritten: true,
  },
  {
    file: ".../gateway/attach.json",
    path: ({ agent }) => agent.paths.attach,
    live: derived,
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/gateway_manifest.json",
    path: ({ agent }) => agent.paths.gatewayManifest,
    live: derived,
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/protocol-version.txt",
    path: ({ agent }) => agent.paths.protocolVersion,
    live: text,
    offline: text,
    attach: { "a folder": 3 },
  },
  { file: ".../gateway/events.jsonl", path: ({ agent }) => agent.paths.events, live: text, offline: text },
  {
    file: ".../gateway/logs/gateway.log",
    path: ({ agent }) => agent.paths.gatewayLog,
    live: text,
    offline: text,
    attach: { "a folder": 1 },
  },
  {
    file: ".../gateway/attach.lock",
    path: ({ agent }) => join(agent.paths.gatewayRoot, "attach.lock"),
    live: text,
    offline: text,
    attach: { "a folder": 1 },
  },
  {
    file: ".../gateway/run/gateway.lock",
    path: ({ agent }) => join(agent.paths.runRoot, "gateway.lock"),
    live: text,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/current-instance.json",
    path: ({ agent }) => agent.paths.currentInstance,
    live: "ends",
    offline: derived,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/gateway.pid",
    path: ({ agent }) => agent.paths.pidFile,
    live: text,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/challenge-key",
    path: ({ agent }) => agent.paths.challengeKey,
    live: unreachable,
    offline: text,
    attach: { "a folder": 3 },
  },
  {
    file: ".../gateway/run/token",
    path: ({ agent }) => agent.paths.token,
    env: { SVC_GATEWAY_TOKEN: "a-token-of-this-test" },
    live: unreachable,
    offline: text,
    attach: { "a folder": 3 },
  },
  { file: ".../gateway/run/last-port", path: ({ agent }) => agent.paths.lastPort, live: text, offline: text },
  {
    file: ".../gateway/run/reminders.json",
    path: ({ agent }) => agent.paths.reminders,
    live: derived,
    offline: derived,
  },
  {
    file: "MAILBOX_ROOT/index.sqlite",
    path: ({ mailRoot }) => join(mailRoot, "index.sqlite"),
    live: {
      ...{ ...broken, mail: "502 502" },
      but: { emptied: { ...noticed, mail: "422 422" }, "a folder": { mail: "422 422" } },
    },
    offline: { ...broken, but: { emptied: noticed } },
    restart: true,
  },
  {
    file: "MAILBOX_ROOT/mailboxes/<address>/mailbox.sqlite",
    path: ({ mailRoot, agent }) => join(mailRoot, `mailboxes/${agent.name}@svc.localhost/mailbox.sqlite`),
    live: {
      ...{ ...broken, mail: "502 502" },
      but: {
        deleted: { doctor: "ok", mail: "200 200" },
        emptied: { doctor: "ok", mail: "200 200" },
        "a folder": { mail: "422 422" },
      },
    },
    offline: { ...broken, but: { deleted: { doctor: "ok" }, emptied: { doctor: "ok" } } },
    restart: true,
  },
  {
    file: "MAILBOX_ROOT/messages/<date>/<id>.md",
    path: ({ mailRoot }) => globSync(join(mailRoot, "messages/*/*.md"))[0] ?? "",
    live: { but: { deleted: { mail: "200 502" }, "a folder": { mail: "200 502" } } },
    offline: {},
  },
  {
    file: "MAILBOX_ROOT/protocol-version.txt",
    path: ({ mailRoot }) => join(mailRoot, "protocol-version.txt"),
    live: {
      ...{ ...broken, mail: "422 422" },
      // The gateway that is asked after a deletion has the mailbox open; others find it closed.
      but: { deleted: { mail: "200 200" }, cut: { doctor: "ok", mail: "200 200" } },
    },
    offline: { ...broken, but: { cut: { doctor: "ok" } } },
  },
  {
    file: "MAILBOX_ROOT/locks/index.lock",
    path: ({ mailRoot }) => join(mailRoot, "locks/index.lock"),
    live: {},
    offline: {},
  },
  {
    file: "registry/live_agents/<id>/record.json",
    path: ({ stateRoot, agentId }) => join(stateRoot, `registry/live_agents/${agentId}/record.json`),
    live: { list: "orphan", ...broken },
    offline: { status: "exit 1", list: "orphan", ...broken },
    attach: all(1),
  },
  {
    file: "registry/locks/<id>.lock",
    path: ({ stateRoot, agentId }) => join(stateRoot, `registry/locks/${agentId}.lock`),
    live: text,
    offline: text,
  },
];

/** One file of a headless turn that has ended. */
export interface TurnRow {
  file: string;
  /** Its status while the file is damaged, or the HTTP status; `completed` where nothing is given. */
  told?: "unknown" | 404;
  /** Exit code of `turn status`, and the status or the error. */
  read?: { folder: [number, string]; other: [number, string] };
}

const noRecord: [number, string] = [1, "not_found"];

export const turnRows: TurnRow[] = [
  { file: "request.json", told: 404, read: { folder: noRecord, other: noRecord } },
  // What the output still proves is written again, but not where a folder is.
  { file: "result.json", told: "unknown", read: { folder: [1, "storage"], other: [0, "completed"] } },
  { file: "process.json" },
  { file: "stdout.jsonl" },
  { file: "stderr.log" },
  { file: "canonical-events.jsonl" },
  { file: "exitcode" },
  { file: "turn.lock" },
];
