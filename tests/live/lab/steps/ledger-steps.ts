import { expect } from "bun:test";
import type { LedgerEntry, LedgerPage } from "../../../../src/protocol/ledger.ts";
import type { ReceivedRequest } from "../../../support/model-server/records.ts";
import type { ModelUsage } from "../../../support/model-server/usage.ts";
import { until } from "../../../support/until.ts";
import type { HeadlessSession } from "../headless-session.ts";
import type { LabSession } from "../lab-session.ts";
import { arrives } from "./prompt-steps.ts";

const prompts = ["Count this FAST", "Count that too FAST"];

/** Input and output, with the parts that tools tell apart. */
interface Counted {
  input: number;
  cached: number;
  output: number;
}

function sumOfModel(usages: readonly (ModelUsage | null)[]): Counted {
  const sum = (key: keyof Counted) => usages.reduce((all, one) => all + (one?.[key] ?? 0), 0);
  return { input: sum("input"), cached: sum("cached"), output: sum("output") };
}

function sumOfLedger(entries: readonly LedgerEntry[]): Counted {
  const usage = entries.flatMap((entry) => entry.usage);
  const sum = (key: "input_tokens" | "cached_input_tokens" | "output_tokens") =>
    usage.reduce((all, one) => all + one[key], 0);
  return { input: sum("input_tokens"), cached: sum("cached_input_tokens"), output: sum("output_tokens") };
}

/** The entries that `isWanted` names, once there is one for each prompt. */
function entriesWhen(page: () => Promise<LedgerPage>, isWanted: (entry: LedgerEntry) => boolean) {
  return until("the turns in the ledger", async () => {
    const entries = (await page()).entries.filter(isWanted);
    return entries.length === prompts.length && entries;
  });
}

async function ledgerPage(baseUrl: string, query = ""): Promise<LedgerPage> {
  const init = { proxy: false } as RequestInit;
  return (await (await fetch(`${baseUrl}/v1/ledger${query}`, init)).json()) as LedgerPage;
}

async function wholeLedger(baseUrl: string): Promise<LedgerEntry[]> {
  const all: LedgerEntry[] = [];
  for (let before = ""; ; ) {
    const { entries, next } = await ledgerPage(baseUrl, `?limit=100${before}`);
    all.push(...entries);
    if (next === null) return all;
    before = `&before=${next}`;
  }
}

export interface LongRun {
  turns: number;
  interruptions: number;
}

const isLong = (text: string) => /(?:^|\n)long turn \d+\s*$/.test(text);

/** All entries of a long run, those of turns that ended and those of turns that were interrupted. */
async function entriesOfLongRun(baseUrl: string, { turns, interruptions }: LongRun) {
  const entries = await until("all turns in the ledger", async () => {
    const all = await wholeLedger(baseUrl);
    return all.length >= turns + interruptions && all.every(({ status }) => status !== "running") && all;
  });
  const ended = entries.filter(({ status }) => status === "completed");
  const stopped = entries.filter(({ status }) => status !== "completed");
  expect([ended.length, stopped.length]).toEqual([turns, interruptions]);
  return { ended, stopped };
}

/**
 * The turns that ended, to the token, however often each was tried; those that were interrupted count what
 * the model had said of them by then, or are told not to be covered.
 */
export async function ledgerCountsLongRun({ model, gateway }: LabSession, run: LongRun): Promise<void> {
  const heard = model.received().filter(({ purpose }) => purpose === "turn");
  const said = heard.filter(({ newest_user_text: text, outcome }) => isLong(text) && outcome === "finished");
  expect(heard.some(({ outcome }) => outcome === "failed")).toBe(true);
  const { ended, stopped } = await entriesOfLongRun(gateway.ready.base_url, run);
  expect(ended.every(({ covered }) => covered)).toBe(true);
  expect(sumOfLedger(ended)).toEqual(sumOfModel(said.map(({ usage }) => usage)));
  const cut = sumOfModel(heard.filter(({ outcome }) => outcome === "aborted").map(({ usage }) => usage));
  const counted = sumOfLedger(stopped);
  // codex hears of tokens only at the end of an answer.
  if (stopped.every(({ covered }) => covered)) expect(counted.input).toBe(cut.input);
  else expect(counted).toEqual({ input: 0, cached: 0, output: 0 });
}

