import { describe, expect, test } from "bun:test";
import type { TeamAgent, TeamLaunch } from "../../../../src/protocol/team-file.ts";
import { toLaunchDetails } from "../../../../src/services/extensions/team/launch-details.ts";
import {
  planDown,
  planTeam,
  type RunningAgent,
  type TeamFacts,
  unfinished,
} from "../../../../src/services/extensions/team/plan.ts";

const launch: TeamLaunch = {
  tool: "demo",
  workdir: "/home/user/project",
  worktree: false,
  args: [],
  headless: false,
  unattended: false,
  mailbox: false,
  model: null,
  role_sha256: null,
  env_sha256: "none",
};
const details = toLaunchDetails({ tool: "demo" }, { variables: {}, workdir: launch.workdir, outside: null });
const idle: RunningAgent = {
  agent_name: "a",
  agent_id: "id-a",
  lifecycle_state: "active",
  session_gone: false,
  turn_phase: "ready",
  queue_depth: 0,
  gateway_base_url: "http://127.0.0.1:1",
  team: { file: "/home/user/project/svc.yaml", member: "a" },
  folder: "/home/user/project",
  session_root: "/home/user/state/session",
};
const facts: TeamFacts = {
  file: "/home/user/project/svc.yaml",
  prefix: "",
  team: { version: 1, agents: { a: { tool: "demo" } } },
  launches: { a: launch },
  details: { a: details },
  state: { a: { agent_id: "id-a", launch } },
  running: [idle],
  worktrees: new Set(),
  addresses: new Set(),
  reminders: {},
  liveReminders: {},
  liveNotifiers: {},
  restart: false,
  prune: false,
};
const changed = { a: { ...launch, args: ["-x"], env_sha256: "other" } };
const half = { a: { agent_id: "id-a", launch: unfinished(launch) } };
const inWorktree = { a: { ...launch, worktree: true } };

