import { type ForwardedEndpoint, gatewayEndpoints } from "../../protocol/endpoints.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { idempotencyHeader } from "../../protocol/wire.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { noLiveGateway } from "./diagnose-agent.ts";
import { type Directory, openedAgent } from "./directory.ts";
import { isUnsent } from "./gateway-client.ts";
import type { Links } from "./links.ts";
import { outcomeUnknown } from "./unknown-outcome.ts";

/** Hands requests on to the gateway of an agent. */
export type Forward = ReturnType<typeof createForward>;

export interface ForwardRequest {
  /** HEAD where the operation is a GET; the operation's own otherwise. */
  method?: "HEAD";
  /** Path at the gateway and query, escaped. */
  target: string;
  headers: Headers;
  body: ReadableStream<Uint8Array> | null;
  signal: AbortSignal;
}

/**
 * A process has 256 requests to others under way at most, a further one waits silently; some are left for
 * probes.
 */
const maxTogether = 240;
const maxOfOne = 32;
/** While half of all are in use: gateways that hang or make wait leave room for the others. */
const fewOfOne = 4;
/**
 * A body of a known length up to this is read whole, so that no caller gets a part of it from a gateway that
 * dies meanwhile.
 */
const wholeBytes = 256 * 1024;
/** The gateway keeps the key of what comes here. */
const requestsPath = gatewayEndpoints.submitRequest.path;
const handedOn = ["content-type", "accept", "last-event-id", idempotencyHeader] as const;
const handedBack = ["content-type", "cache-control"] as const;

/**
 * What a gateway that hangs costs is its own requests' time: they are counted for each agent. `streams`: how
 * many other connections to gateways are held open; none when left out.
 */
export function createForward(deps: {
  directory: Directory;
  links: Links;
  clock: Clock;
  streams?: () => number;
  /** What the files of an agent answer to a GET that no gateway answers; null where they do not. */
  readStored?: (agent: FoundAgent, target: string) => Promise<Response | null>;
}) {
  const { directory, links, clock, streams = () => 0, readStored } = deps;
  const underWay = new Map<string, number>();
  let together = 0;

  function enter(agentId: string, name: string): () => void {
    const count = underWay.get(agentId) ?? 0;
    const room = maxTogether - streams();
    if (count >= (together * 2 < room ? maxOfOne : fewOfOne)) {
      throw new ServiceError("unavailable", `${count} requests to the gateway of "${name}" are under way`);
    }
    if (together >= room) {
      throw new ServiceError("unavailable", `${together} requests to gateways are under way: try again`);
    }
    together += 1;
    underWay.set(agentId, count + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      together -= 1;
      const now = (underWay.get(agentId) ?? 1) - 1;
      if (now === 0) underWay.delete(agentId);
      else underWay.set(agentId, now);
    };
  }

  /** What the directory keeps may be older than the registration of a mailbox. */
  function refuseWithoutMailbox(agentRef: string): void {
    directory.refresh();
    const agent = openedAgent(directory.resolve(agentRef));
    if (hasMailbox(agent)) return;
    const { agent_name: name, agent_id: id } = agent.manifest;
    const remedy: Remedy = { code: "register_mailbox", agent_id: id };
    throw new ServiceError("unavailable", `"${name}" has no mailbox`, { data: { remedy } });
  }

  return {
    /**
     * The gateway's answer, status and body as they are; without a gateway what the files answer. Throws `not_found`, `ambiguous`, and `unavailable`
     * when no live gateway serves the agent, when the route needs a mailbox and the agent has none, when it
     * does not begin to answer in the route's time, and when its share of the connections is in use: 32, or 4
     * while half of all are. Throws `outcome_unknown` when what changes something was sent and no whole answer
     * came. Ends with the caller.
     */
    async send(route: ForwardedEndpoint, agentRef: string, request: ForwardRequest): Promise<Response> {
      const agent = openedAgent(directory.resolve(agentRef));
      if (route.needsMailbox && !hasMailbox(agent)) refuseWithoutMailbox(agentRef);
      const { agent_name: name, agent_id: agentId } = agent.manifest;
      const leave = enter(agentId, name);
      try {
        const link = await links.to(agent);
        if (link.state !== "live") {
          // A process that is silent may still write.
          const isReadable = route.method === "GET" && link.state !== "silent";
          const stored = isReadable ? await readStored?.(agent, request.target) : null;
          if (!stored) throw noLiveGateway(agent, link);
          const body = await stored.arrayBuffer();
          leave();
          return new Response(body, { status: stored.status, headers: pick(stored.headers, handedBack) });
        }
        const watch = createWatch(clock, route.timeoutMs);
        const signal = AbortSignal.any([request.signal, watch.signal]);
        try {
          const response = await link.client.forward({
            method: request.method ?? route.method,
            target: request.target,
            headers: pick(request.headers, handedOn),
            body: request.body,
            signal,
          });
          const body = await readBody(response, watch, leave);
          // It asks for a token: the one that we know is an earlier one's.
          if (response.headers.has("www-authenticate")) links.doubt(agent);
          return new Response(body, { status: response.status, headers: pick(response.headers, handedBack) });
        } catch (error) {
          watch.end();
          if (!request.signal.aborted) links.doubt(agent);
          const why = watch.signal.aborted ? `no answer within ${route.timeoutMs} ms` : messageOf(error);
          if (route.method !== "GET" && !isUnsent(error)) {
            const key = route.gatewayPath === requestsPath ? request.headers.get(idempotencyHeader) : null;
            throw outcomeUnknown({ name, id: agentId }, why, key);
          }
          throw new ServiceError("unavailable", `the gateway of "${name}": ${why}`);
        }
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}

function hasMailbox({ manifest }: FoundAgent): boolean {
  return manifest.launch_plan.mailbox !== undefined;
}

interface Watch {
  signal: AbortSignal;
  /** Something came: the time starts again. */
  touch(): void;
  end(): void;
}

function createWatch(clock: Clock, timeoutMs: number): Watch {
  const abort = new AbortController();
  const arm = () => clock.after(timeoutMs, () => abort.abort(new Error(`silent for ${timeoutMs} ms`)));
  let cancel = arm();
  return {
    signal: abort.signal,
    touch() {
      cancel();
      cancel = arm();
    },
    end: () => cancel(),
  };
}

/**
 * The whole body, or a stream of it that takes part by part as the caller reads. `done` is called when it is
 * over.
 */
async function readBody(
  response: Response,
  watch: Watch,
  done: () => void,
): Promise<ArrayBuffer | ReadableStream<Uint8Array>> {
  const length = response.headers.get("content-length");
  if (response.body === null || (length !== null && Number(length) <= wholeBytes)) {
    const whole = await response.arrayBuffer();
    watch.end();
    done();
    return whole;
  }
  const reader = response.body.getReader();
  const finish = () => {
    watch.end();
    done();
  };
  // While nobody reads, the silence is the reader's.
  watch.end();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        watch.touch();
        try {
          const part = await reader.read();
          watch.end();
          if (part.done) {
            finish();
            controller.close();
          } else {
            controller.enqueue(part.value);
          }
        } catch (error) {
          finish();
          controller.error(error);
        }
      },
      async cancel(reason) {
        finish();
        await reader.cancel(reason).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}
