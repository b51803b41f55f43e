import { describe, expect, test } from "bun:test";
import type { AgentIdentity } from "../../src/protocol/agents.ts";
import { createEventSource } from "../../src/services/fleet/event-stream.ts";
import type { HostDirectory, HostLink, HostRequest } from "../../src/services/hosts/host-link.ts";
import { ServiceError } from "../../src/system/errors.ts";
import type { CliLab } from "../support/cli-lab.ts";
import { createCliLab } from "../support/cli-lab.ts";
import { until } from "../support/until.ts";

/** One host as its operator has it. */
export interface ReachedHost extends AsyncDisposable {
  directory: Pick<HostDirectory, "agents" | "hosts">;
  link: HostLink;
}

const json = (value: unknown) => ({
  headers: { "content-type": "application/json" } as Record<string, string>,
  body: new TextEncoder().encode(JSON.stringify(value)),
});

/** What every way to a host keeps. `reach`: over this way, the host whose programs run in the lab. */
export function hostLinkSuite(
  name: string,
  reach: (lab: CliLab, host: string) => Promise<ReachedHost>,
): void {
  describe(`a host reached ${name}`, () => {
    async function setup() {
      const lab = createCliLab();
      const host = await reach(lab, "build-3");
      const send = (operation: string, more: Partial<HostRequest> = {}) =>
        host.link.send({
          ...{ operation, params: { agent_ref: "worker" }, query: "", headers: {}, body: null },
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
        const run = await lab.mgr(...words);
        if (run.exitCode !== 0) throw new Error(run.stderr);
      };
      return {
        ...{ ...host, lab, send, ask, names, launch },
        async [Symbol.asyncDispose]() {
          await host[Symbol.asyncDispose]();
          await lab[Symbol.asyncDispose]();
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
      await until("the agent to be ready", async () => {
        const { body } = await host.ask("agentState");
        return (body["turn"] as { phase?: string })?.phase === "ready";
      });

      // Refusals of the host and of the gateway.
      const unknown = await host.ask("readAgent", { params: { agent_ref: "nobody" } });
      expect([unknown.status, unknown.body["detail"]]).toEqual([404, 'no agent is known as "nobody"']);
      const invalid = await host.ask("agentSubmitGatewayRequest", json({ kind: "submit_prompt" }));
      expect(invalid.status).toBe(422);
      await expect(host.send("shutdown", { params: {} })).rejects.toThrow(ServiceError);

      // The same key is the same request, at once and later.
      const keyed = (prompt: string) => {
        const { headers, body } = json({ kind: "submit_prompt", payload: { prompt } });
        return { body, headers: { ...headers, "idempotency-key": "key-1" } };
      };
      const [first, again] = await Promise.all([
        host.ask("agentSubmitGatewayRequest", keyed("SAY once")),
        host.ask("agentSubmitGatewayRequest", keyed("SAY once")),
      ]);
      expect([first.status, again.status]).toEqual([202, 202]);
      expect(again.body["request_id"]).toBe(first.body["request_id"]);
      const listed = await host.ask("agentListGatewayRequests", { query: "?limit=10" });
      expect(listed.body["requests"]).toHaveLength(1);
      expect((await host.ask("agentSubmitGatewayRequest", keyed("SAY twice"))).status).toBe(409);

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
      await expect(
        (async () => {
          for (;;) if ((await reader?.read())?.done) throw new Error("ended");
        })(),
      ).rejects.toThrow();

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
  });
}
