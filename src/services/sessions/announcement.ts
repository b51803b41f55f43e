import type { Manifest } from "../../protocol/files.ts";
import { protocolVersion } from "../../protocol/gateway.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import type { GatewayLocator, Registry } from "./registry.ts";
import { type Environment, sessionPaths } from "./roots.ts";

interface AnnouncementDeps {
  /** The tmux server of the agent. */
  tmux: Tmux;
  registry: Pick<Registry, "setGateway" | "read">;
  manifest: Manifest;
  sessionRoot: string;
  /** Gets each session or record that cannot be updated: that costs only its readers. */
  onError: (what: string, error: unknown) => void;
}

/**
 * Where others look first for the gateway of an agent: the live variables of its tmux session and the locator
 * in its registry record. Both only point; the current-instance record and an answer decide (contract 2.8,
 * 5.4).
 */
export function createAnnouncement(deps: AnnouncementDeps) {
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
    /** Says that the gateway listens there. What says so already is left as it is. Never rejects. */
    publish: ({ host, port, hasToken }: { host: string; port: number; hasToken: boolean }): Promise<void> =>
      say(toLiveVariables({ host, port, hasToken, sessionRoot: deps.sessionRoot }), {
        host,
        port,
        state_path: sessionPaths(deps.sessionRoot).state,
        protocol_version: protocolVersion,
      }),
    /** Says that there is none. Never rejects. */
    withdraw: (): Promise<void> => say(noLiveVariables, null),
  };
}

/**
 * The live bindings of a gateway: variables of the agent's tmux session that exist only while a gateway
 * serves it (contract 2.9). The token is never among them, only the path of the file that holds it.
 */
type LiveVariables = Record<(typeof liveVariableNames)[number], string | null>;

const liveVariableNames = [
  "SVC_AGENT_GATEWAY_HOST",
  "SVC_AGENT_GATEWAY_PORT",
  "SVC_GATEWAY_STATE_PATH",
  "SVC_GATEWAY_PROTOCOL_VERSION",
  "SVC_GATEWAY_TOKEN_FILE",
] as const;

/** What a gateway publishes; null unsets. Pure. */
function toLiveVariables(facts: {
  host: string;
  port: number;
  sessionRoot: string;
  hasToken: boolean;
}): LiveVariables {
  const paths = sessionPaths(facts.sessionRoot);
  return {
    SVC_AGENT_GATEWAY_HOST: facts.host,
    SVC_AGENT_GATEWAY_PORT: String(facts.port),
    SVC_GATEWAY_STATE_PATH: paths.state,
    SVC_GATEWAY_PROTOCOL_VERSION: protocolVersion,
    SVC_GATEWAY_TOKEN_FILE: facts.hasToken ? paths.token : null,
  };
}

/** What is set where no gateway runs: nothing. */
const noLiveVariables: LiveVariables = {
  SVC_AGENT_GATEWAY_HOST: null,
  SVC_AGENT_GATEWAY_PORT: null,
  SVC_GATEWAY_STATE_PATH: null,
  SVC_GATEWAY_PROTOCOL_VERSION: null,
  SVC_GATEWAY_TOKEN_FILE: null,
};

/** Whether the environment says exactly what `variables` do. Pure. */
function isPublished(environment: Environment, variables: LiveVariables): boolean {
  return liveVariableNames.every((name) => (environment[name] ?? null) === variables[name]);
}

/**
 * The listener that the caller wants by SVC_AGENT_GATEWAY_HOST and _PORT, unchecked. Nothing when these are
 * live bindings, which a pane of some agent's session inherits: that port is another gateway's
 * (spec/gateway.md, pitfall 13). Pure.
 */
export function wishedByCaller(env: Environment): { host?: string; port?: string } {
  if (env["SVC_GATEWAY_STATE_PATH"] || env["SVC_GATEWAY_PROTOCOL_VERSION"]) return {};
  const host = env["SVC_AGENT_GATEWAY_HOST"];
  const port = env["SVC_AGENT_GATEWAY_PORT"];
  return { ...(host ? { host } : {}), ...(port ? { port } : {}) };
}