/** The same of a headless agent, for the turns that ended. */
export async function ledgerCountsLongHeadlessRun(session: HeadlessSession, run: LongRun): Promise<void> {
  const heard = session.model.received();
  expect(heard.some(({ outcome }) => outcome === "failed")).toBe(true);
  const { ended } = await entriesOfLongRun(session.baseUrl(), run);
  const got = sumOfLedger(ended);
  // opencode 1.18.33 counts over ACP only the last answer of a turn: those with a tool are told not to be
  // covered.
  const isPart = session.tool === "opencode" && session.transport === "acp";
  const withTool = new Set(heard.filter((one) => one.tool_answered).map((one) => one.newest_user_text));
  const isCounted = (text: string) => isLong(text) && !(isPart && withTool.has(text));
  expect([got.input, got.output]).toEqual(saidToHeadless(session, heard, isCounted));
  expect(ended.filter(({ covered }) => !covered)).toHaveLength(
    isPart ? [...withTool].filter(isLong).length : 0,
  );
}

/** Two turns of a terminal: the ledger has what the model said, without what the tool asked beside them. */
export async function ledgerCountsTurns(session: LabSession): Promise<void> {
  const { gateway, model } = session;
  for (const prompt of prompts) await arrives(session, prompt);
  const ids = (await gateway.requests()).requests.slice(0, prompts.length).map((one) => one.request_id);
  const entries = await entriesWhen(
    () => ledgerPage(gateway.ready.base_url),
    ({ request_id: id }) => id !== null && ids.includes(id),
  );
  const heard = model
    .received()
    .filter((one) => one.purpose === "turn" && prompts.includes(one.newest_user_text));
  expect(heard).toHaveLength(prompts.length);
  expect(sumOfLedger(entries)).toEqual(sumOfModel(heard.map(({ usage }) => usage)));
  expect(entries.every(({ covered, source }) => covered && source === "tool")).toBe(true);
}

/**
 * Two turns of one headless conversation; of a tool that counts from its start each one counts what it added.
 */
export async function ledgerCountsHeadlessTurns(session: HeadlessSession): Promise<void> {
  const seen = session.model.received().length;
  const names = ["counted-1", "counted-2"];
  for (const [at, name] of names.entries()) await session.turn(name, prompts[at] ?? "");
  const page = async () => (await session.call<LedgerPage>("/v1/ledger")).body;
  const entries = await entriesWhen(page, ({ turn_id }) => names.includes(turn_id));
  const asked = session.model.received().slice(seen);
  const got = sumOfLedger(entries);
  expect([got.input, got.output]).toEqual(saidToHeadless(session, asked, (text) => prompts.includes(text)));
  expect(entries.every(({ covered }) => covered)).toBe(true);
}

/** Input and output of what the model said to turns with these texts, as far as the tool counts it. */
function saidToHeadless(
  { tool, transport }: HeadlessSession,
  asked: readonly ReceivedRequest[],
  isWanted: (text: string) => boolean,
): [input: number, output: number] {
  // gemini 0.61.0 counts the router of a turn with it, but not over ACP, where it leaves its thoughts out
  // too.
  const routed = tool === "gemini" && transport === "native";
  // claude over ACP asks something beside its turns with all its tools, which no count of a turn has.
  const turns = asked.filter(
    ({ purpose, newest_user_text: text, outcome }) =>
      outcome === "finished" && isWanted(text) && (purpose === "turn" || (routed && purpose === "router")),
  );
  const { input, output } = sumOfModel(turns.map(({ usage }) => usage));
  const thoughts = turns.reduce((all, { usage }) => all + (usage?.reasoning ?? 0), 0);
  return [input, tool === "gemini" && transport === "acp" ? output - thoughts : output];
}
