import type { LabTool } from "./cli-cache.ts";
import type { LabSession } from "./lab-session.ts";
import {
  deathFailsTheTurn,
  interruptIsACancel,
  ownToolRuns,
  permissionIsAsked,
  turnsShareOneProcess,
} from "./steps/acp-steps.ts";
import { answersAreExact, headlessAnswersAreExact } from "./steps/answer-steps.ts";
import { compaction, newConversation, printedStatus } from "./steps/command-steps.ts";
import { approvalAllowed, approvalRefused, questionsAnswered, trustIsAsked } from "./steps/decision-steps.ts";
import { exitToShell } from "./steps/exit-steps.ts";
import {
  actionsAreTold,
  conversationBegins,
  conversationsAreChosen,
  gatewayDies,
  type HeadlessStep,
  interruptEndsAll,
  modelErrorFails,
  modelIsForOneTurn,
  promptArrivesWhole,
  runningTurnIsSeen,
} from "./steps/headless-steps.ts";
import type { LabStep } from "./steps/lab-step.ts";
import { ledgerCountsHeadlessTurns, ledgerCountsTurns } from "./steps/ledger-steps.ts";
import { conversation, type MailStep } from "./steps/mail-steps.ts";
import { type McpStep, taskIsHandedOn } from "./steps/mcp-steps.ts";
import {
  arrives,
  directWhenReady,
  draftIsLeftAlone,
  freshIsReady,
  prompts,
  shellLineIsRefused,
  shellModeHoldsPrompts,
} from "./steps/prompt-steps.ts";
import { reportedTurn, reportsItself } from "./steps/signal-steps.ts";
import { roundBySkill, type SkillStep, skillsAreListed, skillsAreShown } from "./steps/skill-steps.ts";
import {
  busyHoldsPrompts,
  failureIsRetried,
  failureIsShown,
  interruptBeforeOutput,
  interruptWhenIdle,
  interruptWhileSpeaking,
  interruptWithHeldInput,
  promptWhileCommandRuns,
  promptWhileSpeaking,
  turnsOfFewSigns,
} from "./steps/turn-steps.ts";
import { headlessFacts, type Transport, toolFacts } from "./tool-facts.ts";

const bang = "a leading !";

/** The steps of one tool in its terminal, in the order in which they share a session. */
export function stepsOf(tool: LabTool): LabStep[] {
  const facts = toolFacts[tool];
  return [
    { id: "a fresh agent is ready and has no last turn", run: freshIsReady },
    {
      id:
        reportedTurn[tool] === null
          ? `${tool} is given nothing to report with`
          : "the tool reports its turn once, with the prompt's text",
      run: reportsItself,
    },
    ...(keepsExactRecord(tool)
      ? [{ id: "the answer that is printed is what the model said", run: answersAreExact }]
      : []),
    ...prompts.map(({ id, prompt }) => ({ id, run: (session: LabSession) => arrives(session, prompt) })),
    facts.leadingBang === "text"
      ? { id: `${bang} is text, not a shell command`, run: (session) => arrives(session, "!echo FAST") }
      : { id: `${bang} is refused before it runs as a shell command`, run: shellLineIsRefused },
    { id: "the ledger counts two turns as the model counted them", run: ledgerCountsTurns },
    { id: "a direct prompt is delivered when the agent is ready", run: directWhenReady },
    { id: "a person's draft is left alone and what waits for it goes on", run: draftIsLeftAlone },
    { id: "a shell mode that a person opened holds every prompt", run: shellModeHoldsPrompts },
    {
      id: "busy is seen, a direct prompt is refused and a queued one waits for the turn's end",
      run: busyHoldsPrompts,
    },
    { id: `an immediate prompt is ${facts.whileSpeaking} while the model speaks`, run: promptWhileSpeaking },
    ...(facts.holdsBehindCommand
      ? [{ id: "an immediate prompt is held while a command runs", run: promptWhileCommandRuns }]
      : []),
    { id: "an interrupt stops a turn that is speaking", run: interruptWhileSpeaking },
    { id: "an interrupt before the first word leaves an empty composer", run: interruptBeforeOutput },
    { id: "an interrupt stops the turn and the input behind it", run: interruptWithHeldInput },
    { id: "an interrupt of an idle agent presses no key", run: interruptWhenIdle },
    { id: "the tool's compaction leaves it ready", run: compaction },
    ...facts.failures.map((failure) => ({
      id: `an answer with status ${failure.status} ends the turn`,
      run: (session: LabSession) => failureIsShown(session, failure),
    })),
    ...facts.retried.map((status) => ({
      id: `an answer with status ${status} is retried until an interrupt`,
      run: (session: LabSession) => failureIsRetried(session, status),
    })),
    { id: "a question holds everything until it is allowed by its text", run: approvalAllowed },
    { id: "a question refused by its index runs no command", run: approvalRefused },
    ...(tool === "claude"
      ? [{ id: "questions of several choices and pages are answered one by one", run: questionsAnswered }]
      : []),
    ...(tool === "codex" ? [{ id: "a prompt after `/status` arrives", run: printedStatus }] : []),
    { id: "a new conversation hears nothing of the old one", run: newConversation },
    {
      id: `a prompt after all this arrives in the same ${tool} session`,
      run: (session) => arrives(session, "Last FAST"),
    },
    { id: "after the tool's exit nothing is typed into the shell", last: true, run: exitToShell },
    ...(tool === "claude"
      ? [
          {
            id: "in vim mode and without a title a turn runs until its end, and is interrupted",
            own: { trusted: true, fewSigns: true },
            run: turnsOfFewSigns,
          },
        ]
      : []),
    ...(facts.trust
      ? [
          {
            id: "a question about the folder holds a prompt until it is answered",
            own: { trusted: false },
            run: trustIsAsked,
          },
        ]
      : []),
  ];
}

