import { findQuestions, renderQuestions } from "../agent/questions.ts";
import type { AgentCaller } from "../agent/target.ts";
import {
  type CliIo,
  type Command,
  command,
  type Flags,
  group,
  type Invocation,
  UsageError,
} from "../command-line/command.ts";
import { firstWordAsked } from "../command-line/completion.ts";
import { CommandFailure, exitCodes, runProgram } from "../command-line/dispatch.ts";
import { readStdin, readTimeout, wordsOf } from "../command-line/flag-values.ts";
import { unlessInterrupted } from "../command-line/interruption.ts";
import { everywhere } from "../command-line/parse.ts";
import { createProcessIo } from "../command-line/process-io.ts";
import { rootFlags } from "../command-line/shared-flags.ts";
import { inShortTerms } from "../command-line/short-remedies.ts";
import { programVersion } from "../command-line/version.ts";
import { extensionCommands } from "../extension-commands.ts";
import { withoutTerminal } from "../operations/outcome.ts";
import { answerEach, answerSeveral, chooseAgents, findGroups, severalAgents } from "./several-agents.ts";
import { mail } from "./short-mail.ts";
import { restart } from "./short-restart.ts";
import { agentName, flagged, manage, momentFlag, nameOnly, shorthand, single, textOf } from "./shorthand.ts";

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
    mailbox: { type: "boolean", alias: "m", description: "give it a mailbox" },
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

/** Who calls, and the agent of the name that was given. */
function toNamed({ io, inherited, args }: Invocation<typeof nameOnly>): AgentCaller {
  return { io, inherited, whom: { agentName: args.name } };
}

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
    const agents = await chooseAgents(invocation as unknown as Invocation, name, "gets nothing");
    const prompt = await readPromptWords(text, invocation);
    return answerEach(invocation, agents, async (caller) =>
      answerAccepted(await submitPrompt(caller, { prompt })),
    );
  },
});

const ofOne = (
  name: string,
  { description, examples, words }: { description: string; examples?: string[]; words: string[] },
): Command =>
  shorthand({
    name,
    description,
    examples: examples ?? [`svc ${name} worker`],
    args: nameOnly,
    words: (args) => single(args.name, ...words),
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
    const { args, io } = invocation;
    const { name } = args;
    const decide = (who: string, option: string, question?: string) =>
      manage(
        invocation as unknown as Invocation,
        single(who, "gateway", "tui", "decide", `--option=${option}`, ...flagged("question", question)),
      );
    if (args.answer?.trim() === "") throw new UsageError("the answer is empty", invocation.path);
    if (name !== undefined && args.answer !== undefined) return decide(name, args.answer);
    const asking = await findQuestions(invocation as unknown as Invocation, name);
    const [only] = asking;
    if (only === undefined) {
      const text = name === undefined ? "nobody asks anything" : `"${name}" asks nothing`;
      return { json: { questions: [] }, text };
    }
    if (asking.length > 1 || !io.stdinIsTty || invocation.inherited["json"] === true) {
      return { json: { questions: asking }, text: renderQuestions(asking) };
    }
    await io.writeOut(`${renderQuestions(asking)}\n`);
    await io.writeError("answer with a number or text; nothing leaves it open: ");
    const typed = (await io.readLine())?.trim() ?? "";
    if (typed === "") throw new CommandFailure(exitCodes.refused, "nothing was answered");
    return decide(only.agent_name, typed, only.question);
  },
});

