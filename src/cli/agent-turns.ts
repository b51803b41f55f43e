import type { RequestRecord } from "../protocol/gateway.ts";
import type { TurnStatusRecord } from "../protocol/turns.ts";
import { backendFacts } from "../services/agent/backends.ts";
import { linkGateway } from "../services/fleet/gateway-link.ts";
import { isOpen } from "../services/fleet/request-state.ts";
import { headlessProvider } from "../services/headless/providers.ts";
import { settleTurn } from "../services/headless/settle-turn.ts";
import { createTurnDirectories } from "../services/headless/turn-directory.ts";
import { createTurnReader, type TurnReader } from "../services/headless/turn-reader.ts";
import { gatewayIdentity } from "../services/sessions/gateway-folder.ts";
import { ServiceError } from "../system/errors.ts";
import type { Invocation } from "./command.ts";
import { renderPairs } from "./format.ts";
import { openTarget, type Target } from "./target.ts";

/** The turns of the agent that a command names, read where they are kept: no gateway is needed. */
export interface AgentTurnsOnDisk extends Target {
  turns: TurnReader;
  /** The turn as it is now; one whose runner is gone gets its final state first. Null when there is none. */
  look(turnId: string): Promise<TurnStatusRecord | null>;
  /** What the gateway tells of its newest thousand requests, newest first, and whether it executes any. */
  recentRequests(): Promise<
    { kind: "told"; requests: RequestRecord[]; closed: boolean } | { kind: "unreachable"; why: string }
  >;
}

export async function openTurns(invocation: Invocation<never> | Invocation): Promise<AgentTurnsOnDisk> {
  const target = await openTarget(invocation);
  const { world, agent } = target;
  const { manifest, sessionRoot } = agent;
  if (!backendFacts(manifest.backend).headless) {
    throw new ServiceError(
      "unsupported",
      `"${manifest.agent_name}" is a terminal agent; it has no stored turns`,
    );
  }
  const directories = createTurnDirectories({ files: world.files, sessionRoot });
  const turns = createTurnReader({ files: world.files, turns: directories });
  return {
    ...target,
    turns,
    async look(turnId) {
      const turn = directories.find(turnId);
      if (turn) await settleTurn({ ...world, providerOf: headlessProvider }, turn);
      return turns.read(turnId);
    },
    async recentRequests() {
      const { attachIdentity } = gatewayIdentity(manifest);
      const link = await linkGateway(world, { sessionRoot, attachIdentity });
      if (link.state !== "healthy") return { kind: "unreachable", why: link.why };
      const list = await link.client.call("listRequests", { query: { limit: 1000 } });
      if (list.kind !== "ok") return { kind: "unreachable", why: list.detail };
      const closed = link.status.request_admission === "blocked_reconciliation";
      return { kind: "told", requests: list.body.requests, closed };
    },
  };
}

/** The turn of the id, or the newest that was begun. Throws `not_found`, and says so of one that waits in the queue. */
export async function chooseTurn(
  on: AgentTurnsOnDisk,
  turnId: string | undefined,
): Promise<TurnStatusRecord> {
  const id = turnId ?? on.turns.list(1)[0]?.turn_id;
  const found = id === undefined ? null : await on.look(id);
  if (found) return found;
  if (id === undefined) throw new ServiceError("not_found", "no turn was begun yet");
  const told = await on.recentRequests();
  const request = told.kind === "told" ? told.requests.find((one) => one.turn_id === id) : undefined;
  throw new ServiceError("not_found", tellMissing(on, id, request));
}

function tellMissing(on: AgentTurnsOnDisk, id: string, request: RequestRecord | undefined): string {
  if (!request) return `there is no turn ${id}`;
  if (isOpen(request)) return `turn ${id} has not begun yet. Wait for it: ${on.words} turn wait ${id}`;
  return `turn ${id} was not begun: ${request.error_detail ?? `its request is ${request.state}`}`;
}

/** Exit code 1 for a turn that did not come to a good end. Pure. */
export function exitOf(turn: TurnStatusRecord): number {
  return turn.status === "failed" || turn.status === "interrupted" ? 1 : 0;
}

export function renderTurn(turn: TurnStatusRecord): string {
  return renderPairs([
    ["turn", `${turn.turn_id} (number ${turn.turn_index})`],
    ["status", turn.status],
    ["started", turn.started_at_utc],
    ["ended", turn.completed_at_utc],
    ["exit code", turn.returncode === null ? null : String(turn.returncode)],
    ["decided by", turn.decided_by],
    ["said", turn.history_summary],
    ["error", turn.error],
    ["output", turn.stdout_path],
  ]);
}
