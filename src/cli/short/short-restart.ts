import { cutText } from "../../system/text-columns.ts";
import { visibleLine } from "../../system/visible.ts";
import type { AgentCaller } from "../agent/target.ts";
import { command, type Invocation, UsageError } from "../command-line/command.ts";
import { canAsk, chooseWord } from "../command-line/confirm.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import type { WaitingAgent } from "../operations/relaunch.ts";
import { answerChosen, chooseSeveral, severalAgents } from "./several-agents.ts";

export const restart = command({
  name: "restart",
  description:
    "start the programs of agents again, with their conversations where their tools can; a stopped agent comes back in a new tmux session",
  examples: ["svc restart worker", "svc restart worker --new", "svc restart @reviewers --keep"],
  args: {
    ...severalAgents,
    new: { type: "boolean", description: "begin a new conversation" },
    continue: { type: "boolean", alias: "c", hidden: true, description: "go on with the last conversation" },
    keep: { type: "boolean", description: "keep the prompts that wait, for the new instance" },
    drop: { type: "boolean", description: "let the prompts that wait fail" },
  },
  async run(invocation) {
    const { args, io, inherited, path } = invocation;
    if (args.keep && args.drop) throw new UsageError("give --keep or --drop, not both", path);
    if (args.new && args.continue) throw new UsageError("give --new or --continue, not both", path);
    const { readWaiting, relaunchNamed } = await import("../operations/relaunch.ts");
    const { answerRelaunched } = await import("../commands/work-answers.ts");
    const chosen = await chooseSeveral(invocation, "is not started", { isStoppedToo: true });
    const given = args.keep ? "keep" : args.drop ? "drop" : null;
    const waiting: WaitingAgent[] = [];
    for (const { whom } of given === null ? chosen.agents : []) {
      if (whom instanceof Error) continue;
      const found = await readWaiting({ io, inherited, whom });
      if (found.prompts.length > 0) waiting.push(found);
    }
    const fate = waiting.length === 0 ? given : await askFate(invocation, waiting);
    const act = async (caller: AgentCaller) =>
      answerRelaunched(
        io,
        await relaunchNamed(caller, {
          conversation: args.new ? { mode: "new" } : "own",
          waiting: fate,
          isServed: true,
        }),
      );
    return answerChosen({ io, inherited }, chosen, act);
  },
});

/** Once for all of them. */
async function askFate(
  { io, inherited }: Pick<Invocation, "io" | "inherited">,
  agents: readonly WaitingAgent[],
): Promise<"keep" | "drop"> {
  const lines = agents.flatMap(({ agentName, prompts }) => [
    `${agentName}: ${prompts.length === 1 ? "1 prompt waits" : `${prompts.length} prompts wait`}`,
    ...prompts.slice(0, maxShown).map(({ payload }) => `  ${shorten(payload["prompt"])}`),
    ...(prompts.length > maxShown ? [`  and ${prompts.length - maxShown} more`] : []),
  ]);
  if (canAsk({ io, inherited })) {
    await io.writeError(`${lines.join("\n")}\n`);
    return chooseWord(io, "Keep them for the new instance, or drop them?", ["keep", "drop"]);
  }
  const detail = `${lines.join("\n")}\nSay what becomes of them: --keep or --drop`;
  throw new CommandFailure(exitCodes.refused, detail, {
    error: "prompts_wait",
    detail: "prompts wait; say what becomes of them: --keep or --drop",
    agents: agents.map(({ agentName, prompts }) => ({
      agent_name: agentName,
      request_ids: prompts.map(({ requestId }) => requestId),
    })),
  });
}

const maxShown = 5;
const maxColumns = 70;

function shorten(prompt: unknown): string {
  return cutText(visibleLine(typeof prompt === "string" ? prompt : ""), maxColumns);
}
