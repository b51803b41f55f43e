import { describe, expect, test } from "bun:test";
import type { AgentIdentity } from "../../src/protocol/agents.ts";
import type { HostDirectory, HostLink, HostRequest } from "../../src/services/extensions/hosts/host-link.ts";
import { createEventSource } from "../../src/services/fleet/event-stream.ts";
import { ServiceError } from "../../src/system/errors.ts";
import { awaitOutcome } from "../support/await-outcome.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

/** One host as its operator has it. */
export interface ReachedHost extends AsyncDisposable {
  directory: Pick<HostDirectory, "agents" | "hosts">;
  link: HostLink;
  /** Whoever answers stops where it is and its connections stay open, or goes on. */
  freeze(isFrozen: boolean): Promise<void>;
  /** The connection breaks and is made again. */
  cut(): Promise<void>;
  /** What `ask` sends arrives, and its answer does not; `arrived` resolves when the work was accepted. */
  loseAnswer<T>(ask: () => Promise<T>, arrived: () => Promise<unknown>): Promise<T>;
}

const keyed = (key: string, prompt: string) => {
  const { headers, body } = json({ kind: "submit_prompt", payload: { prompt } });
  return { body, headers: { ...headers, "idempotency-key": key } };
};

const json = (value: unknown) => ({
  headers: { "content-type": "application/json" } as Record<string, string>,
  body: new TextEncoder().encode(JSON.stringify(value)),
});

