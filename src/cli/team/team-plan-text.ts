import type { LaunchDetails } from "../../services/extensions/team/launch-details.ts";
import type { TeamStep } from "../../services/extensions/team/plan.ts";
import { prefixedName } from "../../services/extensions/team/team-store.ts";
import { localAddress } from "../../services/mail/address.ts";
import { shellWord } from "../../system/shell-word.ts";
import { wrapText } from "../../system/text-columns.ts";
import { visibleLine } from "../../system/visible.ts";

const columns = 80;
/** A longer value ends with how much is left out: nothing is hidden without a word. */
const maxCharacters = { value: 600, prompt: 200 };

/** What a plan is rendered with. */
export interface PlanContext {
  /** The variables of each agent by its name in the file, with values. */
  variables: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Before the names of all agents. */
  prefix: string;
  /** The words in front of `up`. */
  program: string;
}

/**
 * The plan as a person confirms it: a line for each step, and below a launch and a reminder what the file
 * decides about them. Texts of the file are on one line, escaped and cut. Pure. Source: spec/security.md,
 * rules 3 and 7.
 */
export function renderPlan(steps: readonly TeamStep[], context: PlanContext): string {
  if (steps.length === 0) return "the file names nobody";
  return steps.flatMap((step) => [describeStep(step, context), ...detailsOf(step, context)]).join("\n");
}

/** The line of one step. Pure. */
export function describeStep(step: TeamStep, context: Pick<PlanContext, "prefix" | "program">): string {
  const { prefix } = context;
  if (step.step !== "register") return lineOf({ ...step, agent: prefixedName(prefix, step.agent) }, context);
  return lineOf(step, context);
}

function lineOf(step: TeamStep, { program }: Pick<PlanContext, "program">): string {
  switch (step.step) {
    case "register":
      return `+ ${step.person}: register the mailbox ${step.address}`;
    case "worktree":
      return `+ ${step.agent}: make its git worktree on branch svc/${step.agent}`;
    case "launch":
      return `+ ${step.agent}: launch ${step.launch.tool}`;
    case "resume": {
      const { waiting } = step;
      const prompts =
        waiting === 0 ? "" : `; ${waiting === 1 ? "1 prompt waits" : `${waiting} prompts wait`} for it`;
      return `+ ${step.agent}: start again where it stopped${prompts}`;
    }
    case "replace":
      return `~ ${step.agent}: end and launch again; it differs in ${step.differs.join(", ")}`;
    case "stop":
      return `- ${step.agent}: stop`;
    case "remind":
      return `+ ${step.agent}: add the ${step.name}`;
    case "notifier":
      return `~ ${step.agent}: ${step.enabled ? "set its notifier" : "disable its notifier"}`;
    case "forget":
      return `- ${step.agent}: remove the ${step.name}`;
    case "keep":
      return `= ${step.agent}: as the file says`;
    case "leave":
      return `! ${step.agent}: left alone; ${step.why}`;
    case "clash":
      return `! ${step.agent}: ${describeClash(step, program)}`;
  }
}

/** The remedy names the agent by its id: here its name may mean an agent of this file, and its file be gone. */
function describeClash(
  { agentId, owner, folder }: Extract<TeamStep, { step: "clash" }>,
  program: string,
): string {
  const whose =
    owner === null
      ? `that a person launched in ${shellWord(folder ?? "?")}`
      : `that belongs to ${shellWord(owner)}`;
  return `an agent of this name runs ${whose}. Give the agents of this folder a prefix: ${program} up --prefix NAME; or choose another name, or end that one: svc agents single --agent-id ${agentId} stop`;
}

function detailsOf(step: TeamStep, { variables, prefix }: PlanContext): string[] {
  switch (step.step) {
    case "remind":
      return [...detail("when", step.when), ...detail("prompt", step.prompt, maxCharacters.prompt)];
    case "notifier":
      return step.changes.flatMap(({ setting, from, to, widens }) => {
        const value = (text: unknown) => (text === "" ? '""' : String(text));
        const change = from === null ? value(to) : `${value(from)} -> ${value(to)}`;
        return detail(`${widens ? "! " : ""}${setting}`, change);
      });
    case "launch":
    case "resume":
    case "replace":
      return launchLines(step.launch, variables[step.agent] ?? {}, prefixedName(prefix, step.agent));
    default:
      return [];
  }
}

function launchLines(
  launch: LaunchDetails,
  values: Readonly<Record<string, string>>,
  name: string,
): string[] {
  const variable = (what: string) => (name: string) =>
    detail(`! chooses ${what}`, `${name}=${withoutLogin(values[name] ?? "")}`);
  const outside = launch.workdir_outside;
  const words = (all: readonly string[]) => (all.length === 0 ? null : all.map(shellWord).join(" "));
  return [
    ...(launch.unattended ? detail("! unattended", "the tool's permissions and sandboxes are skipped") : []),
    ...detail("! arguments about permissions", words(launch.permission_args)),
    ...detail("! arguments that may choose code or access", words(launch.unproved_args)),
    ...(outside === null ? detail("workdir", launch.workdir) : []),
    ...detail("! works outside of the project", outside),
    ...detail("turns", launch.headless ? "headless, each a separate process" : null),
    ...detail("model", launch.model),
    ...detail("mailbox", launch.mailbox ? localAddress(name) : null),
    ...detail("args", words(launch.args)),
    ...detail("role_file", launch.role_file),
    ...detail("env_file", launch.env_file),
    ...detail("env", launch.env.length === 0 ? null : launch.env.join(" ")),
    ...launch.code_env.flatMap(variable("which code runs")),
    ...launch.permission_env.flatMap(variable("what is allowed")),
    ...launch.server_env.flatMap(variable("its server")),
  ];
}

/** Without the login that an address of a proxy, or a header among git's settings, may have. */
function withoutLogin(value: string): string {
  return value
    .replace(/\/\/[^/@\s]*@/g, "//…@")
    .replace(
      /(authorization:\s*(?:[a-z]+\s+)?|(?:password|token|secret|cookie)[\w.-]*\s*[=:]\s*)[^\s'"]+/gi,
      "$1…",
    );
}

function detail(name: string, value: string | null, most: number = maxCharacters.value): string[] {
  if (value === null) return [];
  const line = visibleLine(value);
  const left = line.length - most;
  const shown = left > 0 ? `${line.slice(0, most)}… (${left} more characters, see the file)` : line;
  const indent = name.startsWith("!") ? "  " : "    ";
  const [first = "", ...rest] = wrapText(`${name}: ${shown}`, columns - 8);
  return [`${indent}${first}`, ...rest.map((row) => `        ${row}`)];
}
