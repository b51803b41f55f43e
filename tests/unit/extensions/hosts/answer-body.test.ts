import { expect, test } from "bun:test";
import { createAnswerBody } from "../../../../src/services/extensions/hosts/answer-body.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function openBody() {
  const clock = createFakeClock();
  const consumed: number[] = [];
  let cancelled = 0;
  const body = createAnswerBody({
    clock,
    signal: new AbortController().signal,
    consumed: (count) => void consumed.push(count),
    cancel: () => {
      cancelled += 1;
    },
  });
  return { clock, consumed, body, cancelled: () => cancelled };
}

const part = (text: string) => new TextEncoder().encode(text);
const empty = new Uint8Array(0);

test("a part without bytes reaches no reader, and the host may send another one for it", async () => {
  const { body, consumed } = openBody();
  for (let at = 0; at < 8; at += 1) body.push(empty);
  expect(consumed).toEqual([8]);
  for (const text of ["a", "", "b", ""]) body.push(part(text));
  body.end();
  const read: number[] = [];
  for await (const bytes of body.stream) read.push(bytes.length);
  expect(read).toEqual([1, 1]);
});

test("parts that are read are reported, those without bytes among them", async () => {
  const { body, consumed } = openBody();
  for (let at = 0; at < 8; at += 1) {
    body.push(part("a"));
    body.push(empty);
  }
  // Nobody has read yet: the host has sent its window.
  expect(consumed).toEqual([8]);
  body.end();
  expect((await new Response(body.stream).text()).length).toBe(8);
  expect(consumed).toEqual([8, 16]);
});

test("a host that sends parts without bytes alone is silent", async () => {
  const { body, clock, cancelled } = openBody();
  for (let at = 0; at < 4; at += 1) {
    await clock.advance(10_000);
    body.push(empty);
  }
  expect(cancelled()).toBe(1);
  await expect(new Response(body.stream).text()).rejects.toThrow("silent for 40000 ms");
});
