import { expect, test } from "bun:test";
import type { DecisionAnswer, TerminalState } from "../../../src/protocol/terminal.ts";
import { createStartupAnswers } from "../../../src/services/agent/startup-answers.ts";
import type { TerminalView } from "../../../src/services/agent/terminal-view.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { compiled } from "../terminal/corpus.ts";

const { state: unseen } = giveTerminal(createFakeAgent());
const ready: TerminalState = { ...unseen, surface: { ...unseen.surface, ready_posture: "yes" } };
const options = ["Update now (runs `npm install -g @openai/codex`)", "Skip", "Skip until next version"];

const asking = (id: string, texts: readonly string[] = options): TerminalState => ({
  ...unseen,
  awaiting_decision: {
    kind: "startup_modal",
    question: "Update available",
    id,
    options: texts.map((text, index) => ({ index: index + 1, text, selected: index === 0 })),
  },
});

interface Shown {
  state: TerminalState;
  rule?: string | null;
  instance?: string | null;
}

/** What is answered while the terminal shows `screens` in turn; `refuse`: each answer fails. */
async function answers(screens: readonly Shown[], refuse = false) {
  const given: string[] = [];
  const said: string[] = [];
  const lines: string[] = [];
  const listeners = new Set<Parameters<TerminalView["subscribe"]>[0]>();
  let shown: Shown = { state: unseen };
  const service = createStartupAnswers({
    profile: compiled("codex"),
    view: {
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      dialogRule: () => (shown.rule === undefined ? "update" : shown.rule),
      instanceId: () => (shown.instance === undefined ? "first" : shown.instance),
    },
    async decide({ id, option }: DecisionAnswer) {
      given.push(`${id}: ${option}`);
      if (refuse) throw new Error("the mark did not move to the option");
      return { index: Number(option), text: "Skip" };
    },
    onAnswered: ({ question, option }) => said.push(`${question}: ${option}`),
    log: { line: (text) => lines.push(text) },
  });
  service.start();
  for (const screen of screens) {
    shown = screen;
    for (const listener of listeners) listener(screen.state, { material: true });
    await Promise.resolve();
  }
  await Promise.resolve();
  service.stop();
  expect(listeners.size).toBe(0);
  return { given, said, lines };
}

test.each<{ id: string; screens: Shown[]; want: string[] }>([
  { id: "the update question is skipped", screens: [{ state: asking("a") }], want: ["a: 2"] },
  {
    id: "once, also while it stays on the screen",
    screens: [{ state: asking("a") }, { state: asking("a") }, { state: asking("b") }],
    want: ["a: 2"],
  },
  {
    id: "once its options are drawn",
    screens: [{ state: asking("a", options.slice(0, 1)) }, { state: asking("b") }],
    want: ["b: 2"],
  },
  { id: "not after the agent was ready", screens: [{ state: ready }, { state: asking("a") }], want: [] },
  {
    id: "not after a turn was seen",
    screens: [{ state: { ...unseen, turn: { phase: "active" } } }, { state: asking("a") }],
    want: [],
  },
  {
    id: "again for the next instance",
    screens: [{ state: asking("a") }, { state: ready }, { state: asking("b"), instance: "second" }],
    want: ["a: 2", "b: 2"],
  },
  { id: "not of an instance that is not known", screens: [{ state: asking("a"), instance: null }], want: [] },
  {
    id: "trust is for a person",
    screens: [{ state: asking("a", ["Yes", "Skip"]), rule: "trust" }],
    want: [],
  },
  { id: "so is a list that no rule names", screens: [{ state: asking("a"), rule: null }], want: [] },
])("$id", async ({ screens, want }) => {
  const { given, said } = await answers(screens);
  expect(given).toEqual(want);
  expect(said).toEqual(want.map(() => "Update available: Skip"));
});

test("a question whose answer failed is left to a person", async () => {
  const { given, said, lines } = await answers([{ state: asking("a") }, { state: asking("a") }], true);
  expect({ given, said, lines }).toEqual({
    given: ["a: 2"],
    said: [],
    lines: ["a question at the start was not answered"],
  });
});

test("only the update question of Codex has an answer without a person", () => {
  const tools = ["claude", "codex", "gemini", "opencode", "demo"];
  const answered = tools.flatMap((tool) =>
    compiled(tool).dialogs.flatMap(({ id, unattended_answer }) =>
      unattended_answer ? [`${tool} ${id}`] : [],
    ),
  );
  expect(answered).toEqual(["codex update"]);
});
