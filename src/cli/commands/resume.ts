import type { Advise } from "../../protocol/remedy.ts";
import { visibleLine } from "../../system/visible.ts";
import { command } from "../command-line/command.ts";
import { CommandFailure, describeFailure, exitCodes } from "../command-line/dispatch.ts";
import { toWholeNumber } from "../command-line/flag-values.ts";
import { type Resumed, type Resumption, resumeAgents } from "../operations/resume.ts";

/** A start is mostly the work of one core; more at a time only make each slower. */
const atOnceHere = () => Math.min(8, Math.max(2, navigator.hardwareConcurrency));

/** `program`: whose examples the help shows. */
export const resumeCommand = (program: string) =>
  command({
    name: "resume",
    description:
      "bring the agents back that went with their machine or its tmux server, with queue and conversation, those first for whom prompts wait; below a svc.yaml those that it launched",
    examples: ["", " --dry-run", " --all", " --at-once 2 --json"].map((flags) => `${program} resume${flags}`),
    args: {
      all: { type: "boolean", description: "also those that a person stopped" },
      "at-once": {
        type: "string",
        valueHint: "N",
        description: "so many start at a time; default: a number that fits the processors",
      },
      "dry-run": {
        type: "boolean",
        description: "say who would come back and who cannot, and change nothing",
      },
    },
    async run({ args, io, inherited }) {
      const resumption = await resumeAgents(
        { io, inherited },
        {
          isStoppedToo: args.all,
          atOnce: toWholeNumber("at-once", args["at-once"], 1, 100) ?? atOnceHere(),
          isDryRun: args["dry-run"],
        },
      );
      const results = resumption.agents.map((one) => toResult(one, io.advise));
      const document = {
        schema_version: 1,
        dry_run: args["dry-run"],
        agents: results.map(({ json }) => json),
        left_stopped: resumption.leftStopped,
        left_elsewhere: resumption.leftElsewhere,
        elapsed_seconds: Math.round(resumption.elapsedMs / 100) / 10,
      };
      const conclusion = conclude(resumption, { isDryRun: args["dry-run"], program: io.program });
      if (resumption.agents.some(({ outcome }) => outcome === "not_begun")) {
        const lines = [...results.map(({ text }) => text), ...conclusion, `Go on with: ${io.program} resume`];
        const detail = ["interrupted", ...lines].join("\n");
        throw new CommandFailure(exitCodes.interrupted, detail, {
          error: "interrupted",
          detail,
          ...document,
        });
      }
      const failures = results.filter(({ exitCode }) => exitCode !== exitCodes.done);
      const linesOf = (some: typeof results) => some.map(({ text }) => text.replaceAll("\n", "\n  "));
      if (failures.length > 0 && inherited["json"] !== true) {
        await io.writeError(`${linesOf(failures).join("\n")}\n`);
      }
      const done = results.filter(({ exitCode }) => exitCode === exitCodes.done);
      return {
        json: document,
        text: [...linesOf(done), ...conclusion].join("\n"),
        exitCode: Math.max(exitCodes.done, ...results.map(({ exitCode }) => exitCode)),
      };
    },
  });

interface Result {
  json: object;
  text: string;
  exitCode: number;
}

function toResult(resumed: Resumed, advise: Advise): Result {
  const { agent, outcome } = resumed;
  const { record, waiting, hadTurn } = agent;
  const { agent_name, agent_id, identity } = record;
  const facts = {
    agent_name,
    agent_id,
    tool: identity.tool,
    stopped_by_person: agent.isStopped,
    waiting_prompts: waiting,
    had_turn: hadTurn,
    outcome,
  };
  const name = visibleLine(agent_name);
  switch (outcome) {
    case "failed": {
      const { exitCode, document, detail } = describeFailure(resumed.error, advise);
      const text = detail.includes(`"${agent_name}"`)
        ? detail
        : `"${agent_name}" was not brought back: ${detail}`;
      return { json: { ...facts, ...(document as object) }, text, exitCode };
    }
    case "runs":
      return { json: facts, text: `${name} runs already`, exitCode: exitCodes.done };
    case "not_begun":
      return { json: facts, text: `${name} was not begun`, exitCode: exitCodes.interrupted };
    case "resumed":
    case "would_resume": {
      const { conversation } = resumed;
      const verb = outcome === "resumed" ? "runs again" : "would come back";
      const talk =
        conversation.mode === "continued"
          ? "with its conversation"
          : `with a new conversation: ${conversation.why}`;
      const log = advise({ code: "show_last_turn", agent_name }).command;
      const notes = [
        ...(waiting === 0
          ? []
          : [waiting === 1 ? "1 prompt waits for it" : `${waiting} prompts wait for it`]),
        ...(hadTurn ? [`the turn that ran ended with it and is not repeated: ${log}`] : []),
      ];
      return {
        json: { ...facts, conversation },
        text: [`${name} ${verb}, ${talk}`, ...notes.map((note) => `  ${note}`)].join("\n"),
        exitCode: exitCodes.done,
      };
    }
  }
}

function conclude(
  { agents, leftStopped, leftElsewhere, teamFile, elapsedMs }: Resumption,
  { isDryRun, program }: { isDryRun: boolean; program: string },
): string[] {
  const back = agents.filter(({ outcome }) => outcome === "resumed").length;
  const which = teamFile === null ? "" : ` that ${visibleLine(teamFile)} launched`;
  const lead =
    agents.length === 0
      ? [`no agent${which} is gone`]
      : isDryRun
        ? []
        : [`${back} of ${agents.length} agents run again after ${Math.round(elapsedMs / 1000)} s`];
  return [
    ...lead,
    ...(leftStopped === 0 ? [] : [`${count(leftStopped)} that a person stopped: ${program} resume --all`]),
    ...(leftElsewhere === 0
      ? []
      : [`${count(leftElsewhere)} of other folders: ${program} resume there, or in /`]),
  ];
}

const count = (agents: number) => (agents === 1 ? "1 agent is left" : `${agents} agents are left`);