/** Gemini leaves joiners out of what it keeps, and what opencode keeps is not proved. */
const keepsExactRecord = (tool: LabTool) => tool === "claude" || tool === "codex";

/**
 * The contract of headless turns: the same steps for each tool over each transport, in the order in which
 * they share a session.
 */
export function headlessStepsOf(tool: LabTool, transport: Transport): HeadlessStep[] {
  const { model, keepsModel } = headlessFacts[transport][tool];
  return [
    { id: "a first turn opens a conversation and pins the session to it", run: conversationBegins },
    { id: "a prompt arrives whole in the conversation that is pinned", run: promptArrivesWhole },
    { id: "the ledger counts two turns as the model counted them", run: ledgerCountsHeadlessTurns },
    { id: "a conversation is new, chosen by its id, or the tool's last", run: conversationsAreChosen },
    {
      id: model
        ? `a model is for one turn${keepsModel ? " and the conversation keeps it" : ""}`
        : "a model for one turn is refused",
      run: modelIsForOneTurn,
    },
    { id: "an action is told with its result", run: actionsAreTold },
    ...(keepsExactRecord(tool)
      ? [{ id: "the answer after an action is what the model said", run: headlessAnswersAreExact }]
      : []),
    { id: "an error of the model fails the turn with its cause", run: modelErrorFails },
    { id: "a running turn is seen, and its prompt in no argument list", run: runningTurnIsSeen },
    { id: "an interrupt ends the tool's work and all it started", run: interruptEndsAll },
    { id: "a turn outlives its gateway and is asked once", run: gatewayDies },
  ];
}

/** What a tool over ACP does beside the contract of headless turns, when it asks before it acts. */
export const acpSteps: readonly HeadlessStep[] = [
  { id: "two turns share one process and one conversation, with their tokens", run: turnsShareOneProcess },
  { id: "an adapter runs the tool of the person, not its own", run: ownToolRuns },
  { id: "a permission waits for a person and is done after the answer", run: permissionIsAsked },
  { id: "an interrupt is a cancel, and the process goes on", run: interruptIsACancel },
  {
    id: "a process that dies in mid-turn fails the turn, and another goes on with the conversation",
    run: deathFailsTheTurn,
  },
];

/** The steps of one tool that has the skills, in the order in which they share a session. */
export function skillStepsOf(tool: LabTool): SkillStep[] {
  const told = { id: "every installed skill is told to the model", run: skillsAreListed };
  // Its skills are opened by a program that it fetches from the network.
  if (tool === "opencode") return [{ ...told, last: true }];
  return [
    told,
    { id: "its own list shows every installed skill", run: skillsAreShown },
    { id: "a round of mail is done by commands of the skill's text alone", run: roundBySkill, last: true },
  ];
}

/** The steps of one tool that has our MCP server. */
export const mcpSteps: readonly McpStep[] = [
  {
    id: "a task is handed to another agent by our tools alone, over a killed server",
    run: taskIsHandedOn,
    last: true,
  },
];

/** The steps of one tool that talks by mail. */
export const mailSteps: readonly MailStep[] = [
  { id: "every mail is read, answered and archived once, by the shell alone", run: conversation, last: true },
];