describe("the plan for an agent that", () => {
  test.each<{ id: string; change: Partial<TeamFacts>; want: object[] }>([
    { id: "is as the file says", change: {}, want: [{ step: "keep" }] },
    { id: "does not run", change: { running: [] }, want: [{ step: "launch" }] },
    { id: "never ran", change: { running: [], state: {} }, want: [{ step: "launch" }] },
    {
      id: "was stopped",
      change: { running: [{ ...idle, lifecycle_state: "stopped" }] },
      want: [{ step: "resume", agentId: "id-a", waiting: 0 }],
    },
    {
      id: "lost its session, with prompts that wait",
      change: { running: [{ ...idle, session_gone: true, queue_depth: 2 }] },
      want: [{ step: "resume", agentId: "id-a", waiting: 2 }],
    },
    {
      id: "was stopped, and its worktree removed",
      change: {
        launches: inWorktree,
        state: { a: { agent_id: "id-a", launch: { ...launch, worktree: true } } },
        running: [{ ...idle, lifecycle_state: "stopped" }],
      },
      want: [{ step: "worktree" }, { step: "resume" }],
    },
    {
      id: "was stopped by another owner",
      change: { running: [{ ...idle, lifecycle_state: "stopped", team: null }] },
      want: [{ step: "launch" }],
    },
    {
      id: "was stopped, and its folder cannot be read",
      change: { running: [{ ...idle, lifecycle_state: "stopped", folder: null }] },
      want: [{ step: "launch" }],
    },
    {
      id: "was stopped and differs",
      change: { launches: changed, running: [{ ...idle, lifecycle_state: "stopped" }] },
      want: [{ step: "launch" }],
    },
    {
      id: "was stopped, differs, and prompts wait for it",
      change: { launches: changed, running: [{ ...idle, lifecycle_state: "stopped", queue_depth: 1 }] },
      want: [{ step: "leave", why: expect.stringContaining("1 prompt waits for it") }],
    },
    {
      id: "was stopped, differs, has prompts that wait, and is to be restarted",
      change: {
        launches: changed,
        running: [{ ...idle, lifecycle_state: "stopped", queue_depth: 1 }],
        restart: true,
      },
      want: [{ step: "launch" }],
    },
    {
      id: "differs and is idle",
      change: { launches: changed },
      want: [{ step: "replace", differs: ["args", "env"] }],
    },
    {
      id: "differs and works",
      change: { launches: changed, running: [{ ...idle, turn_phase: "active" }] },
      want: [{ step: "leave", why: expect.stringContaining("--restart") }],
    },
    {
      id: "differs and has a queue",
      change: { launches: changed, running: [{ ...idle, queue_depth: 1 }] },
      want: [{ step: "leave" }],
    },
    {
      id: "differs, and nobody knows whether it works",
      change: { launches: changed, running: [{ ...idle, turn_phase: "unknown", queue_depth: null }] },
      want: [{ step: "leave" }],
    },
    {
      id: "has no gateway, because its launch was interrupted",
      change: { state: half, running: [{ ...idle, turn_phase: "unknown", gateway_base_url: null }] },
      want: [{ step: "replace", differs: ["how far its launch got"] }],
    },
    {
      id: "did not answer, and its launch was interrupted",
      change: {
        state: half,
        running: [{ ...idle, turn_phase: "unknown", queue_depth: null, gateway_base_url: null }],
      },
      want: [{ step: "leave" }],
    },
    {
      id: "works, though its launch was interrupted",
      change: { state: half, running: [{ ...idle, turn_phase: "active" }] },
      want: [{ step: "leave", why: expect.stringContaining("--restart") }],
    },
    {
      id: "differs, works, and is to be restarted",
      change: { launches: changed, restart: true, running: [{ ...idle, turn_phase: "active" }] },
      want: [{ step: "replace" }],
    },
    {
      id: "another folder's file launched, under the same id",
      change: {
        running: [{ ...idle, team: { file: "/other/svc.yaml", member: "a" }, folder: "/other" }],
        restart: true,
      },
      want: [{ step: "clash", agentId: "id-a", owner: "/other/svc.yaml", folder: "/other" }],
    },
    {
      id: "a person launched after this file had one of the name",
      change: { running: [{ ...idle, team: null, folder: "/hand" }], launches: changed, restart: true },
      want: [{ step: "clash", owner: null, folder: "/hand" }],
    },
    {
      id: "another folder's file launched and that ended",
      change: {
        running: [
          {
            ...idle,
            lifecycle_state: "stopped",
            team: { file: "/other/svc.yaml", member: "a" },
            folder: "/other",
          },
        ],
      },
      want: [{ step: "launch" }],
    },
    {
      id: "runs under a prefix",
      change: { prefix: "b", running: [{ ...idle, agent_name: "b-a" }] },
      want: [{ step: "keep" }],
    },
    {
      id: "has the whole name of another project's agent, but for the prefix",
      change: { prefix: "b", running: [{ ...idle, team: { file: "/other/svc.yaml", member: "a" } }] },
      want: [{ step: "launch" }],
    },
    {
      id: "was launched by an `up` that was killed before it wrote that down",
      change: { state: {} },
      want: [{ step: "replace", differs: ["how far its launch got"] }],
    },
    {
      id: "wants a worktree that is not there",
      change: { launches: inWorktree, running: [] },
      want: [{ step: "worktree" }, { step: "launch" }],
    },
    {
      id: "wants a worktree that is there",
      change: { launches: inWorktree, running: [], worktrees: new Set(["a"]) },
      want: [{ step: "launch" }],
    },
    {
      id: "left the file",
      change: { team: { version: 1, agents: {} }, launches: {} },
      want: [{ step: "leave", why: expect.stringContaining("--prune") }],
    },
    {
      id: "left the file, with --prune",
      change: { team: { version: 1, agents: {} }, launches: {}, prune: true },
      want: [{ step: "stop", agentId: "id-a" }],
    },
    {
      id: "left the file, and another of its name runs",
      change: {
        team: { version: 1, agents: {} },
        launches: {},
        prune: true,
        running: [{ ...idle, team: { file: "/other/svc.yaml", member: "a" } }],
      },
      want: [],
    },
  ])("$id", ({ change, want }) => {
    expect(planTeam({ ...facts, ...change })).toMatchObject(want);
    expect(planTeam({ ...facts, ...change })).toHaveLength(want.length);
  });
});

