import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { AttentionEvent, type AttentionItem } from "../../src/protocol/attention.ts";
import type { FleetStreamItem } from "../../src/services/fleet/fleet-events.ts";
import { type CoordinatorBundle, createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { settle } from "../support/fake-clock.ts";
import { json, surfaces } from "../support/http-surface.ts";

const options = [
  { index: 1, text: "Yes", selected: true },
  { index: 2, text: "No", selected: false },
];
const asks = (bundle: CoordinatorBundle, id = "aaaaaaaaaaaa", question = "Go on?") => {
  bundle.terminal.state.awaiting_decision = { kind: "selection_menu", question, id, options };
};
const asksNothing = ({ terminal }: CoordinatorBundle) => {
  delete terminal.state.awaiting_decision;
};

const personMail = {
  root: "/srv/mail",
  address: "ann@svc.localhost",
  messageRef: "filesystem:msg-1",
  sinceUtc: "2026-11-21T04:40:00.000+00:00",
  from: "worker@svc.localhost",
  subject: "done",
  agent: { id: "id-worker", name: "worker" },
};

/** The answers that its gateway was sent. */
function decisionsOf(bundle: CoordinatorBundle): unknown[] {
  const sent: unknown[] = [];
  const { decide } = bundle.gateway.agent;
  bundle.gateway.agent.decide = (answer) => {
    sent.push(answer);
    return decide(answer);
  };
  return sent;
}

describe.each(surfaces)("what waits for a person $surface", ({ open }) => {
  async function withServer<T>(
    work: (bundle: CoordinatorBundle, ask: (path: string, body?: object) => Promise<Answered>) => Promise<T>,
  ): Promise<T> {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    return await work(bundle, async (path, body) => {
      const reply = await http.request(`/svc/attention${path}`, body ? json(body) : {});
      return { status: reply.status, body: (await reply.json()) as Answered["body"] };
    });
  }
  interface Answered {
    status: number;
    body: { items: AttentionItem[]; detail: string };
  }

  test("is empty while nobody asks", () =>
    withServer(async (_, ask) => {
      expect(await ask("")).toEqual({ status: 200, body: { schema_version: 1, items: [] } as never });
    }));

  test("is a question with its options, for its agent and its kind", () =>
    withServer(async (bundle, ask) => {
      asks(bundle);
      const { body } = await ask("");
      expect(body.items).toMatchObject([
        {
          kind: "question",
          agent_name: "worker",
          question: "Go on?",
          answers: [
            { answer: "1", label: "Yes" },
            { answer: "2", label: "No" },
          ],
        },
      ]);
      const counts = await Promise.all(
        ["?agent=id-worker", "?agent=bare", "?kind=question", "?kind=closed_queue"].map(
          async (query) => (await ask(query)).body.items.length,
        ),
      );
      expect(counts).toEqual([1, 0, 1, 0]);
    }));

  test.each([
    { query: "?agent=nobody", status: 404 },
    { query: "?agent=twin", status: 409 },
    { query: "?kind=boredom", status: 422 },
    { query: "?more=1", status: 422 },
  ])("of $query is $status", ({ query, status }) =>
    withServer(async (_, ask) => {
      expect((await ask(query)).status).toBe(status);
    }),
  );

  test("is answered through its gateway, which is given the id of the question", () =>
    withServer(async (bundle, ask) => {
      asks(bundle);
      const sent = decisionsOf(bundle);
      const [item] = (await ask("")).body.items;
      const answered = await ask(`/${item?.id}/answers`, { answer: "yes", epoch: item?.epoch });
      expect(answered).toEqual({
        status: 200,
        body: { status: "ok", id: item?.id, answer: { answer: "1", label: "Yes" } } as never,
      });
      expect(sent).toEqual([{ schema_version: 1, option: 1, question: "Go on?", id: "aaaaaaaaaaaa" }]);
    }));

  test.each([
    { id: "another question is asked", change: (bundle: CoordinatorBundle) => asks(bundle, "bbbbbbbbbbbb") },
    { id: "nothing is asked any more", change: asksNothing },
  ])("is 409 and presses nothing when $id", ({ change }) =>
    withServer(async (bundle, ask) => {
      asks(bundle);
      const sent = decisionsOf(bundle);
      const [item] = (await ask("")).body.items;
      change(bundle);
      await bundle.gateway.clock.advance(1);
      expect(await ask(`/${item?.id}/answers`, { answer: "1" })).toMatchObject({
        status: 409,
        body: { detail: expect.stringContaining("waits no more") },
      });
      expect(sent).toEqual([]);
    }),
  );

  test.each([
    { id: "for another instance", body: { answer: "1", epoch: 99 }, status: 409 },
    { id: "that is none of its answers", body: { answer: "Perhaps" }, status: 422 },
  ])("answered $id is $status and presses nothing", ({ body, status }) =>
    withServer(async (bundle, ask) => {
      asks(bundle);
      const sent = decisionsOf(bundle);
      const [item] = (await ask("")).body.items;
      expect((await ask(`/${item?.id}/answers`, body)).status).toBe(status);
      expect(sent).toEqual([]);
    }),
  );

  test("an answer that the gateway refuses keeps its status and words", () =>
    withServer(async (bundle, ask) => {
      asks(bundle);
      const [item] = (await ask("")).body.items;
      const detail = "the agent asks another question now";
      bundle.answer.with = async () => Response.json({ detail }, { status: 409 });
      expect(await ask(`/${item?.id}/answers`, { answer: "1" })).toEqual({
        status: 409,
        body: { detail } as never,
      });
    }));

  test("mail that a person has not read is listed beside what agents ask, and has no answers", () =>
    withServer(async (bundle, ask) => {
      asks(bundle);
      bundle.peopleMail.push(personMail);
      const { items } = (await ask("")).body;
      expect(items.map(({ kind, address }) => [kind, address])).toEqual([
        ["question", null],
        ["mail", "ann@svc.localhost"],
      ]);
      expect((await ask("?kind=mail")).body.items).toHaveLength(1);
      const path = `/${items[1]?.id}/answers`;
      expect(await ask(path, { answer: "1" })).toMatchObject({
        status: 422,
        body: { detail: expect.stringContaining("Read it: svc-mgr mail --mailbox-root /srv/mail") },
      });
      bundle.peopleMail.length = 0;
      expect((await ask(path, { answer: "1" })).status).toBe(409);
      expect((await ask("")).body.items).toHaveLength(1);
    }));

  test("an id that was never listed is 409", () =>
    withServer(async (_, ask) => {
      expect((await ask("/question-000000000000/answers", { answer: "1" })).status).toBe(409);
    }));
});

test("the stream begins with everything and shows what comes, changes and goes", async () => {
  let hint = (_: string) => {};
  const events = {
    async *follow({ signal }: { signal: AbortSignal }): AsyncGenerator<FleetStreamItem> {
      while (!signal.aborted) {
        const agent_id = await new Promise<string | null>((resolve) => {
          hint = resolve;
          signal.addEventListener("abort", () => resolve(null));
        });
        if (agent_id === null) return;
        const event = { kind: "terminal_state", at_utc: "2026-11-21T04:47:00.000+00:00" } as const;
        yield {
          item: "event",
          id: "1",
          event: { ...event, agent_id, agent_name: null, tracked_agent_id: null },
        };
      }
    },
  };
  await using bundle = createCoordinatorBundle({ events });
  const left = new AbortController();
  const reply = await bundle.app.fetch(
    new Request("http://127.0.0.1/svc/attention/events", { signal: left.signal }),
  );
  expect(reply.headers.get("content-type")).toContain("text/event-stream");
  const reader = reply.body?.getReader();
  let text = "";
  const next = async (): Promise<AttentionEvent> => {
    for (;;) {
      const [block, ...rest] = text.split("\n\n");
      if (rest.length === 0) {
        text += new TextDecoder().decode((await reader?.read())?.value);
        continue;
      }
      text = rest.join("\n\n");
      const data = /^data: (.*)$/m.exec(block ?? "")?.[1];
      if (data === undefined) continue;
      const event = JSON.parse(data) as AttentionEvent;
      expect([...Value.Errors(AttentionEvent, event)]).toEqual([]);
      return event;
    }
  };
  const told = async () => {
    const { kind, items } = await next();
    return [kind, items.map((item) => item.question)];
  };
  const after = async (change: (bundle: CoordinatorBundle) => void) => {
    change(bundle);
    const event = told();
    await settle();
    hint("id-worker");
    await settle();
    bundle.gateway.clock.advance(200);
    await settle();
    return event;
  };
  expect(await told()).toEqual(["attention_list", []]);
  expect(await after((one) => asks(one))).toEqual(["attention_added", ["Go on?"]]);
  const moved = options.map((option) => ({ ...option, text: `${option.text}!` }));
  expect(
    await after(({ terminal: { state } }) => {
      if (state.awaiting_decision) state.awaiting_decision = { ...state.awaiting_decision, options: moved };
    }),
  ).toEqual(["attention_changed", ["Go on?"]]);
  expect(await after(asksNothing)).toEqual(["attention_gone", ["Go on?"]]);
  // Mail is looked at every 5 s.
  const afterMail = async (change: () => void) => {
    change();
    const event = told();
    bundle.gateway.clock.advance(5000);
    await settle();
    return event;
  };
  expect(await afterMail(() => void bundle.peopleMail.push(personMail))).toEqual(["attention_added", [null]]);
  expect(await afterMail(() => void bundle.peopleMail.pop())).toEqual(["attention_gone", [null]]);
  left.abort();
  await reader?.cancel();
});