/** What every way to a host keeps. `reach`: over this way, the host whose programs run in the fixture. */
export function hostLinkSuite(
  name: string,
  reach: (fixture: CliFixture, host: string) => Promise<ReachedHost>,
): void {
  describe(`a host reached ${name}`, () => {
    async function setup() {
      const fixture = createCliFixture();
      const host = await reach(fixture, "build-3");
      const send = (operation: string, more: Partial<HostRequest> = {}) =>
        host.link.send({
          operation,
          params: { agent_ref: "worker" },
          query: "",
          headers: {},
          body: null,
          signal: new AbortController().signal,
          ...more,
        });
      const ask = async (operation: string, more: Partial<HostRequest> = {}) => {
        const answer = await send(operation, more);
        return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
      };
      const names = async () =>
        (await host.directory.agents()).map(
          ({ identity }: { identity: AgentIdentity }) => identity.agent_name,
        );
      const launch = async (agent: string, ...flags: string[]) => {
        const words = ["agents", "launch", "--tool", "demo", "--agent-name", agent, ...flags, "--json"];
        const run = await fixture.mgr(...words);
        if (run.exitCode !== 0) throw new Error(run.stderr);
      };
      /** The status, or the reason for which there is none. */
      const outcomeOf = async (operation: string, more: Partial<HostRequest> = {}) => {
        try {
          const answer = await send(operation, more);
          const { detail } = (await answer.json()) as { detail?: unknown };
          return { outcome: answer.status, detail: JSON.stringify(detail ?? "") };
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          return { outcome: error.reason, detail: error.message };
        }
      };
      const isReady = async () => {
        const { outcome } = await outcomeOf("agentState");
        if (outcome !== 200) return false;
        const { body } = await ask("agentState");
        return (body["turn"] as { phase?: string })?.phase === "ready";
      };
      return {
        ...host,
        fixture,
        send,
        ask,
        outcomeOf,
        names,
        launch,
        isReady,
        async [Symbol.asyncDispose]() {
          await host[Symbol.asyncDispose]();
          await fixture[Symbol.asyncDispose]();
        },
      };
    }

    test("its agents are known, read, driven and followed, and what it refuses is refused unchanged", async () => {
      await using host = await setup();
      expect(await host.names()).toEqual([]);
      await host.launch("worker", "--mailbox");
      await until("the new agent to be known", async () => (await host.names()).includes("worker"));
      const [known] = await host.directory.agents();
      expect([known?.host, known?.identity.lifecycle_state]).toEqual(["build-3", "active"]);
      await until("the agent to be ready", host.isReady);

      // Refusals of the host and of the gateway.
      const unknown = await host.ask("readAgent", { params: { agent_ref: "nobody" } });
      expect([unknown.status, unknown.body["detail"]]).toEqual([404, 'no agent is known as "nobody"']);
      const invalid = await host.ask("agentSubmitGatewayRequest", json({ kind: "submit_prompt" }));
      expect(invalid.status).toBe(422);
      expect(await awaitOutcome(host.send("shutdown", { params: {} }))).toThrow(ServiceError);

      // The same key is the same request, at once and later.
      const [first, again] = await Promise.all([
        host.ask("agentSubmitGatewayRequest", keyed("key-1", "SAY once")),
        host.ask("agentSubmitGatewayRequest", keyed("key-1", "SAY once")),
      ]);
      expect([first.status, again.status]).toEqual([202, 202]);
      expect(again.body["request_id"]).toBe(first.body["request_id"]);
      const listed = await host.ask("agentListGatewayRequests", { query: "?limit=10" });
      expect(listed.body["requests"]).toHaveLength(1);
      expect((await host.ask("agentSubmitGatewayRequest", keyed("key-1", "SAY twice"))).status).toBe(409);

      // Events, from a position, until the reader leaves.
      const leave = new AbortController();
      const stream = await host.send("agentGatewayEvents", { query: "?after=0", signal: leave.signal });
      expect([stream.status, stream.headers.get("content-type")]).toEqual([
        200,
        "text/event-stream; charset=utf-8",
      ]);
      const source = createEventSource();
      const seqs: number[] = [];
      const kinds: string[] = [];
      const reader = stream.body?.getReader();
      for (;;) {
        const part = await reader?.read();
        if (!part || part.done) throw new Error("the stream ended");
        for (const event of source.push(part.value)) {
          seqs.push(event.seq);
          kinds.push(event.kind);
        }
        if (kinds.includes("completed")) break;
      }
      expect(seqs).toEqual([...seqs].sort((left, right) => left - right));
      expect(new Set(seqs).size).toBe(seqs.length);
      leave.abort();
      expect(
        await awaitOutcome(
          (async () => {
            for (;;) if ((await reader?.read())?.done) throw new Error("ended");
          })(),
        ),
      ).toThrow();

      // A large body there and back, in whole.
      const text = "0123456789abcdef".repeat(48 * 1024);
      const mail = { to: ["worker@svc.localhost"], subject: "long", body_content: text };
      expect((await host.ask("agentMailSend", json(mail))).status).toBe(200);
      const inbox = await host.ask("agentMailList", json({ box: "inbox" }));
      const [message] = inbox.body["messages"] as { message_ref: string }[];
      const read = await host.ask("agentMailPeek", json({ message_ref: message?.message_ref }));
      expect(JSON.stringify(read.body).length).toBeGreaterThan(text.length);
      expect(JSON.stringify(read.body)).toContain(text);

      // Many at the same time.
      const many = await Promise.all(Array.from({ length: 50 }, () => host.ask("readAgent")));
      expect(new Set(many.map(({ status }) => status))).toEqual(new Set([200]));

      expect((await host.ask("stopAgent")).status).toBe(200);
      await until("the end to be known", async () => {
        const [one] = await host.directory.agents();
        return one?.identity.lifecycle_state === "stopped";
      });
    }, 120_000);

    test("an answer that gets lost, a broken connection and a frozen peer lose and double nothing", async () => {
      await using host = await setup();
      await host.launch("worker");
      await until("the new agent to be known", async () => (await host.names()).includes("worker"));
      await until("the agent to be ready", host.isReady);
      const submit = (key: string) => host.outcomeOf("agentSubmitGatewayRequest", keyed(key, `SAY ${key}`));
      /** As the host itself knows them, whatever becomes of the way: each has a length that no other has. */
      const accepted = async (key: string) => {
        const words = ["agents", "single", "--agent-name", "worker", "requests", "list", "--json"];
        const { requests } = (await host.fixture.mgr(...words)).json() as {
          requests: { prompt_length?: number }[];
        };
        return requests.filter((request) => request.prompt_length === `SAY ${key}`.length).length;
      };
      /** Again with the same key until it is known to be accepted: it was once, and is done once. */
      const settle = async (key: string) => {
        await until(`${key} to be accepted`, async () => (await submit(key)).outcome === 202);
        expect(await accepted(key)).toBe(1);
        await until(`${key} to be done`, async () => {
          const path = `?idempotency_key=${key}`;
          const { body } = await host.ask("agentListGatewayRequests", { query: path });
          return (body["requests"] as { state: string }[]).every(({ state }) => state === "completed");
        });
      };
      const neverSaidUndone = (one: { outcome: unknown; detail: string }) => {
        expect([202, 503, 504, "outcome_unknown"]).toContain(one.outcome as number);
        expect(one.detail).not.toContain("nothing was sent");
      };

      // The answer gets lost.
      const lost = await host.loseAnswer(
        () => submit("lost"),
        () => until("the request to have arrived", async () => (await accepted("lost")) === 1),
      );
      // Whoever answers knows that it was sent.
      expect([202, 504, "outcome_unknown"]).toContain(lost.outcome as number);
      await settle("lost");

      // The connection breaks beside a reader of events and beside work.
      const seen = followed((query) => host.send("agentGatewayEvents", { query }));
      await until("the events to be followed", () => seen.kinds().includes("completed"));
      const [work] = await Promise.all([submit("cut"), host.cut()]);
      neverSaidUndone(work);
      await until("the way to be open again", host.isReady);
      await settle("cut");
      await until(
        "the later request's events",
        () => seen.kinds().filter((kind) => kind === "completed").length === 2,
      );
      expect(seen.seqs()).toEqual([...new Set(seen.seqs())].sort((left, right) => left - right));
      await seen.stop();

      // Nobody answers, and no connection breaks.
      await host.freeze(true);
      const startMs = performance.now();
      const [read, frozen] = await Promise.all([host.outcomeOf("agentTerminalState"), submit("frozen")]);
      expect(performance.now() - startMs).toBeLessThan(40_000);
      expect([503, "unavailable"]).toContain(read.outcome as number);
      neverSaidUndone(frozen);
      expect(frozen.outcome).not.toBe(202);
      await host.freeze(false);
      await until("the way to be open again", host.isReady);
      await settle("frozen");

      // What is larger than any way takes is refused as that, and the next call passes.
      const large = await host.outcomeOf(
        "agentSubmitGatewayRequest",
        keyed("large", "x".repeat(8 * 1024 * 1024)),
      );
      expect([413, "too_large"]).toContain(large.outcome as number);
      expect((await host.ask("agentListGatewayRequests")).body["requests"]).toHaveLength(3);
      await settle("after");
    }, 240_000);
  });
}

/** Follows events, again from the last one when the stream ends. */
function followed(open: (query: string) => Promise<Response>) {
  const events: { seq: number; kind: string }[] = [];
  let over = false;
  let leave = async () => {};
  const reading = (async () => {
    while (!over) {
      try {
        const stream = await open(`?after=${events.at(-1)?.seq ?? 0}`);
        const reader = stream.body?.getReader();
        const source = createEventSource();
        leave = async () => void (await reader?.cancel());
        for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
          events.push(...source.push(part.value).map(({ seq, kind }) => ({ seq, kind })));
      } catch {
        // The way is interrupted.
      }
    }
  })();
  return {
    seqs: () => events.map(({ seq }) => seq),
    kinds: () => events.map(({ kind }) => kind),
    async stop() {
      over = true;
      await leave();
      await reading;
    },
  };
}
