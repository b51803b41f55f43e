import { type GuideSkill, parseSkill } from "../../support/loop-guide.ts";
import { skillCommands } from "../../support/skill-commands.ts";

/** A numbered step of a skill. */
interface Step {
  text: string;
  commands: string[];
}

/** A cell of the contract's table of loop skills, and how a text keeps it. */
export interface LoopRule {
  rule: string;
  holds: (skill: GuideSkill, steps: readonly Step[]) => boolean;
}

function stepsOf({ body }: GuideSkill): Step[] {
  return body
    .split(/^(?=\d+\. )/m)
    .slice(1)
    .map((text) => ({ text: text.replaceAll(/\s+/g, " "), commands: skillCommands(text) }));
}

/** The rules that a text breaks. */
export function brokenRules(rules: readonly LoopRule[], text: string): string[] {
  const skill = parseSkill(text);
  const steps = stepsOf(skill);
  return rules.filter(({ holds }) => !holds(skill, steps)).map(({ rule }) => rule);
}

/** Step in which the first command with `part` stands; -1 when there is none. */
const stepWith = (steps: readonly Step[], part: string) =>
  steps.findIndex(({ commands }) => commands.some((command) => command.includes(part)));
const all = (steps: readonly Step[]) => steps.flatMap(({ commands }) => commands);
const rising = (...places: number[]) =>
  places.every((place, index) => place >= 0 && place > (places[index - 1] ?? -1));

/** Words of a command that keep a turn open. */
const waiting = /\b(?:sleep|tail|watch|while|until|wait|seq)\b|--wait|--follow|--timeout/;

const always: readonly LoopRule[] = [
  {
    rule: "never sleeps, polls, tails a log or keeps the turn open",
    holds: (_, steps) => !all(steps).some((command) => waiting.test(command)),
  },
  {
    rule: "ends by stopping, without waiting for another agent",
    holds: (_, steps) => /^\d+\. Stop\b.*\b[Dd]o not .*wait/.test(steps.at(-1)?.text ?? ""),
  },
  {
    rule: "prompts nobody and sets no clock",
    holds: (_, steps) =>
      !all(steps).some((command) => / (?:prompt|send-keys|reminders|mail-notifier) /.test(command)),
  },
  {
    rule: "takes references as they are given",
    holds: (_, steps) =>
      all(steps).every(
        (command) => !command.includes("--message-ref") || /--message-ref REF\b/.test(command),
      ),
  },
];

/** Contract 1.1, the row of on-event skills. */
export const onEventRules: readonly LoopRule[] = [
  {
    rule: "is triggered by mail of one named family",
    holds: ({ description }) => /Use when .* mail with the subject [a-z.]+\/\d+\.$/.test(description),
  },
  {
    rule: "inspects that mail only",
    holds: ({ body, description }, steps) => {
      const family = /subject ([a-z.]+\/\d+)/.exec(description)?.[1] ?? "no family";
      return (
        new RegExp(`Only mail with the subject \`${family}\``).test(body) &&
        /leave all other mail where it is/.test(body) &&
        !all(steps).some((command) => / mail list/.test(command))
      );
    },
  },
  {
    rule: "validates before it acts",
    holds: (_, steps) =>
      rising(
        stepWith(steps, " mail read "),
        steps.findIndex(({ text }) => /^\d+\. Validate\b/.test(text)),
        steps.findIndex(({ text }) => /^\d+\. Act\b/.test(text)),
      ),
  },
  {
    rule: "does one thing, bounded in time",
    holds: (_, steps) => {
      const acts = steps.filter(({ text }) => /^\d+\. Act\b/.test(text)).flatMap(({ commands }) => commands);
      return acts.length === 1 && /^timeout \d+ /.test(acts[0] ?? "");
    },
  },
  {
    rule: "replies, then archives, after success alone",
    holds: (_, steps) => {
      const archive = stepWith(steps, " mail archive ");
      const reply = steps.findLastIndex(({ commands }) =>
        commands.some((one) => one.includes(" mail reply ")),
      );
      return rising(reply, archive) && /after the reply succeeded/.test(steps[archive]?.text ?? "");
    },
  },
  {
    rule: "answers what it refuses",
    holds: (_, steps) =>
      steps.some(
        ({ text, commands }) =>
          /^\d+\. Validate\b/.test(text) && commands.some((one) => one.includes(" mail reply ")),
      ),
  },
  {
    rule: "drives no other part of the loop",
    holds: (_, steps) => stepWith(steps, " mail send ") === -1,
  },
  ...always,
];

/** Contract 1.1, the row of on-tick skills. */
export const onTickRules: readonly LoopRule[] = [
  {
    rule: "is triggered by a prompt that says to run it",
    holds: ({ description }) => /once\. Use when a prompt says to run /.test(description),
  },
  {
    rule: "reads the state first, and changes nothing by that",
    holds: (_, steps) =>
      /^\d+\. Read the state/.test(steps[0]?.text ?? "") && /^cat [^>|]+$/.test(all(steps)[0] ?? ""),
  },
  {
    rule: "chooses the first thing to do or reports none",
    holds: (_, steps) =>
      /^\d+\. Choose the first .*report that there is nothing to do and stop/.test(steps[1]?.text ?? ""),
  },
  {
    rule: "sends one mail, then records it",
    holds: (_, steps) =>
      all(steps).filter((command) => command.includes(" mail send ")).length === 1 &&
      rising(stepWith(steps, "cat "), stepWith(steps, " mail send "), stepWith(steps, ">>")),
  },
  {
    rule: "stops after one pass",
    holds: (_, steps) => /^\d+\. Stop after this one pass/.test(steps.at(-1)?.text ?? ""),
  },
  ...always,
];
