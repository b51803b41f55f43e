import { findQuestions, renderQuestions } from "../agent/questions.ts";
import {
  type CliIo,
  type Commands,
  command,
  type Flags,
  group,
  type Invocation,
  lazyLeaves,
  UsageError,
} from "../command-line/command.ts";
import { firstWordAsked } from "../command-line/completion.ts";
import { CommandFailure, exitCodes, runProgram } from "../command-line/dispatch.ts";
import { readStdin, readTimeout } from "../command-line/flag-values.ts";
import { unlessInterrupted } from "../command-line/interruption.ts";
import { everywhere } from "../command-line/parse.ts";
import { createProcessIo } from "../command-line/process-io.ts";
import { agentName, nameOnly, rootFlags, textOf, toNamed } from "../command-line/shared-flags.ts";
import { inShortTerms } from "../command-line/short-remedies.ts";
import { programVersion } from "../command-line/version.ts";
import { extensionCommands } from "../extension-commands.ts";
import { answerEach, answerSeveral, chooseAgents, findGroups, severalAgents } from "./several-agents.ts";
import { done, inbox, mail, offerMessages, read, reply } from "./short-mail.ts";
import { restart } from "./short-restart.ts";

const ls = command({
  name: "ls",
  description: "show what waits for a person, then all agents; `svc` alone does the same",
  examples: ["svc", "svc ls --json", "svc ls -q"],
  args: {
    quiet: { type: "boolean", alias: "q", description: "print only the names, a line for each" },
  },
  async run({ args, io, inherited }) {
    if (args.quiet) {
      const { listAgentNames } = await import("../operations/fleet.ts");
      const names = listAgentNames({ io, inherited }, "active");
      return { json: { agent_names: names }, text: names.join("\n") };
    }
    const { answerShortList } = await import("./short-list.ts");
    return answerShortList({ io, inherited });
  },
});

const launch = command({
  name: "new",
  description: "start an agent here, with a gateway beside it",
  examples: ["svc new worker claude", "svc new reviewer codex -m -d ../project"],
  args: {
    ...nameOnly,
    tool: {
      type: "positional",
      description: "claude, codex, gemini, opencode, kimi or demo; NAME-acp, such as gemini-acp, over ACP",
      offers: "tools",
    },
    mailbox: { type: "boolean", alias: "m", description: "give it a mailbox, and wake it when mail comes" },
    workdir: {
      type: "string",
      alias: "d",
      valueHint: "DIR",
      description: "where it works; default: here",
    },
    wait: { type: "boolean", alias: "w", description: "wait until it takes a prompt" },
    fresh: {
      type: "boolean",
      description: "begin without the prompts and the conversation of a stopped agent of this name",
    },
  },
  rest: "TOOL_ARGUMENTS",
  async run({ args, rest, io, inherited }) {
    const { describeFormer, findFormer, launchNamed } = await import("../operations/launch.ts");
    const { canAsk, chooseWord } = await import("../command-line/confirm.ts");
    const former =
      !args.fresh && canAsk({ io, inherited }) ? await findFormer({ io, inherited }, args.name) : null;
    if (former !== null) {
      const question = `"${args.name}" is stopped and has ${describeFormer(former)}. Restart it, or begin fresh without that?`;
      if ((await chooseWord(io, question, ["restart", "fresh"])) === "restart") {
        const { relaunchNamed } = await import("../operations/relaunch.ts");
        const { answerRelaunched } = await import("../commands/work-answers.ts");
        const caller = { io, inherited, whom: { agentId: former.agentId } };
        const wish = { conversation: "own", waiting: "keep", isServed: true } as const;
        return answerRelaunched(io, await relaunchNamed(caller, wish));
      }
    }
    const { answerLaunched } = await import("../commands/agents-launch.ts");
    const launched = await launchNamed(
      { io, inherited },
      {
        tool: args.tool,
        agentName: args.name,
        workdir: args.workdir,
        args: rest,
        env: {},
        turns: { headless: false },
        mailbox: args.mailbox,
        notifier: args.mailbox,
        fresh: args.fresh || former !== null,
        gateway: { isStarted: true },
      },
    );
    const answer = answerLaunched(io, launched);
    const { agent_name: name, backend } = launched.session.manifest;
    // An agent without a terminal takes a prompt at once.
    const { backendFacts } = await import("../../services/agent/backends.ts");
    const isReady = backendFacts(backend).headless;
    if (!args.wait || isReady || (answer.exitCode ?? exitCodes.done) !== exitCodes.done) return answer;
    const isJson = inherited["json"] === true;
    if (!isJson) await io.writeOut(`${answer.text}\n`);
    const { waitForState } = await import("../operations/session.ts");
    const { answerWait } = await import("../commands/work-answers.ts");
    const again = "gateway tui wait --for=ready --timeout=120";
    const state = `the agent runs; wait for it again with: svc agents single --agent-name=${name} ${again}. End it with: svc stop ${name}`;
    // The launch has taken the signals of this process.
    const waited = await unlessInterrupted(io.interrupted(), state, () =>
      waitForState({ io, inherited, whom: { agentName: name } }, { for: "ready", timeoutSeconds: 120 }),
    );
    const waitAnswer = answerWait(waited);
    return { ...waitAnswer, json: { ...(answer.json as object), wait: waitAnswer.json } };
  },
});

