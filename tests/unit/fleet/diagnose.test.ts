import { describe, expect, test } from "bun:test";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import type { RemedyCode } from "../../../src/protocol/remedy.ts";
import { type AgentHealth, diagnose } from "../../../src/services/fleet/diagnose.ts";
import { diagnoseServed, noLiveGateway } from "../../../src/services/fleet/diagnose-agent.ts";
import { sampleManifest, sampleRecord } from "../../support/session-samples.ts";

const well: AgentHealth = {
  agent: { id: "id-bob", name: "bob" },
  unusable: null,
  session: "alive",
  programEnded: null,
  relaunch: "possible",
  gateway: { state: "live", why: "" },
  block: null,
  unreconciled: false,
  queueDepth: 0,
  stuck: null,
};
const unserved = { gateway: { state: "none", why: "" } } as const;
const ended = { programEnded: { sinceUtc: null } };
const stuck = { facts: ["ready_posture=unknown"], since: "noon" };
const block = (reason: NonNullable<AgentHealth["block"]>["reason"]) => ({ reason, detail: "why" });

const cases: { id: string; given: Partial<AgentHealth>; want: string[] }[] = [
  { id: "an agent that works", given: {}, want: [] },
  {
    id: "a manifest that is refused, before all else",
    given: { unusable: { state: "refused", why: "it is no JSON" }, session: "gone", ...unserved },
    want: ["damage unusable: stop_agent"],
  },
  {
    id: "a manifest that nobody could read now: the agent may well work",
    given: { unusable: { state: "unreadable", why: "EACCES" }, session: "gone", ...unserved },
    want: ["fault unreadable: run_doctor"],
  },
  { id: "stopped", given: { session: "stopped", ...unserved }, want: ["fault stopped: relaunch_agent"] },
  {
    id: "stopped beside a silent gateway",
    given: { session: "stopped", gateway: { state: "silent", why: "", pid: 7 } },
    want: ["fault stopped: relaunch_agent"],
  },
  {
    id: "a session that is gone, with its gateway and work",
    given: { session: "gone", gateway: { state: "dead", why: "" }, queueDepth: 2, unreconciled: true },
    want: ["fault session_gone: relaunch_agent"],
  },
  {
    id: "a joined agent whose launch nobody recorded",
    given: { session: "gone", relaunch: "joined", ...unserved },
    want: ["fault session_gone: rejoin_agent"],
  },
  {
    id: "an agent that cannot be launched again",
    given: { session: "gone", relaunch: "never", ...unserved },
    want: ["fault session_gone: cleanup_agent"],
  },
  {
    id: "a session that is gone for tmux while the gateway sees the program",
    given: { session: "gone" },
    want: [],
  },
  {
    id: "a program that ended, as the gateway sees it",
    given: { ...ended, block: block("agent_unavailable"), unreconciled: true },
    want: ["fault program_ended: relaunch_agent"],
  },
  {
    id: "the same without a gateway",
    given: { ...ended, ...unserved },
    want: ["fault program_ended: relaunch_agent"],
  },
  {
    id: "a program that is missing beside a damaged file that it needs",
    given: { ...ended, block: block("launch_environment_lost") },
    want: ["damage queue_unusable: run_doctor", "fault program_ended: relaunch_agent"],
  },
  { id: "a silent tmux server beside a live gateway", given: { session: "unknown" }, want: [] },
  {
    id: "a silent gateway that nobody identified: it is left alone",
    given: { gateway: { state: "silent", why: "" }, block: block("gateway_unreachable"), unreconciled: true },
    want: ["fault gateway_silent: run_doctor"],
  },
  {
    id: "a silent gateway that is proved to be its own",
    given: { gateway: { state: "silent", why: "", pid: 7 } },
    want: ["fault gateway_silent: replace_gateway"],
  },
  {
    id: "a gateway that died, and a closed queue",
    given: { gateway: { state: "dead", why: "" }, unreconciled: true },
    want: ["fault gateway_dead: attach_gateway", "fault queue_closed: attach_and_reconcile"],
  },
  { id: "no gateway and no work", given: unserved, want: ["notice gateway_missing: attach_gateway"] },
  {
    id: "no gateway, and work that waits",
    given: { ...unserved, queueDepth: 1, unreconciled: true },
    want: ["fault gateway_missing: attach_gateway"],
  },
  {
    id: "a damaged queue without a gateway, with work that waits",
    given: { ...unserved, queueDepth: 1, block: block("database_damaged") },
    want: ["damage queue_unusable: run_doctor", "fault gateway_missing: attach_gateway"],
  },
  {
    id: "a queue that a new instance closed",
    given: { block: block("reconciliation_required"), unreconciled: true },
    want: ["fault queue_closed: reconcile_queue"],
  },
  {
    id: "the same without a gateway",
    given: { ...unserved, unreconciled: true },
    want: ["notice gateway_missing: attach_gateway", "fault queue_closed: attach_and_reconcile"],
  },
  {
    id: "a full disk, before a screen that stands still",
    given: { block: block("disk_full"), stuck },
    want: ["damage queue_unusable: run_doctor", "fault stuck: explain_screen"],
  },
  { id: "a screen that stands still", given: { stuck }, want: ["fault stuck: explain_screen"] },
];

