import type { Manifest } from "../../protocol/files.ts";
import { protocolVersion } from "../../protocol/gateway.ts";
import type { Tmux } from "../terminal/tmux-command.ts";
import { isPublished, type LiveVariables, noLiveVariables, toLiveVariables } from "./live-variables.ts";
import type { GatewayLocator, Registry } from "./registry.ts";
import { sessionPaths } from "./roots.ts";

export interface AnnouncementDeps {
  /** The tmux server of the agent. */
  tmux: Tmux;
  registry: Pick<Registry, "setGateway" | "read">;
  manifest: Manifest;
  sessionRoot: string;
  /** A session or record that cannot be told costs only its readers: each failure is told here. */
  onError: (what: string, error: unknown) => void;
}

/**
 * Where others look first for the gateway of an agent: the live variables of its tmux session and the locator in
 * its registry record. Both only point; the current-instance record and an answer decide (contract 2.8, 5.4).
 */
export interface Announcement {
  /** Says that the gateway listens there. What says so already is left as it is. Never rejects. */
  publish(listener: { host: string; port: number; hasToken: boolean }): Promise<void>;
  /** Says that there is none. Never rejects. */
  withdraw(): Promise<void>;
}

export function createAnnouncement(deps: AnnouncementDeps): Announcement {
  const { tmux, registry, manifest, onError } = deps;
  const session = manifest.tmux_session_name;

  async function tolerate(what: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      onError(what, error);
    }
  }

  async function setVariables(variables: LiveVariables): Promise<void> {
    const environment = await tmux.environment(session);
    if (environment === null || isPublished(environment, variables)) return;
    await tmux.setEnvironment("gateway.environment", session, variables);
  }

  async function setLocator(locator: GatewayLocator | null): Promise<void> {
    const { agent_id: agentId, registry_generation_id: generationId } = manifest;
    const record = registry.read(agentId);
    if (record?.generation_id !== generationId) return;
    if (Bun.deepEquals(record.gateway ?? null, locator)) return;
    await registry.setGateway(agentId, generationId, locator);
  }

  const say = async (variables: LiveVariables, locator: GatewayLocator | null) => {
    // One after the other: callers are answered while tmux works, and not while the record is synced.
    await tolerate("live variables not set", () => setVariables(variables));
    await tolerate("registry locator not set", () => setLocator(locator));
  };

  return {
    publish: ({ host, port, hasToken }) =>
      say(toLiveVariables({ host, port, hasToken, sessionRoot: deps.sessionRoot }), {
        host,
        port,
        state_path: sessionPaths(deps.sessionRoot).state,
        protocol_version: protocolVersion,
      }),
    withdraw: () => say(noLiveVariables, null),
  };
}