/** Warns of a flag of ours behind the name, which is text there. */
async function warnOfFlags(text: string | undefined, flags: Flags, io: CliIo): Promise<void> {
  const words = text?.split(" ") ?? [];
  const names = Object.keys({ ...everywhere, ...rootFlags, ...flags });
  const flag = [words[0], words.at(-1)].find(
    (word) => word?.startsWith("--") && names.includes(word.slice(2)),
  );
  if (flag === undefined) return;
  const { warn } = await import("../command-line/narrate.ts");
  await warn(io, `${flag} is part of the prompt: flags of svc come before the name`);
}

/** The prompt that was given as words, else standard input. Throws UsageError when there is none. */
async function readPromptWords(
  text: string | undefined,
  { io, path }: Pick<Invocation, "io" | "path">,
): Promise<string> {
  const way = "as words or on standard input";
  if (text === undefined && io.stdinIsTty) throw new UsageError(`give the prompt ${way}`, path);
  const prompt = text ?? (await readStdin(io));
  if (prompt.trim() === "") throw new UsageError(`the prompt is empty; give it ${way}`, path);
  return prompt;
}

const runningAgent = { ...agentName, offers: "running-agents" } as const;

const promptArgs = {
  name: runningAgent,
  text: {
    ...textOf("the prompt, all words after the name; without it standard input is read"),
    verbatim: true,
  },
} as const;

/** Nobody looks at a script that waits for ever. */
const scriptTimeoutSeconds = 600;

const askArgs = {
  ...promptArgs,
  timeout: {
    type: "string",
    description: `how long it waits; default: without end at a terminal, else ${scriptTimeoutSeconds}`,
    valueHint: "SECONDS",
  },
  "no-background": {
    type: "boolean",
    description: "do not wait for work that goes on in the background",
  },
} as const satisfies Flags;

const ask = command({
  name: "ask",
  description: "give the agent a prompt, wait for the end of its turn and print the answer",
  examples: [
    "svc ask worker why is the build red",
    "svc ask worker < task.md",
    "svc ask --timeout 60 worker fix the --json flag",
  ],
  args: askArgs,
  async run(invocation) {
    const { args, io } = invocation;
    const timeoutSeconds =
      args.timeout === undefined ? (io.stderrIsTty ? null : scriptTimeoutSeconds) : readTimeout(args.timeout);
    const prompt = await readPromptWords(args.text, invocation);
    await warnOfFlags(args.text, askArgs, io);
    const { askForAnswer } = await import("../commands/work-answers.ts");
    const awaitsBackground = !args["no-background"];
    const question = { prompt, timeoutSeconds, awaitsBackground };
    return askForAnswer(toNamed(invocation), question, { showsState: true });
  },
});

