import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createEventSource } from "../../../src/services/fleet/event-stream.ts";

const at_utc = "2026-11-21T04:47:00.000+00:00";
const event = (seq: number, more: object = {}) => ({ seq, kind: "test", at_utc, ...more });
const sent = (seq: number, more: object = {}) =>
  `id: ${seq}\nevent: test\ndata: ${JSON.stringify(event(seq, more))}\n\n`;
const bytes = (text: string) => new TextEncoder().encode(text);
const read = (...texts: string[]) => {
  const source = createEventSource();
  return texts.flatMap((text) => source.push(bytes(text)));
};

describe("an event stream", () => {
  test.each([
    { id: "one event", texts: [sent(1)], want: [event(1)] },
    {
      id: "comments are none",
      texts: [": connected\n\n", sent(1), ": heartbeat\n\n", sent(2)],
      want: [event(1), event(2)],
    },
    { id: "an event waits for its blank line", texts: [sent(1).slice(0, -1)], want: [] },
    {
      id: "lines may end with carriage returns",
      texts: [sent(1).replaceAll("\n", "\r\n")],
      want: [event(1)],
    },
    { id: "what is not JSON is passed over", texts: ["data: {\n\n", sent(2)], want: [event(2)] },
    {
      id: "what is no event of ours is passed over",
      texts: ['data: {"seq":0}\n\n', sent(2)],
      want: [event(2)],
    },
    {
      id: "data over several lines is one text",
      texts: [`data: {"seq":1,"kind":"test",\ndata: "at_utc":"${at_utc}"}\n\n`],
      want: [event(1)],
    },
  ])("$id", ({ texts, want }) => {
    expect(read(...texts)).toEqual(want as never);
  });

  test("however it is cut, the same events are read", () => {
    const text = [sent(1, { note: "grün ✻" }), ": heartbeat\n\n", sent(2), sent(3)].join("");
    fc.assert(
      fc.property(fc.array(fc.nat(bytes(text).length)), (cuts) => {
        const source = createEventSource();
        const whole = bytes(text);
        const places = [0, ...cuts.sort((a, b) => a - b), whole.length];
        const seen = places.flatMap((from, index) =>
          source.push(whole.slice(from, places[index + 1] ?? from)),
        );
        expect(seen.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      }),
    );
  });

  test("a line without end is not kept, and what follows it is read", () => {
    const source = createEventSource();
    const flood = "x".repeat(700_000);
    expect(source.push(bytes(`data: ${flood}`))).toEqual([]);
    expect(source.push(bytes(flood))).toEqual([]);
    expect(source.push(bytes(`${flood}\n\n${sent(2)}`))).toEqual([event(2)]);
  });
});