describe("the plan for reminders of an agent that", () => {
  const made = { "schedule one": { reminder_id: "r1", sha256: "d1" } };
  const state = { a: { agent_id: "id-a", launch, reminders: made } };
  const wanted = { a: { "schedule one": { sha256: "d1", prompt: "look", when: "every 60 s" } } };
  const add = { step: "remind", agent: "a", name: "schedule one", prompt: "look", when: "every 60 s" };
  const forget = { step: "forget", agent: "a", name: "schedule one", reminderId: "r1" };
  const live = (...ids: string[]) => ({ a: new Set(ids) });

  test.each<{ id: string; change: Partial<TeamFacts>; want: object[] }>([
    {
      id: "has them as the file says",
      change: { state, reminders: wanted, liveReminders: live("r1", "by-hand") },
      want: [{ step: "keep" }],
    },
    {
      id: "has none yet",
      change: { reminders: wanted, liveReminders: live() },
      want: [add],
    },
    {
      id: "is launched",
      change: { reminders: wanted, running: [] },
      want: [{ step: "launch" }, add],
    },
    {
      id: "is replaced",
      change: { state, launches: changed, reminders: wanted, liveReminders: live("r1") },
      want: [{ step: "replace" }, add],
    },
    {
      id: "has another definition",
      change: {
        state,
        reminders: { a: { "schedule one": { sha256: "d2", prompt: "look", when: "every 60 s" } } },
        liveReminders: live("r1"),
      },
      want: [forget, add],
    },
    {
      id: "lost one, because somebody removed it",
      change: { state, reminders: wanted, liveReminders: live("by-hand") },
      want: [add],
    },
    {
      id: "has one that left the file",
      change: { state, reminders: {}, liveReminders: live("r1", "by-hand") },
      want: [forget],
    },
    {
      id: "has one that left the file and is gone already",
      change: { state, reminders: {}, liveReminders: live("by-hand") },
      want: [{ step: "keep" }],
    },
    {
      id: "differs and works",
      change: {
        launches: changed,
        reminders: wanted,
        liveReminders: live(),
        running: [{ ...idle, turn_phase: "active" }],
      },
      want: [{ step: "leave" }, add],
    },
    {
      id: "cannot be asked",
      change: { state, reminders: wanted, liveReminders: { a: null } },
      want: [{ step: "leave", why: expect.stringContaining("does not answer") }],
    },
  ])("$id", ({ change, want }) => {
    expect(planTeam({ ...facts, ...change })).toMatchObject(want);
    expect(planTeam({ ...facts, ...change })).toHaveLength(want.length);
  });
});

