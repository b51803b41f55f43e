import { protocolVersion } from "../../protocol/gateway.ts";
import { type Environment, sessionPaths } from "./roots.ts";

/**
 * The live bindings of a gateway: variables of the agent's tmux session that exist only while a gateway serves it
 * (contract 2.9). The token is never among them, only the path of the file that holds it.
 */
export type LiveVariables = Record<(typeof liveVariableNames)[number], string | null>;

const liveVariableNames = [
  "SVC_AGENT_GATEWAY_HOST",
  "SVC_AGENT_GATEWAY_PORT",
  "SVC_GATEWAY_STATE_PATH",
  "SVC_GATEWAY_PROTOCOL_VERSION",
  "SVC_GATEWAY_TOKEN_FILE",
] as const;

/** What a gateway publishes; null unsets. Pure. */
export function toLiveVariables(facts: {
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
export const noLiveVariables: LiveVariables = {
  SVC_AGENT_GATEWAY_HOST: null,
  SVC_AGENT_GATEWAY_PORT: null,
  SVC_GATEWAY_STATE_PATH: null,
  SVC_GATEWAY_PROTOCOL_VERSION: null,
  SVC_GATEWAY_TOKEN_FILE: null,
};

/** Whether the environment says exactly what `variables` do. Pure. */
export function isPublished(environment: Environment, variables: LiveVariables): boolean {
  return liveVariableNames.every((name) => (environment[name] ?? null) === variables[name]);
}

/**
 * The listener that whoever calls us wishes for by SVC_AGENT_GATEWAY_HOST and _PORT, unchecked. Nothing when these
 * are live bindings, which a pane of some agent's session inherits: that port is another gateway's (spec/gateway.md,
 * pitfall 13). Pure.
 */
export function wishedByCaller(env: Environment): { host?: string; port?: string } {
  if (env["SVC_GATEWAY_STATE_PATH"] || env["SVC_GATEWAY_PROTOCOL_VERSION"]) return {};
  const host = env["SVC_AGENT_GATEWAY_HOST"];
  const port = env["SVC_AGENT_GATEWAY_PORT"];
  return { ...(host ? { host } : {}), ...(port ? { port } : {}) };
}
