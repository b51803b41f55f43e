/** One change of a real module that must not go unnoticed. */
export interface Mutation {
  name: string;
  module: string;
  /** Stands exactly once in the module. */
  text: string;
  replacement: string;
  /** What a person would lose by it. */
  breaks: string;
  /** Which check must notice it. */
  caught: CaughtByWorlds | CaughtBySuite;
}

/** The simulation says this of one of the worlds from the seed `from` on. */
export interface CaughtByWorlds {
  by: "simulation";
  wrong: RegExp;
  from: number;
}

/** A test file fails. */
export interface CaughtBySuite {
  by: "suite";
  file: string;
}

const world = (wrong: RegExp, from = 1): CaughtByWorlds => ({ by: "simulation", wrong, from });

export const mutations: readonly Mutation[] = [
  {
    name: "drop a sync",
    module: "src/db/open.ts",
    text: '"synchronous=FULL",',
    replacement: '"synchronous=OFF",',
    breaks: "an accepted request is lost with the power",
    caught: { by: "suite", file: "tests/mutations/store-syncs.test.ts" },
  },
  {
    name: "swap two writes: answer, then store",
    module: "src/services/queue/acceptance.ts",
    text: "await store.insertAccepted(row, guard);",
    replacement: "await Promise.race([store.insertAccepted(row, guard), undefined]).catch(() => {});",
    breaks: "202 is answered for a request that a full disk or a crash keeps from the queue",
    caught: world(/is not stored|stuck|no wake-up of its own/),
  },
  {
    name: "type without a claim",
    module: "src/services/queue/queue.ts",
    text: 'store.transition("sql:request-promoted", transitions, { durable });',
    replacement: "void [transitions, durable];",
    breaks: "a request that was typed may be typed again after a crash",
    caught: world(/typed what nobody asked for/),
  },
  {
    name: "lose a wake-up of the queue",
    module: "src/cli/gateway/gateway.ts",
    text: "start: () => agent.onChange(() => slot.changed())",
    replacement: "start: () => agent.onChange(() => board.refresh())",
    breaks: "a prompt waits beside an idle agent",
    caught: world(/stuck/),
  },
  {
    name: "skip the epoch",
    module: "src/services/status/project.ts",
    text: "instanceId: liveId, epoch: known.epoch + 1 };",
    replacement: "instanceId: liveId };",
    breaks: "what was asked of a former agent is given to the next one",
    caught: world(/epoch 1 was given to/),
  },
  {
    name: "ignore the ready predicate",
    module: "src/services/agent/readiness.ts",
    text: "if (failing.length > 0) return refuse",
    replacement: "if (failing.length > 1000) return refuse",
    breaks: "a queued prompt is typed into a running turn or a draft",
    caught: world(/typed into a (busy agent|draft|question)/),
  },
  {
    name: "forget the draft of a person",
    module: "src/services/agent/readiness.ts",
    text: 'if (accepting_input === "yes" && editing_input === "no")',
    replacement: 'if (accepting_input === "yes")',
    breaks: "an immediate prompt is joined to what a person was typing",
    caught: world(/typed into a draft/, 150),
  },
  {
    name: "paste twice",
    module: "src/services/agent/dispatch.ts",
    text: "await pane.paste(...pastesOf(",
    replacement: "await pane.paste(text);\n        await pane.paste(...pastesOf(",
    breaks: "the agent is given every prompt twice in one",
    caught: world(/middle of another submission/),
  },
  {
    name: "open exclusive access for two",
    module: "src/services/terminal/tmux/exclusive-pane.ts",
    text: "      line.run(async () => {",
    replacement: "      [line].map(async () => {",
    breaks: "two prompts are typed into each other",
    caught: { by: "suite", file: "tests/integration/terminal/exclusive-pane.test.ts" },
  },
  {
    name: "forget an audit row",
    module: "src/services/notifier/notifier.ts",
    text: "      store.recordPoll(result.row, result.memory);",
    replacement: '      if (result.row.outcome !== "enqueued") store.recordPoll(result.row, result.memory);',
    breaks: "nobody can see why an agent was woken",
    caught: world(/was not audited/),
  },
  {
    name: "deliver mail twice",
    module: "src/services/mail/facade.ts",
    text: 'return toAnswer(bound, "send", mailbox.send(fitCarrier(draft, request, mailbox.capabilities)));',
    replacement:
      'await mailbox.send(fitCarrier(draft, request, mailbox.capabilities));\n      return toAnswer(bound, "send", mailbox.send(fitCarrier(draft, request, mailbox.capabilities)));',
    breaks: "every letter comes twice",
    caught: world(/was delivered 2 times/),
  },
  {
    name: "forget whom a copy is for",
    module: "src/services/mail/filesystem/delivery/delivery.ts",
    text: "const receivers = localOf([...to, ...cc]);",
    replacement: "const receivers = localOf(to);",
    breaks: "mail that was told as sent reaches only some",
    caught: world(/was sent and not delivered/),
  },
  {
    name: "archive without looking whose it is",
    module: "src/services/mail/filesystem/mailbox.ts",
    text: 'const rows = now.state.change("sql:mail-changed", ids, (row) => {\n      if (!row) throw new ServiceError("not_found", "this mailbox holds no such message");',
    replacement:
      'const rows = now.state.change("sql:mail-changed", ids, (row) => {\n      if (!row) return { boxName: archive, isRead: true, isAnswered: false };',
    breaks: "an agent is told that it archived another's mail",
    caught: world(/archived .* which is not its own/),
  },
];