describe("the plan for the notifier of an agent that", () => {
  const team = (notifier: NonNullable<TeamAgent["notifier"]>) => ({
    version: 1 as const,
    agents: { a: { tool: "demo" as const, mailbox: true, notifier } },
  });
  const live = (settings: object) => ({
    a: { enabled: true, max_hops: 20, max_wakes_per_hour: 12, ...settings },
  });
  const set = (...changes: object[]) => [{ step: "notifier", agent: "a", enabled: true, changes }];

  test.each<{ id: string; change: Partial<TeamFacts>; want: object[] }>([
    {
      id: "has it as the file says",
      change: { team: team({ max_hops: 20 }), liveNotifiers: live({}) },
      want: [{ step: "keep" }],
    },
    {
      id: "accepts only verified mail, and the file accepts all",
      change: {
        team: team({ require_attestation: "none" }),
        liveNotifiers: live({ require_attestation: "verified" }),
      },
      want: set({ setting: "require_attestation", from: "verified", to: "none", widens: true }),
    },
    {
      id: "accepts all mail, and the file only verified mail",
      change: {
        team: team({ require_attestation: "verified" }),
        liveNotifiers: live({ require_attestation: "none" }),
      },
      want: set({ setting: "require_attestation", from: "none", to: "verified", widens: false }),
    },
    {
      id: "has fewer hops than the file",
      change: { team: team({ max_hops: 21 }), liveNotifiers: live({}) },
      want: set({ setting: "max_hops", from: 20, to: 21, widens: true }),
    },
    {
      id: "has a limit of hops, and the file none",
      change: { team: team({ max_hops: 0 }), liveNotifiers: live({}) },
      want: set({ setting: "max_hops", from: 20, to: 0, widens: true }),
    },
    {
      id: "has no limit of hops, and the file one",
      change: { team: team({ max_hops: 3 }), liveNotifiers: live({ max_hops: 0 }) },
      want: set({ setting: "max_hops", from: 0, to: 3, widens: false }),
    },
    {
      id: "gets another text in its wake-ups",
      change: { team: team({ appendix_text: "obey" }), liveNotifiers: live({ appendix_text: "" }) },
      want: set({ setting: "appendix_text", from: "", to: "obey", widens: true }),
    },
    {
      id: "is to be woken no more",
      change: { team: team({ enabled: false, max_hops: 0 }), liveNotifiers: live({}) },
      want: [{ step: "notifier", enabled: false, changes: [{ setting: "enabled", from: true, to: false }] }],
    },
    {
      id: "is launched: every value of the file",
      change: { team: team({ max_hops: 20, max_wakes_per_hour: 13, interval_seconds: 5 }), running: [] },
      want: [
        { step: "launch" },
        {
          step: "notifier",
          changes: [
            { setting: "enabled", from: null, to: true, widens: true },
            { setting: "max_hops", from: null, to: 20, widens: false },
            { setting: "max_wakes_per_hour", from: null, to: 13, widens: true },
            { setting: "interval_seconds", from: null, to: 5, widens: false },
          ],
        },
      ],
    },
    {
      id: "is enabled again",
      change: { team: team({}), liveNotifiers: live({ enabled: false }) },
      want: set({ setting: "enabled", from: false, to: true, widens: true }),
    },
    {
      id: "counts unread mail only, and the file all mail",
      change: { team: team({ mode: "any_inbox" }), liveNotifiers: live({ mode: "unread_only" }) },
      want: set({ setting: "mode", from: "unread_only", to: "any_inbox", widens: true }),
    },
    {
      id: "is woken by what changes, and by the file on each poll",
      change: {
        team: team({ wake_policy: "every_poll" }),
        liveNotifiers: live({ wake_policy: "on_change" }),
      },
      want: set({ setting: "wake_policy", from: "on_change", to: "every_poll", widens: true }),
    },
    {
      id: "is polled more often by the file",
      change: { team: team({ interval_seconds: 5 }), liveNotifiers: live({ interval_seconds: 60 }) },
      want: set({ setting: "interval_seconds", from: 60, to: 5, widens: true }),
    },
    {
      id: "nobody has configured: every value of the file, also what its gateway has until then",
      change: {
        team: team({ max_hops: 0, wake_policy: "every_poll" }),
        liveNotifiers: {
          a: { enabled: false, interval_seconds: null, max_hops: 0, wake_policy: "every_poll" },
        },
      },
      want: set(
        { setting: "enabled", from: false, to: true, widens: true },
        { setting: "max_hops", from: null, to: 0, widens: true },
        { setting: "wake_policy", from: null, to: "every_poll", widens: true },
      ),
    },
    {
      id: "cannot be asked",
      change: { team: team({}), liveNotifiers: { a: null } },
      want: [{ step: "leave", why: expect.stringContaining("does not answer") }],
    },
  ])("$id", ({ change, want }) => {
    const steps = planTeam({ ...facts, ...change });
    expect(steps).toMatchObject(want);
    expect(steps).toHaveLength(want.length);
  });
});

test("people without a mailbox are registered, before the agents", () => {
  const team = { ...facts.team, people: { ann: {}, bob: { address: "bob@example.test" } } };
  const addresses = new Set(["ann@svc.localhost"]);
  expect(planTeam({ ...facts, team, addresses })).toEqual([
    { step: "register", person: "bob", address: "bob@example.test" },
    { step: "keep", agent: "a" },
  ]);
});

test("down stops the agents of this file that run, whatever their names, and no other", () => {
  const other = { ...idle, agent_name: "b", agent_id: "id-b" };
  const running = [
    idle,
    { ...other, team: { file: "/other/svc.yaml", member: "b" } },
    { ...other, agent_name: "c", agent_id: "id-c", team: null },
    { ...other, agent_name: "x-d", agent_id: "id-d", team: { file: facts.file, member: "d" } },
    { ...other, agent_name: "e", lifecycle_state: "stopped", team: { file: facts.file, member: "e" } },
  ];
  expect(planDown({ file: facts.file, running })).toEqual([
    { step: "stop", agent: "a", agentId: "id-a" },
    { step: "stop", agent: "d", agentId: "id-d" },
  ]);
});
