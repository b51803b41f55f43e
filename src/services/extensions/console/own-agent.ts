import type { AgentState } from "../../../protocol/agents.ts";
import type {
  AttentionAnswered,
  AttentionAnswerRequest,
  AttentionList,
} from "../../../protocol/attention.ts";
import type { Manifest } from "../../../protocol/files.ts";
import type { Advise } from "../../../protocol/remedy.ts";
import type { Clock } from "../../../system/clock.ts";
import type { Files } from "../../../system/files.ts";
import { type Agent, answerAgent } from "../../agent/agent.ts";
import { movedOn, toAnswered, toDecisionAnswer } from "../../attention/answer.ts";
import { decideAttention } from "../../attention/decide.ts";
import { requestsLookedAt, toAttentionFacts } from "../../fleet/attention-facts.ts";
import { readTurns } from "../../fleet/fleet-reader.ts";
import { toAgentState, trackedAgentId } from "../../fleet/projection.ts";
import type { Queue } from "../../queue/queue.ts";
import { buildRecord } from "../../sessions/record.ts";
import type { StatusBoard } from "../../status/status-board.ts";

/** What a gateway says of its one agent in the words of the coordination server, by the same rules. */
export interface OwnAgent {
  state(): AgentState;
  /** What waits for a person, oldest first. */
  attention(): AttentionList;
  /**
   * Answers a question of the agent. Throws `precondition_failed` when nothing waits under this id now,
   * `invalid_request` for an answer that the item does not have; nothing is pressed then.
   */
  answer(id: string, given: AttentionAnswerRequest): Promise<AttentionAnswered>;
}

export function createOwnAgent(deps: {
  /** As it is on the disk now: a mailbox may be bound while the agent runs. */
  readManifest: () => Manifest;
  manifestPath: string;
  sessionRoot: string;
  files: Files;
  clock: Pick<Clock, "nowMs">;
  agent: Pick<Agent, "terminal" | "decide" | "turns">;
  board: Pick<StatusBoard, "status">;
  queue: Pick<Queue, "list">;
  /** How remedies are worded. */
  advise: Advise;
}): OwnAgent {
  const { manifestPath, sessionRoot, files, clock, agent, board, queue } = deps;

  function look() {
    const manifest = deps.readManifest();
    const facts = toAttentionFacts({
      record: buildRecord({ manifest, manifestPath, sessionRoot, nowMs: clock.nowMs() }),
      trackedId: trackedAgentId(manifest),
      session: "alive",
      gateway: { state: "live", why: "" },
      status: board.status(),
      terminal: agent.terminal?.state() ?? null,
      programPresent: null,
      requests: queue.list({ limit: requestsLookedAt }),
      nowMs: clock.nowMs(),
    });
    return { facts, items: decideAttention(deps.advise, [facts], clock.nowMs()) };
  }

  return {
    state() {
      const status = board.status();
      return toAgentState({
        record: null,
        manifest: deps.readManifest(),
        manifestPath,
        sessionRoot,
        status,
        terminal: agent.terminal?.state() ?? null,
        lifecycleState: "active",
        programPresent: status.managed_agent_connectivity === "connected",
        ...(agent.turns ? { turns: readTurns({ files }, sessionRoot) } : {}),
        diagnostics: [],
      });
    },
    attention: () => ({ schema_version: 1, items: look().items }),
    async answer(id, given) {
      const { facts, items } = look();
      const item = items.find((one) => one.id === id);
      if (!item) throw movedOn(id);
      const asked = { item, decision: facts.decision };
      return toAnswered(asked, await answerAgent(agent, toDecisionAnswer(asked, given)));
    },
  };
}
