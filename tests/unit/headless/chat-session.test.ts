import { expect, test } from "bun:test";
import type { ChatSession } from "../../../src/protocol/gateway.ts";
import type { TurnSession } from "../../../src/protocol/turn-files.ts";
import type { HeadlessChatSession } from "../../../src/protocol/turns.ts";
import {
  resolveChatSession,
  toChatSession,
  toTurnRequest,
} from "../../../src/services/headless/turn-request.ts";
import { chatSessionProblem } from "../../../src/services/queue/eligibility.ts";
import { toRestarted } from "../../../src/services/sessions/manifest.ts";
import { sampleManifest } from "../../support/session-samples.ts";

const fresh: HeadlessChatSession = {
  current: null,
  startup_default: { mode: "new" },
  next_prompt_override: null,
};
const pinned = { ...fresh, current: { id: "pinned" } };
const overridden = { ...pinned, next_prompt_override: { mode: "new" as const } };
const last = { ...fresh, startup_default: { mode: "tool_last_or_new" as const } };
const exact = { ...fresh, startup_default: { mode: "exact" as const, id: "first" } };

interface Case {
  id: string;
  wanted?: ChatSession;
  direct?: boolean;
  state: HeadlessChatSession;
  session?: TurnSession;
  consumes?: boolean;
}

const cases: Case[] = [
  { id: "nothing said and nothing pinned: the startup default new", state: fresh, session: { mode: "new" } },
  { id: "the startup default last", state: last, session: { mode: "tool_last_or_new" } },
  { id: "the startup default exact", state: exact, session: { mode: "exact", id: "first" } },
  {
    id: "pinned comes before the startup default",
    state: { ...exact, ...pinned },
    session: { mode: "exact", id: "pinned" },
  },
  {
    id: "an override comes before pinned and is consumed",
    state: overridden,
    session: { mode: "new" },
    consumes: true,
  },
  {
    id: "auto is the same as nothing said",
    wanted: { mode: "auto" },
    state: overridden,
    session: { mode: "new" },
    consumes: true,
  },
  {
    id: "a queued prompt ignores the override",
    state: overridden,
    direct: false,
    session: { mode: "exact", id: "pinned" },
  },
  {
    id: "an explicit mode leaves the override",
    wanted: { mode: "current" },
    state: overridden,
    session: { mode: "exact", id: "pinned" },
  },
  { id: "new is new", wanted: { mode: "new" }, state: pinned, session: { mode: "new" } },
  {
    id: "the tool's last one",
    wanted: { mode: "tool_last_or_new" },
    state: pinned,
    session: { mode: "tool_last_or_new" },
  },
  {
    id: "exact is exact",
    wanted: { mode: "exact", id: "abc" },
    state: pinned,
    session: { mode: "exact", id: "abc" },
  },
  { id: "current without a pinned one fails", wanted: { mode: "current" }, state: last },
];

test.each(cases)("$id", ({ wanted, direct = true, state, session, consumes = false }) => {
  const choice = resolveChatSession({ wanted, direct, state });
  if (session === undefined) expect(choice.ok).toBe(false);
  else expect(choice).toEqual({ ok: true, session, consumesOverride: consumes });
});

test.each([
  { id: "nothing", wanted: undefined, problem: false },
  { id: "an id that belongs", wanted: { mode: "exact" as const, id: "a-b" }, problem: false },
  { id: "exact without an id", wanted: { mode: "exact" as const }, problem: true },
  { id: "an id of another mode", wanted: { mode: "new" as const, id: "a" }, problem: true },
  { id: "an id that reads as a flag", wanted: { mode: "exact" as const, id: "-p" }, problem: true },
  { id: "an id with a blank", wanted: { mode: "exact" as const, id: "a b" }, problem: true },
])("a chat session: $id", ({ wanted, problem }) => {
  expect(chatSessionProblem(wanted) !== null).toBe(problem);
});

const headless = {
  backend: "demo_headless",
  life: "one",
  displayStyle: "fancy",
  displayDetail: "detail",
  model: "small",
  reasoningLevel: 1,
};

test("a relaunch forgets what was pinned and begins another life", () => {
  const manifest = sampleManifest({ headless });
  const used = { ...manifest, headless: { ...manifest.headless, session_id: "old", turn_index: 4 } };
  expect(toChatSession(used, false).current).toEqual({ id: "old" });
  const again = toRestarted(used, { resume: { mode: "exact", id: "wanted" }, life: "two" });
  expect(toChatSession(again, false)).toEqual({ ...fresh, startup_default: { mode: "exact", id: "wanted" } });
  expect(again.headless).toMatchObject({ life: "two", turn_index: 4 });
  const anew = toRestarted(again, { resume: { mode: "new" }, life: "three" });
  expect(toChatSession(anew, false)).toEqual(fresh);
});

test("what a request says of the model comes before the launch, each part alone", () => {
  const manifest = sampleManifest({ headless });
  const facts = {
    manifest,
    turnId: "t",
    turnIndex: 1,
    requestId: null,
    requestedAtUtc: "now",
    prompt: "x",
    session: { mode: "new" as const },
  };
  expect(toTurnRequest({ ...facts, execution: undefined })).toMatchObject({
    model: { name: "small", level: 1 },
    display_style: "fancy",
    display_detail: "detail",
  });
  const execution = { model: { reasoning: { level: 3 } } };
  expect(toTurnRequest({ ...facts, execution }).model).toEqual({ name: "small", level: 3 });
  expect(toTurnRequest({ ...facts, execution: { model: { name: "big" } } }).model).toEqual({
    name: "big",
    level: 1,
  });
});