const tell = command({
  name: "tell",
  description: "queue a prompt for the agent, or for the agents of a group of svc.yaml, and go on",
  examples: [
    "svc tell worker run the tests",
    "svc tell worker < task.md",
    "svc tell @reviewers look at the last commit",
  ],
  args: { ...promptArgs, name: { ...agentName, offers: "running-agents-and-groups" } },
  async run(invocation) {
    const { name, text } = invocation.args;
    await warnOfFlags(text, promptArgs, invocation.io);
    const { answerAccepted } = await import("../commands/work-answers.ts");
    const { submitPrompt } = await import("../operations/prompt.ts");
    if (!name.startsWith("@")) {
      const prompt = await readPromptWords(text, invocation);
      return answerAccepted(await submitPrompt(toNamed(invocation), { prompt }));
    }
    const agents = await chooseAgents(invocation, name, "gets nothing");
    const prompt = await readPromptWords(text, invocation);
    return answerEach(invocation, agents, async (caller) =>
      answerAccepted(await submitPrompt(caller, { prompt })),
    );
  },
});

const ok = command({
  name: "ok",
  description: "answer what an agent asks a person; without an answer, show the question",
  examples: ["svc ok", "svc ok worker", "svc ok worker 1", "svc ok worker yes"],
  args: {
    name: { ...runningAgent, required: false },
    answer: textOf("an option's number or text"),
  },
  async run(invocation) {
    const { args, io, inherited, path } = invocation;
    const { name } = args;
    async function decide(agentName: string, option: string, question?: string) {
      const { tuiCommands } = await import("../commands/agent/tui.ts");
      return tuiCommands.decide.call({ io, inherited, path, whom: { agentName } }, { option, question });
    }
    if (args.answer?.trim() === "") throw new UsageError("the answer is empty", path);
    if (name !== undefined && args.answer !== undefined) return decide(name, args.answer);
    const asking = await findQuestions(invocation, name);
    const [only] = asking;
    if (only === undefined) {
      const text = name === undefined ? "nobody asks anything" : `"${name}" asks nothing`;
      return { json: { questions: [] }, text };
    }
    if (asking.length > 1 || !io.stdinIsTty || inherited["json"] === true) {
      return { json: { questions: asking }, text: renderQuestions(asking) };
    }
    await io.writeOut(`${renderQuestions(asking)}\n`);
    await io.writeError("answer with a number or text; nothing leaves it open: ");
    const typed = (await io.readLine())?.trim() ?? "";
    if (typed === "") throw new CommandFailure(exitCodes.refused, "nothing was answered");
    return decide(only.agent_name, typed, only.question);
  },
});

/** Other words for the same, as people know them from elsewhere. */
const synonyms: Readonly<Record<string, string>> = {
  list: "ls",
  ps: "ls",
  launch: "new",
  start: "new",
  send: "tell",
  answer: "ok",
  interrupt: "int",
  kill: "stop",
  logs: "log",
  relaunch: "restart",
  archive: "done",
};

/** How the help lists the commands; others come last. */
const helpOrder = [
  ["ls", "new", "ask", "tell", "ok"],
  ["last", "log", "search", "screen", "why", "record", "replay"],
  ["attach", "int", "stop", "restart", "queue", "drop", "fix"],
  ["mail", "inbox", "read", "reply", "done", "acp", "mcp", "up", "down"],
  ["status", "resume", "watch", "cost", "console"],
].flat();

/** Pure. */
function inHelpOrder(commands: Commands): Commands {
  const rank = (word: string) => (helpOrder.includes(word) ? helpOrder.indexOf(word) : helpOrder.length);
  return Object.fromEntries(Object.entries(commands).toSorted(([one], [other]) => rank(one) - rank(other)));
}