const fix = command({
  name: "fix",
  description:
    "start its gateway where none runs, and open a queue that a relaunch closed: what the earlier instance did not do fails; --again submits failed prompts again",
  examples: ["svc fix worker", "svc fix worker --again", "svc fix worker --again 12 --yes"],
  args: {
    ...nameOnly,
    numbers: textOf("with --again: numbers of the prompts; default: those after which nobody gave new work"),
    again: {
      type: "boolean",
      description: "then submit again what failed or has an unknown outcome, after showing it",
    },
    yes: { type: "boolean", alias: "y", description: "with --again: do not ask" },
  },
  async run(invocation) {
    const { args, io, path } = invocation;
    const plain = invocation as unknown as Invocation;
    const numbers = wordsOf(args.numbers);
    if (!args.again && (numbers.length > 0 || args.yes)) {
      throw new UsageError("numbers and --yes go with --again", path);
    }
    const attach = single(args.name, "gateway", "attach", "--reconcile");
    if (!args.again) return manage(plain, attach);
    // One document is printed: what is submitted again.
    let written = "";
    const quiet =
      invocation.inherited["json"] === true
        ? withoutTerminal(io, {
            writeOut: async (text) => {
              written += String(text);
            },
            writeError: (text) => io.writeError(text),
          })
        : io;
    const attached = await manage({ ...plain, io: quiet }, attach);
    if (attached !== exitCodes.done) {
      if (written !== "") await io.writeOut(written);
      return attached;
    }
    const again = ["requests", "resubmit", ...numbers, ...(args.yes ? ["--yes"] : [])];
    return manage(plain, single(args.name, ...again));
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
};

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
  subCommands: {
    ls,
    new: launch,
    ask,
    tell,
    ok,
    last: ofOne("last", { description: "print the agent's last answer", words: ["last"] }),
    log: shorthand({
      name: "log",
      description: "show what the agent was asked and what it answered",
      examples: ["svc log worker", "svc log worker -f", "svc log worker --turn 1"],
      args: {
        ...nameOnly,
        turn: { type: "string", description: "one turn: its id, or 1 for the last", valueHint: "N|ID" },
        follow: { type: "boolean", alias: "f", description: "go on with each turn as it ends" },
      },
      words: ({ name, turn, follow }) => [
        ...single(name, "log", ...flagged("turn", turn)),
        ...(follow ? ["--follow"] : []),
      ],
    }),
    search: shorthand({
      name: "search",
      description: "show the turns whose prompt or answer has these words",
      examples: ["svc search worker parser"],
      args: { ...nameOnly, text: { type: "positional", many: true, description: "words, in any case" } },
      words: ({ name, text }) => single(name, "search", text),
    }),
    screen: shorthand({
      name: "screen",
      description: "show the agent's terminal as it is",
      examples: ["svc screen worker", "svc screen worker -f"],
      args: {
        ...nameOnly,
        follow: { type: "boolean", alias: "f", description: "show it again when it changed" },
      },
      words: ({ name, follow }) => [...single(name, "screen"), ...(follow ? ["--follow"] : [])],
    }),
    why: shorthand({
      name: "why",
      description: "say what keeps the agent from taking a prompt, or kept it at a recorded moment",
      examples: ["svc why worker", "svc why worker --at 03:12", 'svc why worker --at "10m ago"'],
      args: { ...nameOnly, at: momentFlag },
      words: ({ name, at }) => single(name, "why", ...flagged("at", at)),
    }),
    record: shorthand({
      name: "record",
      description: "record what the agent's terminal shows and why it waits: on, off or status",
      examples: ["svc record worker on", "svc record worker on --max-size 1G", "svc record worker status"],
      args: {
        ...nameOnly,
        action: {
          type: "positional",
          description: "on, off or status",
          words: ["on", "off", "status"],
        },
        "max-size": { type: "string", description: "bytes on disk (default 256M)", valueHint: "SIZE" },
        "max-age": { type: "string", description: "how long it is kept (default 7d)", valueHint: "SPAN" },
      },
      words: ({ name, action, ...limits }) => [
        ...single(name, "record", action),
        ...flagged("max-size", limits["max-size"]),
        ...flagged("max-age", limits["max-age"]),
      ],
    }),
    replay: shorthand({
      name: "replay",
      description: "show what the agent's terminal showed, or write it as an asciicast file",
      examples: ["svc replay worker --at 03:12 --speed 4", "svc replay worker --at 03:00 --cast night.cast"],
      args: {
        ...nameOnly,
        at: { ...momentFlag, description: `${momentFlag.description}; default: a minute before the last` },
        until: { ...momentFlag, description: "the last moment; default: now" },
        speed: { type: "string", description: "how many times faster", valueHint: "N" },
        cast: { type: "string", description: "write an asciicast v2 file instead", valueHint: "FILE" },
      },
      words: ({ name, at, until, speed, cast }) => [
        ...single(name, "replay", ...flagged("at", at), ...flagged("until", until)),
        ...flagged("speed", speed),
        ...flagged("cast", cast),
      ],
    }),
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
    queue: ofOne("queue", {
      description: "show what waits for the agent, the next one first: number, from whom, reason, text",
      examples: ["svc queue worker", "svc queue worker --json"],
      words: ["requests", "list", "--waiting"],
    }),
    drop: shorthand({
      name: "drop",
      description: "take back prompts that wait, by the numbers that `svc queue` shows, or all",
      examples: ["svc drop worker 12", "svc drop worker 12 14", "svc drop worker --all"],
      args: {
        ...nameOnly,
        numbers: textOf("numbers of prompts"),
        all: { type: "boolean", description: "every prompt that waits" },
      },
      words: ({ name, numbers, all }) =>
        single(name, "requests", "withdraw", ...wordsOf(numbers), ...(all ? ["--all"] : [])),
    }),
    fix,
    mail,
    acp: shorthand({
      name: "acp",
      description: "serve an agent to an editor over the Agent Client Protocol, on standard input and output",
      examples: ["svc acp --agent worker"],
      args: {
        agent: { type: "string", required: true, description: "the agent's name", valueHint: "NAME" },
      },
      words: ({ agent }) => ["acp", `--agent=${agent}`],
    }),
    mcp: shorthand({
      name: "mcp",
      description: "serve MCP on standard input and output; `install` and `uninstall` configure the tools",
      examples: ["svc mcp", "svc mcp install", "svc mcp install claude,codex", "svc mcp uninstall"],
      args: {
        action: {
          type: "positional",
          required: false,
          description: "serve, install or uninstall",
          words: ["serve", "install", "uninstall"],
        },
        tool: {
          type: "positional",
          required: false,
          description: "claude, codex, gemini, opencode",
          words: ["claude", "codex", "gemini", "opencode"],
        },
      },
      words: ({ action, tool }) => ["mcp", action ?? "serve", ...flagged("tool", tool)],
    }),
    ...extensionCommands("svc"),
    watch: shorthand({
      name: "watch",
      description: "watch all agents and work with them by keys; ? lists the keys",
      examples: ["svc watch"],
      words: () => ["agents", "watch"],
    }),
    cost: shorthand({
      name: "cost",
      description: "show what the agents used and cost",
      examples: ["svc cost", "svc cost worker --since 24h --by model"],
      args: {
        name: { ...agentName, required: false },
        by: {
          type: "string",
          valueHint: "KEYS",
          description: "a row for each agent, team, host, day, model or wake_reason, or for several",
        },
        since: { type: "string", valueHint: "TIME", description: "24h, 7d, today or an RFC 3339 time" },
      },
      words: ({ name, by, since }) => [
        "ledger",
        ...flagged("agent", name),
        ...flagged("by", by),
        ...flagged("since", since),
      ],
    }),
    console: shorthand({
      name: "console",
      description: "print where the console is in a browser; starts its server when none runs",
      examples: ["svc console", "svc console --open"],
      args: { open: { type: "boolean", description: "open it in your browser" } },
      words: ({ open }) => ["console", ...(open ? ["--open"] : [])],
    }),
    completion: () => import("../commands/completion.ts").then((module) => module.completionCommands("svc")),
  },
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
  return runProgram(shortCommands, programVersion, bare ? ["ls", ...argv] : argv, io, { findGroups });
}
