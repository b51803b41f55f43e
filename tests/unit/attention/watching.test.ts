import { expect, test } from "bun:test";
import { adviseInManager } from "../../../src/cli/command-line/remedies.ts";
import { createAttention } from "../../../src/services/attention/attention.ts";
import { unusableFacts } from "../../../src/services/fleet/attention-facts.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createFakeDirectory, sampleKnown } from "../../support/fleet-fakes.ts";

function setup() {
  const clock = createFakeClock();
  const looks: string[] = [];
  const attention = createAttention({
    directory: createFakeDirectory([sampleKnown("worker")]),
    clock,
    async look({ record }) {
      looks.push(record.agent_name);
      return unusableFacts(record, { state: "refused", why: "its manifest is lost" });
    },
    advise: adviseInManager,
    gatewayOf: async () => Promise.reject(new Error("none")),
    events: {
      async *follow({ signal }) {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      },
    },
    people: { unread: async () => [] },
    onError(error) {
      throw error;
    },
  });
  return { attention, clock, looks };
}

async function firstList({ attention }: ReturnType<typeof setup>) {
  const leave = new AbortController();
  const items = attention.follow({ signal: leave.signal });
  const first = await items.next();
  leave.abort();
  await items.return(undefined);
  return first.value;
}

const oneItem = { item: "event", event: { kind: "attention_list", items: [{ agent_name: "worker" }] } };

test("each reader that comes gets a new look, and nobody is looked at without one", async () => {
  const at = setup();
  expect(await firstList(at)).toMatchObject(oneItem);
  await at.clock.advance(60_000);
  expect([at.looks.length, at.clock.pending()]).toEqual([1, 0]);
  expect(await firstList(at)).toMatchObject(oneItem);
  expect(at.looks.length).toBe(2);
  await at.attention.stop();
});

test("an expected reader finds the agents looked at", async () => {
  const at = setup();
  at.attention.expectReader();
  await at.clock.advance(100);
  expect(at.looks.length).toBe(1);
  expect(await firstList(at)).toMatchObject(oneItem);
  expect(at.looks.length).toBe(1);
  await at.clock.advance(60_000);
  expect([at.looks.length, at.clock.pending()]).toEqual([1, 0]);
  await at.attention.stop();
});

test("one that is expected again before the first look is over waits for that look", async () => {
  const at = setup();
  at.attention.expectReader();
  at.attention.expectReader();
  await at.clock.advance(100);
  expect(at.looks.length).toBe(1);
  await at.attention.stop();
});

test("the first list is given to a caller that then begins to follow, from one look", async () => {
  const at = setup();
  expect(await at.attention.firstList()).toMatchObject([{ agent_name: "worker" }]);
  expect(await firstList(at)).toMatchObject(oneItem);
  expect(at.looks.length).toBe(1);
  await at.clock.advance(60_000);
  expect(at.clock.pending()).toBe(0);
  await at.attention.stop();
});

test("an expected reader that does not come is looked for 10 s", async () => {
  const at = setup();
  at.attention.expectReader();
  await at.clock.advance(10_000);
  const { length } = at.looks;
  expect(length).toBeGreaterThan(0);
  await at.clock.advance(60_000);
  expect([at.looks.length, at.clock.pending()]).toEqual([length, 0]);
  await at.attention.stop();
});

test("one that is expected again gets a new look", async () => {
  const at = setup();
  at.attention.expectReader();
  await at.clock.advance(4_000);
  at.attention.expectReader();
  await at.clock.advance(100);
  expect(at.looks.length).toBe(2);
  await at.attention.stop();
});

test("one that is expected while another leaves gets a new look", async () => {
  const at = setup();
  const leave = new AbortController();
  const items = at.attention.follow({ signal: leave.signal });
  await items.next();
  at.attention.expectReader();
  await at.clock.advance(100);
  expect(at.looks.length).toBe(1);
  leave.abort();
  await items.return(undefined);
  await at.clock.advance(100);
  expect(at.looks.length).toBe(2);
  expect(await firstList(at)).toMatchObject(oneItem);
  expect([at.looks.length, at.clock.pending()]).toEqual([2, 0]);
  await at.attention.stop();
});

test("nothing is begun for a reader that is expected after the end", async () => {
  const at = setup();
  await at.attention.stop();
  at.attention.expectReader();
  await at.clock.advance(100);
  expect([at.looks, at.clock.pending()]).toEqual([[], 0]);
});