/** All commands of `svc`. */
export const shortCommands = group({
  name: "svc",
  description: `The daily commands in few words. All other commands of \`svc-mgr\`, such as \`svc doctor\`, work here too, and \`svc help WORD\`. Other words: ${Object.entries(
    synonyms,
  )
    .map(([word, meant]) => `${word} (${meant})`)
    .join(", ")}.`,
  examples: ["svc", "svc new first demo", "svc ask first hello", "svc ok first 1"],
  args: rootFlags,
  subCommands: inHelpOrder({
    ls,
    new: launch,
    ask,
    tell,
    ok,
    attach: command({
      name: "attach",
      description: "show the agent's terminal here until you leave it (in tmux: Ctrl-b d)",
      examples: ["svc attach worker"],
      args: { name: runningAgent },
      async run(invocation) {
        const { attachTerminal } = await import("../operations/session.ts");
        return attachTerminal(toNamed(invocation));
      },
    }),
    int: command({
      name: "int",
      description: "stop the turns of agents",
      examples: ["svc int worker", "svc int @reviewers", "svc int --all"],
      args: severalAgents,
      async run(invocation) {
        const { answerInterrupted } = await import("../commands/work-answers.ts");
        const { interruptTurn } = await import("../operations/prompt.ts");
        return answerSeveral(invocation, {
          absence: "is not interrupted",
          act: async (caller) => answerInterrupted(await interruptTurn(caller)),
        });
      },
    }),
    stop: command({
      name: "stop",
      description: "end agents, their gateways and tmux sessions; of a joined agent the session stays",
      examples: ["svc stop worker", "svc stop worker reviewer", "svc stop @reviewers", "svc stop --all"],
      args: severalAgents,
      async run(invocation) {
        const { answerStopped } = await import("../commands/work-answers.ts");
        const { stopNamed } = await import("../operations/session.ts");
        return answerSeveral(invocation, {
          absence: "is not stopped",
          act: async (caller) => answerStopped(await stopNamed(caller)),
        });
      },
    }),
    restart,
    ...lazyLeaves(["queue", "drop", "fix"], () =>
      import("./short-queue.ts").then((module) => module.queueCommands),
    ),
    mail,
    inbox,
    read,
    reply,
    done,
    watch: command({
      name: "watch",
      description: "watch all agents and work with them by keys; ? lists the keys",
      examples: ["svc watch"],
      run: async (invocation) => (await import("../commands/agents-watch.ts")).default.call(invocation, {}),
    }),
    ...extensionCommands("svc"),
    completion: () => import("../commands/completion.ts").then((module) => module.completionCommands("svc")),
  }),
});

/** `help WORD` as `WORD --help`, and a synonym as the word that it stands for. Pure. */
export function toShortWords(argv: readonly string[]): readonly string[] {
  const [first = "", ...rest] = argv;
  if (first === "help") return [...toShortWords(rest), "--help"];
  return Object.hasOwn(synonyms, first) ? [synonyms[first] ?? first, ...rest] : argv;
}

/**
 * The program `svc`; `given`: the words after the program's name. Resolves with the exit code. A command that
 * only `svc-mgr` has is run as that.
 */
export async function runShort(given: readonly string[]): Promise<number> {
  const argv = toShortWords(given);
  const [first = "", ...rest] = argv;
  const word = first === "complete" ? firstWordAsked(rest) || first : first;
  // A document says the same of whichever program it comes.
  const own = createProcessIo();
  const io = (isJson: boolean) => (isJson ? own : inShortTerms(own));
  if (!Object.hasOwn(shortCommands.subCommands ?? {}, word)) {
    const { managerCommands } = await import("../mgr.ts");
    if (Object.hasOwn(managerCommands.subCommands ?? {}, word))
      return runProgram(
        { ...managerCommands, meta: { ...managerCommands.meta, name: "svc" } },
        programVersion,
        argv,
        io,
      );
  }
  const bare = argv.every((word) => ["--json", "-q", "--quiet"].includes(word));
  return runProgram(shortCommands, programVersion, bare ? ["ls", ...argv] : argv, io, {
    offers: { groups: findGroups, messages: offerMessages },
  });
}
