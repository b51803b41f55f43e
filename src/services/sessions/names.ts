import { md5 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";
import { type Ids, idStamp } from "../../system/ids.ts";

/** Backend of a session whose agent is an interactive terminal program. */
export const localInteractive = "local_interactive";

/** Backend of a session whose turns are processes of the tool. */
export function headlessBackend(tool: string): string {
  return `${tool}_headless`;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
/** `svc` and a separator is our prefix: `SVC-operator`, `SVC-<name>-<ms>`. */
const reservedPattern = /^svc[-_]/i;
const longestName = 64;

/**
 * Why `name` cannot name an agent, as a sentence for the person who chose it, or null when it can.
 * Source: spec/coordination.md "Names".
 */
export function nameProblem(name: string): string | null {
  if (!namePattern.test(name)) {
    return `agent name ${JSON.stringify(name)}: use letters, digits, "-" and "_", beginning with a letter or digit`;
  }
  if (reservedPattern.test(name)) return `agent name "${name}": names that begin with "svc-" are reserved`;
  if (name.length > longestName) return `agent name is longer than ${longestName} characters`;
  return null;
}

/** `name` unchanged; throws `invalid_request` when it breaks the rules of `nameProblem`. */
export function checkedName(name: string): string {
  const problem = nameProblem(name);
  if (problem) throw new ServiceError("invalid_request", problem);
  return name;
}

/** `agentId` unchanged; it is also the name of a folder in the registry, hence the same alphabet as a name. */
export function checkedAgentId(agentId: string): string {
  if (namePattern.test(agentId) && agentId.length <= 128) return agentId;
  throw new ServiceError(
    "invalid_request",
    `agent id ${JSON.stringify(agentId)}: use at most 128 letters, digits, "-" and "_", beginning with a letter or digit`,
  );
}

/** The id of an agent that was given none: the MD5 of its name, so that a name finds the same agent again. */
export function defaultAgentId(agentName: string): string {
  return md5(agentName);
}

/** `<backend>-<YYYYMMDD-HHMMSSZ>-<8 hex>`. */
export function newSessionId(backend: string, nowMs: number, ids: Ids): string {
  return `${backend}-${idStamp(nowMs)}-${ids.hex(4)}`;
}

/** `SVC-<name>-<epoch ms>`: what the person sees in `tmux ls`. */
export function newTmuxSessionName(agentName: string, nowMs: number): string {
  return `SVC-${agentName}-${nowMs}`;
}
