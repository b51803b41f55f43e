import { gatewayEndpoints } from "../../protocol/endpoints.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { isRunning } from "../../services/sessions/find.ts";
import { sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { type CallOf, openLiveTarget, type Target } from "./target.ts";

const retryIntervalMs = 200;

/**
 * The agent with a client that uses its present gateway, which may restart at another port. A read is
 * repeated until it has an answer, for at most `outageMs`; nothing else is. Throws CommandFailure when there
 * is no gateway at first; `call` throws it once the agent was stopped. `over`: nothing is repeated any more.
 */
export async function openReconnecting(
  caller: CallOf,
  { outageMs, over }: { outageMs: number; over: AbortSignal },
): Promise<Target & { client: GatewayCalls }> {
  const { link, ...target } = await openLiveTarget(caller);
  const { clock } = target.context;
  let client: GatewayCalls | null = link.client;

  const callOnce: GatewayCalls["call"] = async (name, options) => {
    if (client === null) {
      const { agent_id: id, agent_name: name } = target.agent.manifest;
      const opened = await reopen({
        id,
        name,
        readRecord: () => target.context.registry.read(id),
        open: () => openLiveTarget(caller),
      });
      if ("detail" in opened) return { kind: "unreachable", sent: false, ...opened };
      client = opened.link.client;
    }
    const response = await client.call(name, options);
    if (response.kind === "unreachable") client = null;
    return response;
  };
  return {
    ...target,
    client: {
      async call(name, options) {
        const isRead = gatewayEndpoints[name].method === "GET";
        const deadlineMs = clock.monotonicMs() + (isRead ? outageMs : 0);
        for (;;) {
          const response = await callOnce(name, options);
          const isLast = over.aborted || clock.monotonicMs() >= deadlineMs;
          if (response.kind !== "unreachable" || isLast) return response;
          await sleep(clock, retryIntervalMs, over);
        }
      },
    },
  };
}

/**
 * `detail`: why there is no gateway at this moment. Throws when none is to be expected, also when another agent
 * has the name now.
 */
export async function reopen<T extends Pick<Target, "agent">>({
  id,
  name,
  readRecord,
  open,
}: {
  id: string;
  name: string;
  readRecord: () => RegistryRecord | null;
  open: () => Promise<T>;
}): Promise<T | { detail: string }> {
  // Read first: a record that says "stopped" only after the failure came too late for its advice.
  const record = readRecord();
  try {
    const opened = await open();
    if (opened.agent.manifest.agent_id === id) return opened;
    throw new ServiceError("not_found", `"${name}" is another agent now; that of id ${id} has ended`);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.exitCode !== exitCodes.unreachable) throw error;
    if (record === null || !isRunning(record)) throw error;
    return { detail: error.message };
  }
}