test.each(cases)("$id", ({ given, want }) => {
  const found = diagnose({ ...well, ...given });
  expect(found.map(({ severity, problem, remedy }) => `${severity} ${problem}: ${remedy.code}`)).toEqual(
    want,
  );
});

describe("a tmux server that does not answer says nothing about one agent", () => {
  const gateways = (["silent", "dead", "none"] as const).flatMap((state) =>
    (["possible", "joined", "never"] as const).map((relaunch) => ({ state, relaunch })),
  );
  test.each(gateways)(
    "gateway $state, relaunch $relaunch: nothing is ended or removed",
    ({ state, relaunch }) => {
      const found = diagnose({
        ...well,
        session: "unknown",
        relaunch,
        gateway: { state, why: "" },
        queueDepth: 2,
        unreconciled: true,
      });
      expect(found.map(({ problem, remedy }) => [problem, remedy.code])).toEqual([
        ["session_unknown", "run_doctor"],
      ]);
    },
  );
});

test.each<{ id: string; status: Partial<GatewayStatus>; want: RemedyCode | null }>([
  { id: "that takes requests", status: {}, want: null },
  {
    id: "whose queue waits for a reconciliation",
    status: {
      managed_agent_recovery: "reconciliation_required",
      request_admission: "blocked_reconciliation",
      admission_block: block("reconciliation_required"),
    },
    want: "reconcile_queue",
  },
  {
    id: "whose agent is away",
    status: {
      managed_agent_connectivity: "unavailable",
      request_admission: "blocked_unavailable",
      admission_block: block("agent_unavailable"),
    },
    want: "relaunch_agent",
  },
  {
    id: "whose disk is full",
    status: { request_admission: "blocked_unavailable", admission_block: block("disk_full") },
    want: "run_doctor",
  },
])("the remedy of a gateway $id", ({ status, want }) => {
  const served = {
    managed_agent_connectivity: "connected",
    managed_agent_recovery: "idle",
    request_admission: "open",
    queue_depth: 0,
    ...status,
  } as GatewayStatus;
  const found = diagnoseServed({ manifest: sampleManifest(), record: null }, served);
  expect(found?.remedy.code ?? null).toBe(want);
});

const launched = sampleManifest();
const joined = {
  ...launched,
  agent_launch_authority: { ...launched.agent_launch_authority, posture_kind: "unavailable" as const },
};

test.each([
  {
    id: "that no gateway serves",
    gateway: "none",
    state: "active",
    want: { code: "attach_gateway", agent_id: "id-worker" },
  },
  {
    id: "whose gateway does not answer",
    gateway: "silent",
    state: "active",
    want: { code: "run_doctor" },
  },
  {
    id: "that was stopped",
    gateway: "none",
    state: "stopped",
    want: { code: "relaunch_agent", agent_id: "id-worker" },
  },
  {
    id: "that was stopped and was joined",
    gateway: "none",
    state: "stopped",
    manifest: joined,
    want: { code: "rejoin_agent", agent_name: "worker" },
  },
] as const)("what is asked of an agent $id is refused with its remedy", (one) => {
  const { gateway, state, want } = one;
  const manifest = "manifest" in one ? one.manifest : launched;
  const active = sampleRecord();
  const record = { ...active, lifecycle: { ...active.lifecycle, state } };
  const refusal = noLiveGateway({ manifest, record }, { state: gateway, why: "why" });
  expect(refusal.message).toBe('no live gateway serves "worker": why');
  expect(refusal.data).toEqual({ remedy: want });
});
