import { type AttentionItem, attentionKinds } from "../../protocol/attention.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import { chooseAnswer, movedOn, sendAnswer } from "../../services/attention/answer.ts";
import { decideAttention, filterAttention } from "../../services/attention/decide.ts";
import { type AgentSnapshot, snapshotAgents } from "../../services/fleet/agent-snapshot.ts";
import type { AttentionFacts } from "../../services/fleet/attention-facts.ts";
import type { GatewayClient } from "../../services/fleet/gateway-client.ts";
import { linkGateway } from "../../services/fleet/gateway-link.ts";
import { openRecord } from "../../services/sessions/find.ts";
import { gatewayIdentity } from "../../services/sessions/gateway-folder.ts";
import { createSessionsSeen } from "../../services/sessions/record.ts";
import { aborted, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { createLoop } from "../../system/lifecycle.ts";
import { factsIn, renderItem } from "../attention-text.ts";
import { type CliContext, openCliContext } from "../cli-context.ts";
import { type CliIo, command, type Flags } from "../command.ts";
import { CommandFailure, exitCodes } from "../dispatch.ts";
import { toWholeNumber } from "../flag-values.ts";
import { followFleet } from "../follow-fleet.ts";
import { mailboxOpeners, openPeopleMail } from "../mailbox-openers.ts";
import { warn } from "../narrate.ts";
import { requireAnswerer } from "../questions.ts";
import { toWholeName } from "../team-scope.ts";

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
    const context = openCliContext(io, inherited);
    const who = args.agent === undefined ? undefined : await toWholeName(context, io, args.agent);
    const isWanted = ({ agent_name, agent_id }: { agent_name: string | null; agent_id: string | null }) =>
      who === undefined || agent_name === who || agent_id === who;
    const wanted = (items: readonly AttentionItem[]) =>
      filterAttention(items, args.kind ? { kind: args.kind as AttentionItem["kind"] } : {}, null).filter(
        isWanted,
      );
    if (args.watch) {
      await watchItems({ context, io, wanted, json: inherited["json"] === true });
      return exitCodes.done;
    }
    const people = openPeopleMail(context, (what) => void warn(io, what));
    const [snapshots, mail] = await Promise.all([look(context, io, isWanted), people.unread()]);
    const items = wanted(decideAttention(io.advise, factsIn(snapshots), context.clock.nowMs(), mail));
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
    const context = openCliContext(io, inherited);
    const epoch = toWholeNumber("epoch", args.epoch, 0, Number.MAX_SAFE_INTEGER);
    const id = args.id ?? "";
    if (id.startsWith("mail-")) {
      const mail = await openPeopleMail(context, (what) => void warn(io, what)).unread();
      const item = decideAttention(io.advise, [], context.clock.nowMs(), mail).find((one) => one.id === id);
      if (item) chooseAnswer(item, { answer: args.answer ?? "" });
    }
    for (const { record, attention: facts } of await look(context, io)) {
      const item =
        facts && decideAttention(io.advise, [facts], context.clock.nowMs()).find((one) => one.id === id);
      if (!item) continue;
      const isPermission = () => item.kind === "permission";
      await requireAnswerer({ io, inherited }, { agentId: item.agent_id, isPermission });
      const given = { answer: args.answer ?? "", ...(epoch === undefined ? {} : { epoch }) };
      const outcome = await sendAnswer({ item, decision: facts.decision }, given, () =>
        openClient(context, record),
      );
      if (outcome.kind === "refused") {
        const { detail } = outcome.body as { detail?: unknown };
        throw new CommandFailure(exitCodes.refused, String(detail), outcome.body);
      }
      const { answer: chosen } = outcome.body;
      return { json: outcome.body, text: `answered ${chosen.answer}. ${chosen.label}` };
    }
    throw movedOn(id);
  },
});

export const attentionCommands = { list, answer };

/** One look at the wanted ones of the agents that run, by the same reader as `agents list`. */
async function look(
  context: CliContext,
  io: CliIo,
  isWanted: (record: RegistryRecord) => boolean = () => true,
): Promise<AgentSnapshot[]> {
  const { records } = context.registry.list();
  const openers = mailboxOpeners(context, (what) => void warn(io, what));
  try {
    const sessionAlive = createSessionsSeen(context.tmuxFor);
    return await snapshotAgents(
      { ...context, openers, sessionAlive },
      records.filter((one) => isRunning(one) && isWanted(one)),
    );
  } finally {
    for (const opener of Object.values(openers)) opener.close();
  }
}

const isRunning = ({ lifecycle }: RegistryRecord) =>
  lifecycle.state === "active" || lifecycle.state === "relaunching";

async function openClient(context: CliContext, record: RegistryRecord): Promise<GatewayClient> {
  const { manifest, sessionRoot } = openRecord(context.files, record);
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(context, { sessionRoot, attachIdentity });
  if (link.state === "healthy") return link.client;
  throw new ServiceError("unavailable", `no healthy gateway serves "${record.agent_name}" (${link.why})`);
}

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
    onError: (error) => void warn(io, messageOf(error)),
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
