import { describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { Value } from "@sinclair/typebox/value";
import { adviseInManager } from "../../../src/cli/command-line/remedies.ts";
import { AttentionItem } from "../../../src/protocol/attention.ts";
import type { Manifest, RegistryRecord } from "../../../src/protocol/files.ts";
import { chooseAnswer } from "../../../src/services/attention/answer.ts";
import { readGranters, refuseAnswerer, toAnswerer } from "../../../src/services/attention/answerer.ts";
import { decideAttention, isPermission } from "../../../src/services/attention/decide.ts";
import type { PersonMail } from "../../../src/services/attention/people-mail.ts";
import type { AttentionFacts, FailedRequest } from "../../../src/services/fleet/attention-facts.ts";
import { createScratch } from "../../support/scratch.ts";

const now = Date.UTC(2026, 10, 21, 12);
const utc = (minute: number) => new Date(now + minute * 60_000).toISOString().replace("Z", "+00:00");

/** An agent that waits for nobody. */
function agent(change: Partial<AttentionFacts> = {}, name = "worker"): AttentionFacts {
  return {
    agent: { id: `id-${name}`, name, trackedId: `id-${name}`, generation: "life-1" },
    relaunch: "possible",
    attachLine: "tmux attach -t '=SVC-worker-1'",
    unusable: null,
    session: "alive",
    programEnded: null,
    gateway: { state: "live", why: "" },
    epoch: 3,
    block: null,
    unreconciled: false,
    queueDepth: 0,
    decision: null,
    screenRows: [],
    parked: null,
    draft: null,
    stuck: null,
    failed: [],
    wakesHeld: null,
    budget: null,
    ...change,
  };
}

const question = {
  kind: "selection_menu",
  question: "Go on with this?",
  id: "aaaaaaaaaaaa",
  since_utc: utc(-5),
  options: [
    { index: 1, text: "Yes", selected: true },
    { index: 2, text: "No", selected: false },
  ],
};
const permission = {
  ...question,
  kind: "approval_dialog",
  reported: { message: "rm -r build", action: "Bash" },
};
const failed: FailedRequest = {
  requestId: "gwreq-1",
  kind: "submit_prompt",
  finishedAtUtc: utc(-60),
  detail: "no composer",
  unknown: false,
  evidence: ["typed: echoed"],
};
const prefix = "svc-mgr agents single --agent-name worker";
const block = (reason: NonNullable<AttentionFacts["block"]>["reason"]) => ({
  reason,
  detail: "why, and the remedy",
});

const cases: {
  id: string;
  given: Partial<AttentionFacts>;
  want: { kind: string; command?: unknown; reason?: string; [key: string]: unknown }[];
}[] = [
  { id: "an agent that works or is ready", given: {}, want: [] },
  { id: "one without a gateway and without work", given: { gateway: { state: "none", why: "" } }, want: [] },
  {
    id: "a question with its options",
    given: { decision: question, screenRows: ["Go on with this?"] },
    want: [
      {
        kind: "question",
        since_utc: utc(-5),
        age_seconds: 300,
        epoch: 3,
        reason: '"worker" asks: Go on with this?',
        question: "Go on with this?",
        subject: null,
        evidence: ["Go on with this?"],
        answers: [
          { answer: "1", label: "Yes" },
          { answer: "2", label: "No" },
        ],
        command: expect.stringMatching(/^svc-mgr attention answer question-[0-9a-f]{12} ANSWER$/),
      },
    ],
  },
  {
    id: "a question with several choices, its pages and what describes an option",
    given: {
      decision: {
        ...question,
        header: "☒ Fruit  ☐ Size",
        options: [
          { index: 1, text: "Apple", selected: true, checked: true, description: "from the orchard" },
          { index: 2, text: "Pear", selected: false, checked: false },
          { index: 4, text: "Next", selected: false },
        ],
      },
    },
    want: [
      {
        kind: "question",
        evidence: ["☒ Fruit  ☐ Size"],
        answers: [
          { answer: "1", label: "[x] Apple", description: "from the orchard" },
          { answer: "2", label: "[ ] Pear" },
          { answer: "4", label: "Next" },
        ],
      },
    ],
  },
  {
    id: "mail that a loop of answers keeps from waking the agent",
    given: {
      wakesHeld: { reason: "max_hops", detail: "max_hops=20: 1 message(s)", since_utc: utc(-5) },
    },
    want: [
      {
        kind: "held_wakes",
        age_seconds: 300,
        reason: 'mail does not wake "worker": max_hops=20: 1 message(s)',
        command: "svc-mgr agents single --agent-name worker gateway mail-notifier enable --max-hops N",
      },
    ],
  },
  {
    id: "mail that the limit of wake-ups an hour holds back, beside a failure",
    given: {
      wakesHeld: { reason: "max_wakes_per_hour", detail: "12 is reached", since_utc: utc(-1) },
    },
    want: [
      {
        kind: "held_wakes",
        command: "svc-mgr agents single --agent-name worker gateway mail-notifier audit",
      },
    ],
  },
  {
    id: "a permission with the command it asks for",
    given: { decision: permission },
    want: [
      {
        kind: "permission",
        reason: '"worker" asks for permission: Go on with this? (Bash: rm -r build)',
        subject: { action: "Bash", text: "rm -r build" },
      },
    ],
  },
  {
    id: "a question that was not read in full is answered in its terminal",
    given: { decision: { ...question, question: "", unread: "its options could not be read" } },
    want: [
      {
        kind: "question",
        answers: [],
        evidence: ["its options could not be read"],
        command: "tmux attach -t '=SVC-worker-1'",
      },
    ],
  },
  {
    id: "a usage limit with its end",
    given: { parked: { notice: "limit reached", until: utc(90), sinceUtc: utc(-1) } },
    want: [{ kind: "usage_limit", since_utc: utc(-1), evidence: ["limit reached"], command: null }],
  },
  {
    id: "a draft behind which a prompt waits, which also keeps the agent from moving",
    given: {
      draft: { sinceUtc: utc(-1) },
      queueDepth: 1,
      stuck: { facts: ["editing_input=yes"], since: utc(-9) },
    },
    want: [
      {
        kind: "draft",
        since_utc: utc(-1),
        reason: 'a draft in the composer of "worker" keeps a prompt waiting',
        next: "Send it or clear it there",
        command: `${prefix} attach`,
        answers: [],
      },
    ],
  },
  {
    id: "a question before a draft",
    given: { decision: question, draft: { sinceUtc: utc(-1) } },
    want: [{ kind: "question" }],
  },
  {
    id: "an agent that is stuck, with what holds it",
    given: { stuck: { facts: ["input_mode=closed"], since: utc(-9) } },
    want: [
      { kind: "stuck_agent", evidence: ["input_mode=closed"], command: `${prefix} gateway tui explain` },
    ],
  },
  {
    id: "a session that is gone",
    given: { session: "gone", gateway: { state: "none", why: "" }, queueDepth: 2 },
    want: [
      {
        kind: "dead_agent",
        reason: '"worker" is dead: its tmux session is gone',
        command: `${prefix} relaunch`,
      },
    ],
  },
  {
    id: "a program that ended hides its closed queue and its gateway",
    given: { programEnded: { sinceUtc: utc(-2) }, block: block("agent_unavailable"), unreconciled: true },
    want: [{ kind: "dead_agent", since_utc: utc(-2), reason: '"worker" is dead: its program has ended' }],
  },
  {
    id: "a joined agent that is gone cannot be started again",
    given: { session: "gone", gateway: { state: "none", why: "" }, relaunch: "never" },
    want: [{ kind: "dead_agent", command: `${prefix} cleanup` }],
  },
  {
    id: "an agent whose manifest is refused",
    given: { unusable: { state: "refused", why: "its manifest is no JSON" } },
    want: [{ kind: "dead_agent", command: `${prefix} stop` }],
  },
  {
    id: "an agent whose manifest nobody could read: that does not end it",
    given: { unusable: { state: "unreadable", why: "EACCES" } },
    want: [{ kind: "stuck_agent", command: "svc-mgr doctor" }],
  },
  {
    id: "a tmux server that does not answer, where the gateway sees the agent",
    given: { session: "unknown" },
    want: [],
  },
  {
    id: "a tmux server that does not answer, of a joined agent without a gateway: silent is not dead",
    given: { session: "unknown", gateway: { state: "none", why: "" }, relaunch: "never" },
    want: [
      {
        kind: "stuck_agent",
        reason: 'whether "worker" runs is not known: its tmux server does not answer',
        command: "svc-mgr doctor",
      },
    ],
  },
  {
    id: "a gateway that died",
    given: { gateway: { state: "dead", why: "process 7 is gone" } },
    want: [{ kind: "dead_gateway", evidence: ["process 7 is gone"], command: `${prefix} gateway attach` }],
  },
  {
    id: "a gateway that does not answer",
    given: { gateway: { state: "silent", why: "no answer" }, block: block("gateway_unreachable") },
    want: [{ kind: "dead_gateway", command: "svc-mgr doctor" }],
  },
  {
    id: "work that waits for a gateway that nobody started",
    given: { gateway: { state: "none", why: "" }, queueDepth: 2 },
    want: [{ kind: "dead_gateway", reason: '"worker" takes no work: 2 requests wait and no gateway runs' }],
  },
  {
    id: "a queue that a new instance closed",
    given: { block: block("reconciliation_required"), unreconciled: true },
    want: [
      { kind: "closed_queue", evidence: ["reconciliation_required"], command: `${prefix} gateway reconcile` },
    ],
  },
  {
    id: "the same without a gateway",
    given: { gateway: { state: "none", why: "" }, unreconciled: true },
    want: [{ kind: "closed_queue", command: `${prefix} gateway attach --reconcile` }],
  },
  {
    id: "a disk that takes nothing",
    given: { block: block("disk_full") },
    want: [
      {
        kind: "closed_queue",
        reason: 'the queue of "worker" is closed: why, and the remedy',
        command: "svc-mgr doctor",
      },
    ],
  },
  {
    id: "a failed and an unknown request, oldest first",
    given: { failed: [{ ...failed, requestId: "gwreq-2", unknown: true, finishedAtUtc: utc(-1) }, failed] },
    want: [
      {
        kind: "failed_request",
        reason: 'a prompt for "worker" failed: no composer',
        command: `${prefix} requests show gwreq-1`,
      },
      { kind: "unknown_request", reason: 'whether "worker" took a prompt is unknown: no composer' },
    ],
  },
];

describe("what waits for a person", () => {
  test.each(cases)("$id", ({ given, want }) => {
    const items = decideAttention(adviseInManager, [agent(given)], now);
    for (const item of items) {
      expect([...Value.Errors(AttentionItem, item)]).toEqual([]);
      expect([item.agent_id, item.agent_name]).toEqual(["id-worker", "worker"]);
    }
    expect(items).toMatchObject(want as object[]);
    expect(items.length).toBe(want.length);
  });

  test("is sorted by age over all agents, what is of unknown age first", () => {
    const items = decideAttention(
      adviseInManager,
      [
        agent({ decision: question }, "young"),
        agent({ failed: [failed] }, "old"),
        agent({ session: "gone", gateway: { state: "none", why: "" } }, "ageless"),
      ],
      now,
    );
    expect(items.map((item) => item.agent_name)).toEqual(["ageless", "old", "young"]);
  });

  test("a long question is cut in the sentence and whole beside it", () => {
    const long = `${"why ".repeat(200)}\n?`;
    const [item] = decideAttention(
      adviseInManager,
      [agent({ decision: { ...question, question: long } })],
      now,
    );
    expect([item?.reason.length, item?.reason.includes("\n"), item?.question]).toEqual([300, false, long]);
  });

  test("each item of 100 agents is there", () => {
    const agents = Array.from({ length: 100 }, (_, index) =>
      agent({ decision: question, failed: [failed] }, `agent-${index}`),
    );
    expect(decideAttention(adviseInManager, agents, now).length).toBe(200);
  });
});

describe("the id of an item", () => {
  const idOf = (change: Partial<AttentionFacts>, name?: string) =>
    decideAttention(adviseInManager, [agent(change, name)], now)[0]?.id;
  const marked = {
    ...question,
    options: question.options.map((one) => ({ ...one, selected: !one.selected })),
  };

  test.each([
    { id: "another option is marked", given: { decision: marked }, same: true },
    { id: "time passes", given: { decision: { ...question, since_utc: utc(-1) } }, same: true },
    {
      id: "another question is asked",
      given: { decision: { ...question, id: "bbbbbbbbbbbb" } },
      same: false,
    },
    { id: "it is a permission", given: { decision: permission }, same: false },
  ])("when $id: same $same", ({ given, same }) => {
    expect(idOf(given) === idOf({ decision: question })).toBe(same);
  });

  test("belongs to one agent and one life of it", () => {
    const { agent: who } = agent();
    const reborn = { agent: { ...who, generation: "life-2" }, decision: question };
    const ids = [idOf({ decision: question }), idOf({ decision: question }, "other"), idOf(reborn)];
    expect(new Set(ids).size).toBe(3);
  });
});

describe("an answer", () => {
  const [item] = decideAttention(adviseInManager, [agent({ decision: question })], now);
  if (!item) throw new Error("no item");

  test.each([
    { answer: "2", want: { answer: "2", label: "No" } },
    { answer: " yes ", want: { answer: "1", label: "Yes" } },
  ])("$answer is one of the item's", ({ answer, want }) => {
    expect(chooseAnswer(item, { answer, epoch: 3 })).toEqual(want);
  });

  test.each([
    { id: "that is none", given: { answer: "3" }, reason: "invalid_request" },
    { id: "for another instance", given: { answer: "1", epoch: 2 }, reason: "precondition_failed" },
  ])("$id is refused", ({ given, reason }) => {
    expect(() => chooseAnswer(item, given)).toThrow(expect.objectContaining({ reason }));
  });

  test("to what has no answers names the command", () => {
    const [dead] = decideAttention(
      adviseInManager,
      [agent({ session: "gone", gateway: { state: "none", why: "" } })],
      now,
    );
    if (!dead) throw new Error("no item");
    expect(() => chooseAnswer(dead, { answer: "1" })).toThrow("relaunch");
  });
});

const mail = (change: Partial<PersonMail> = {}): PersonMail => ({
  root: "/srv/the mail",
  address: "ann@svc.localhost",
  messageRef: "filesystem:msg-1",
  sinceUtc: utc(-90),
  from: "worker@svc.localhost",
  subject: "done",
  agent: { id: "id-worker", name: "worker" },
  ...change,
});

test("mail of a person comes last, without its body, with the command that reads it", () => {
  const items = decideAttention(adviseInManager, [agent({ decision: question })], now, [
    mail(),
    mail({ messageRef: "filesystem:msg-2", sinceUtc: utc(-95), agent: null, subject: "a\nb" }),
  ]);
  expect(items.map(({ kind, agent_name }) => [kind, agent_name])).toEqual([
    ["question", "worker"],
    ["mail", null],
    ["mail", "worker"],
  ]);
  expect(items[2]).toEqual({
    id: expect.stringMatching(/^mail-[0-9a-f]{12}$/),
    kind: "mail",
    agent_id: "id-worker",
    agent_name: "worker",
    tracked_agent_id: null,
    address: "ann@svc.localhost",
    since_utc: utc(-90),
    age_seconds: 5400,
    epoch: null,
    reason: 'ann@svc.localhost has mail from "worker": done',
    question: null,
    subject: null,
    evidence: ["from worker@svc.localhost", "filesystem:msg-1"],
    answers: [],
    next: "Read it",
    command:
      "svc-mgr mail --mailbox-root '/srv/the mail' --address ann@svc.localhost read --message-ref filesystem:msg-1",
    remedy: {
      code: "read_mail",
      root: "/srv/the mail",
      address: "ann@svc.localhost",
      message_ref: "filesystem:msg-1",
    },
  });
  expect(items[1]?.reason).toBe("ann@svc.localhost has mail from worker@svc.localhost: a b");
  for (const item of items) expect([...Value.Errors(AttentionItem, item)]).toEqual([]);
  expect(new Set(items.map(({ id }) => id)).size).toBe(3);
});

describe("an agent that answers", () => {
  const lead = { is: "agent", id: "id-lead", name: "lead", team: null } as const;
  const ofTeam = { ...lead, team: { file: "/home/user/cloned/svc.yaml", member: "lead" } } as const;
  test.each([
    {
      id: "its own question",
      by: lead,
      agentId: "id-lead",
      isPermission: false,
      granters: [],
      want: "own question",
    },
    {
      id: "its own permission",
      by: lead,
      agentId: "id-lead",
      isPermission: true,
      granters: ["lead"],
      want: "own question",
    },
    {
      id: "a question of another",
      by: lead,
      agentId: "id-worker",
      isPermission: false,
      granters: [],
      want: null,
    },
    {
      id: "a permission of another",
      by: lead,
      agentId: "id-worker",
      isPermission: true,
      granters: [],
      want: "may not grant",
    },
    {
      id: "one that the operator allows",
      by: lead,
      agentId: "id-worker",
      isPermission: true,
      granters: ["lead"],
      want: null,
    },
    {
      id: "one that the operator allows to an agent of this name, as that of a file of others",
      by: ofTeam,
      agentId: "id-worker",
      isPermission: true,
      granters: ["lead", { name: "lead", team_file: "/home/user/mine/svc.yaml" }],
      want: "may not grant",
    },
    {
      id: "one that the operator allows to that agent of that file",
      by: ofTeam,
      agentId: "id-worker",
      isPermission: true,
      granters: [{ name: "lead", team_file: "/home/user/cloned/svc.yaml" }],
      want: null,
    },
    {
      id: "one that he allows to another",
      by: lead,
      agentId: "id-worker",
      isPermission: true,
      granters: ["worker"],
      want: "may not grant",
    },
    {
      id: "one that the operator allows to an agent of this name, without a record",
      by: { ...lead, team: undefined },
      agentId: "id-worker",
      isPermission: true,
      granters: ["lead"],
      want: "may not grant",
    },
    {
      id: "from nowhere",
      by: { is: "unknown" } as const,
      agentId: "id-worker",
      isPermission: false,
      granters: ["lead"],
      want: "only the session",
    },
    {
      id: "a person",
      by: { is: "person" } as const,
      agentId: "id-worker",
      isPermission: true,
      granters: [],
      want: null,
    },
  ])("$id: $want", ({ by, want, agentId, isPermission, granters }) => {
    const why = refuseAnswerer(by, { agentId, isPermission }, { entries: granters, fault: null });
    if (want === null) expect(why).toBeNull();
    else expect(why).toContain(want);
  });

  test("an agent is who its record says, whatever it writes into its manifest", () => {
    const path = "/src/project/.svc/runtime/worker/manifest.json";
    const manifest = { agent_id: "id-lead", agent_name: "lead" } as Manifest;
    const own = { agent_id: "id-worker", agent_name: "worker", runtime: { manifest_path: path } };
    const team = { file: "/src/project/svc.yaml", member: "worker" };
    const other = { agent_id: "id-lead", agent_name: "lead", runtime: { manifest_path: "/elsewhere" } };
    const of = (...records: object[]) =>
      toAnswerer({ manifest, manifestPath: path }, records as RegistryRecord[]);
    const worker = { is: "agent", id: "id-worker", name: "worker" } as const;
    expect(of(other, own)).toEqual({ ...worker, team: null });
    expect(of(other, { ...own, team })).toEqual({ ...worker, team });
    expect(of(other)).toEqual({ is: "agent", id: "id-lead", name: "lead", team: undefined });
  });

  test.each([
    [{ kind: "approval_dialog" }, true],
    [{ kind: "permission_request" }, true],
    [{ kind: "trust_prompt" }, true],
    [{ kind: "startup_modal" }, true],
    [{ kind: "selection_menu" }, false],
    [{ kind: "selection_menu", unread: "no rule reads it" }, true],
  ])("whether an answer to %j may allow something: %p", (asked, want) => {
    expect(isPermission(asked)).toBe(want);
  });

  test("the operator's file counts only where no other user can change it", () => {
    using scratch = createScratch();
    const path = scratch.path("answers.json");
    const none = { entries: [], fault: null };
    expect(readGranters(scratch.files, path)).toEqual(none);
    const text = JSON.stringify({ schema_version: 1, permissions_by: ["lead"] });
    writeFileSync(path, text, { mode: 0o600 });
    expect(readGranters(scratch.files, path)).toEqual({ ...none, entries: ["lead"] });
    chmodSync(path, 0o622);
    const damaged = { entries: [], fault: expect.stringContaining(`${path} lets no agent do so`) };
    expect(readGranters(scratch.files, path)).toEqual(damaged);
    chmodSync(path, 0o600);
    writeFileSync(path, "{");
    const granters = readGranters(scratch.files, path);
    expect(granters).toEqual(damaged);
    const why = refuseAnswerer(lead, { agentId: "id-worker", isPermission: true }, granters);
    expect(why).toContain(path);
  });
});
