import { type AttentionItem, attentionKinds } from "../../protocol/attention.ts";
import { decideAttention, filterAttention } from "../../services/attention/decide.ts";
import type { AttentionFacts } from "../../services/fleet/attention-facts.ts";
import { aborted, timestampNow } from "../../system/clock.ts";
import { createLoop } from "../../system/lifecycle.ts";
import { factsIn, renderItem } from "../agent/attention-text.ts";
import { followFleet } from "../agent/follow-fleet.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type CliIo, command, type Flags } from "../command-line/command.ts";
import { describeFailure, exitCodes } from "../command-line/dispatch.ts";
import { toWholeNumber } from "../command-line/flag-values.ts";
import { openPeopleMail } from "../command-line/mailbox-openers.ts";
import { warn } from "../command-line/narrate.ts";
import { answerQuestion, attentionFilter, listAttention } from "../operations/attention.ts";

const filterFlags = {
  agent: {
    type: "string",
    description: "only what the agent of this name or id waits for",
    valueHint: "NAME_OR_ID",
    offers: "agent-names",
  },
  kind: { type: "enum", options: attentionKinds, description: "only items of this kind" },
} satisfies Flags;

const list = command({
  name: "list",
  description: "show what waits for a person, oldest first",
  examples: ["svc-mgr attention list", "svc-mgr attention list --watch --json"],
  args: {
    ...filterFlags,
    watch: { type: "boolean", description: "then show what comes and goes, until interrupted" },
  },
  async run({ args, inherited, io }) {
    const isWanted = await attentionFilter({ io, inherited }, args.agent);
    const kind = args.kind ? { kind: args.kind as AttentionItem["kind"] } : {};
    const wanted = (items: readonly AttentionItem[]) => filterAttention(items, kind, null).filter(isWanted);
    if (args.watch) {
      await watchItems({
        context: openCliContext(io, inherited),
        io,
        wanted,
        json: inherited["json"] === true,
      });
      return exitCodes.done;
    }
    const items = wanted(await listAttention({ io, inherited }, isWanted));
    return {
      json: { schema_version: 1, items },
      text: items.length === 0 ? "nothing waits for you" : items.map(renderItem).join("\n"),
    };
  },
});

const answer = command({
  name: "answer",
  description: "answer a question; when the agent asks another one by then, nothing is pressed",
  examples: [
    "svc-mgr attention answer question-3f9a2b1c04de 1",
    "svc-mgr attention answer permission-3f9a2b1c04de yes",
  ],
  args: {
    id: { type: "positional", description: "the item's id, as the list shows it" },
    answer: { type: "positional", description: "the option's number, or its text without regard to case" },
    epoch: {
      type: "string",
      description: "the instance of the agent that was asked; another one by then is refused",
      valueHint: "N",
    },
  },
  async run({ args, inherited, io }) {
    const epoch = toWholeNumber("epoch", args.epoch, 0, Number.MAX_SAFE_INTEGER);
    const answered = await answerQuestion(
      { io, inherited },
      { id: args.id ?? "", answer: args.answer ?? "", ...(epoch === undefined ? {} : { epoch }) },
    );
    const { answer: chosen } = answered;
    return { json: answered, text: `answered ${chosen.answer}. ${chosen.label}` };
  },
});

export const attentionCommands = { list, answer };

const mailPollIntervalMs = 5000;

/** Prints what waits, then what comes and goes, a line or a JSON document each. */
async function watchItems(options: {
  context: CliContext;
  io: CliIo;
  wanted: (items: readonly AttentionItem[]) => AttentionItem[];
  json: boolean;
}): Promise<void> {
  const { context, io, wanted, json } = options;
  const stopped = io.unheard();
  let before = new Map<string, AttentionItem>();
  const print = async (change: "waits" | "over", item: AttentionItem) => {
    const line = { at_utc: timestampNow(context.clock), change, item };
    await io.writeOut(json ? `${JSON.stringify(line)}\n` : `${change}: ${renderItem(item)}\n`);
  };
  let facts: AttentionFacts[] = [];
  const people = openPeopleMail(context, (what) => void warn(io, what));
  let mail = await people.unread();
  let printing = Promise.resolve();
  const show = () => {
    printing = printing.then(async () => {
      const items = wanted(decideAttention(io.advise, facts, context.clock.nowMs(), mail));
      const now = new Map(items.map((item) => [item.id, item]));
      for (const [id, item] of before) if (!now.has(id)) await print("over", item);
      for (const [id, item] of now) if (!before.has(id)) await print("waits", item);
      before = now;
    });
    return printing;
  };
  const mailLoop = createLoop({
    clock: context.clock,
    async turn() {
      mail = await people.unread();
      await show();
      return mailPollIntervalMs;
    },
    onError: (error) => void warn(io, describeFailure(error, io.advise).detail),
  });
  try {
    await followFleet({
      context,
      stopped,
      shown: aborted(stopped),
      onWarning: (text) => void warn(io, text),
      async onChange({ snapshots }) {
        // Mail is looked at after the agents: what waits is one list from its first line.
        facts = factsIn(snapshots);
        await show();
        mailLoop.start();
      },
    });
  } finally {
    await mailLoop.stop();
  }
}
