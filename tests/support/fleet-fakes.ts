import {
  aliasesOf,
  chooseAgent,
  type Directory,
  type KnownAgent,
} from "../../src/services/fleet/directory.ts";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import type { FleetLink, ReadingLinks } from "../../src/services/fleet/links.ts";
import { toIdentity } from "../../src/services/fleet/projection.ts";
import type { FoundAgent } from "../../src/services/sessions/find.ts";
import { toStopped } from "../../src/services/sessions/record.ts";
import { sampleManifest, sampleRecord } from "./session-samples.ts";

const headlessFacts = {
  backend: "demo_headless",
  life: "life-1",
  displayStyle: "plain",
  displayDetail: "concise",
  model: undefined,
  reasoningLevel: undefined,
};

export const sampleMailbox = {
  transport: "filesystem",
  principal_id: "SVC-worker",
  address: "worker@svc.localhost",
  bindings_version: "2026-01-01T00:00:00.000001+00:00",
  filesystem_root: "/mail",
};

/** An agent as a directory would tell it, with a mailbox; its session root is `/sessions/<name>`. */
export function sampleKnown(
  name: string,
  options: {
    agentId?: string;
    sessionId?: string;
    generationId?: string;
    headless?: boolean;
    stopped?: boolean;
    mailbox?: boolean;
  } = {},
): KnownAgent {
  const facts = {
    agentName: name,
    agentId: options.agentId ?? `id-${name}`,
    sessionId: options.sessionId ?? `session-${name}`,
    generationId: options.generationId ?? "generation-1",
    ...(options.headless ? { headless: headlessFacts } : {}),
  };
  const running = sampleRecord(facts);
  const record = options.stopped ? toStopped(running, "operator_stop", 1_000_000_000_001) : running;
  const plain = sampleManifest(facts);
  const manifest =
    options.mailbox === false
      ? plain
      : { ...plain, launch_plan: { ...plain.launch_plan, mailbox: sampleMailbox } };
  const sessionRoot = `/sessions/${name}`;
  const found = { record, manifest, manifestPath: `${sessionRoot}/manifest.json`, sessionRoot };
  const identity = toIdentity({ ...found, lifecycleState: record.lifecycle.state, hasGateway: false });
  return { record, identity, found, problem: null };
}

/** The directory of these agents; the list may be changed by its owner. */
export function createFakeDirectory(agents: readonly KnownAgent[]): Directory {
  return {
    agents: () => agents,
    resolve: (ref) =>
      chooseAgent(
        agents.filter(({ identity }) => aliasesOf(identity).includes(ref.trim())),
        ref.trim(),
      ),
    refresh: () => {},
  };
}

const instance = {
  schema_version: 1,
  protocol_version: "v1",
  pid: 1,
  host: "127.0.0.1",
  port: 4000,
  execution_mode: "detached_process",
  managed_agent_instance_epoch: 1,
} as const;

/** A live link through `client`. */
export const liveLink = (client: GatewayClient) => ({ state: "live", client, instance }) as const;

/** To a gateway that does not answer. */
export const lostLink = (state: "silent" | "dead", why = "no answer"): FleetLink => ({
  state,
  instance,
  why,
});

export const noLink: FleetLink = { state: "none", why: "no gateway runs for this agent" };

/** The port of a reader by these links. */
export const readingOf =
  (linkOf: (agent: Pick<FoundAgent, "manifest">) => FleetLink): ReadingLinks["read"] =>
  async (agent, { limit, timeoutMs }) => {
    const link = linkOf(agent);
    if (link.state !== "live") return { link, status: null, snapshot: null };
    const answer = await link.client.call("snapshot", { query: { limit }, timeoutMs });
    if (answer.kind !== "ok") throw new Error(answer.detail);
    return { link, status: answer.body.status, snapshot: answer.body };
  };
