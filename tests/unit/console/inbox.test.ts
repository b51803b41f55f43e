import { describe, expect, test } from "bun:test";
import {
  emptyInbox,
  hold,
  type Inbox,
  identical,
  neighbour,
  receive,
  reveal,
  waiting,
} from "../../../src/console/state/inbox.ts";
import { personOf } from "../../../src/console/state/threads.ts";
import type { AttentionEvent, AttentionItem } from "../../../src/protocol/attention.ts";

const item = (id: string, change: Partial<AttentionItem> = {}): AttentionItem => ({
  id,
  kind: "question",
  agent_id: `agent-${id}`,
  agent_name: id,
  tracked_agent_id: `agent-${id}`,
  address: null,
  since_utc: `2026-11-23T10:00:0${id.charCodeAt(0) - 97}+00:00`,
  age_seconds: 1,
  epoch: 1,
  reason: `${id} asks`,
  question: `Go on with ${id}?`,
  subject: null,
  evidence: [],
  answers: [
    { answer: "1", label: "Yes" },
    { answer: "2", label: "No" },
  ],
  next: "answer",
  command: null,
  ...change,
});
const event = (kind: AttentionEvent["kind"], ...items: AttentionItem[]): AttentionEvent => ({
  kind,
  at_utc: "2026-11-23T10:00:00+00:00",
  items,
});
const ids = (inbox: Inbox) => (inbox.shown ?? []).map(({ id }) => id);
const listed = receive(emptyInbox, event("attention_list", item("b"), item("d")), 1_000);

describe("the list of what waits", () => {
  test("the first list is shown, oldest first", () => {
    expect(ids(receive(emptyInbox, event("attention_list", item("d"), item("b")), 0))).toEqual(
      ["d", "b"].sort(),
    );
  });

  test("what comes later moves nothing and is counted, until it is revealed", () => {
    const later = receive(listed, event("attention_added", item("a", { since_utc: null })), 2_000);
    expect(ids(later)).toEqual(["b", "d"]);
    expect(later.arrived.map(({ id }) => id)).toEqual(["a"]);
    expect(ids(reveal(later))).toEqual(["a", "b", "d"]);
    expect(reveal(later).arrived).toEqual([]);
  });

  test("what goes keeps its place, marked, until the next reveal", () => {
    const later = receive(listed, event("attention_gone", item("b")), 2_000);
    expect(ids(later)).toEqual(["b", "d"]);
    expect([...later.gone]).toEqual(["b"]);
    expect(waiting(later).map(({ id }) => id)).toEqual(["d"]);
    expect(ids(reveal(later))).toEqual(["d"]);
  });

  test("a change replaces the item where it is", () => {
    const later = receive(listed, event("attention_changed", item("b", { question: "Another?" })), 2_000);
    expect(later.shown?.[0]?.question).toBe("Another?");
    expect(ids(later)).toEqual(["b", "d"]);
  });

  test("the list after a reconnect moves nothing either", () => {
    const later = receive(listed, event("attention_list", item("d"), item("e")), 2_000);
    expect(ids(later)).toEqual(["b", "d"]);
    expect([...later.gone]).toEqual(["b"]);
    expect(later.arrived.map(({ id }) => id)).toEqual(["e"]);
  });

  test("what arrived and went before it was revealed is never shown", () => {
    const came = receive(listed, event("attention_added", item("e")), 2_000);
    expect(receive(came, event("attention_gone", item("e")), 3_000).arrived).toEqual([]);
    expect(receive(came, event("attention_list", item("b"), item("d")), 3_000).arrived).toEqual([]);
  });

  test("an empty list shows at once what comes, and says since when it is empty", () => {
    const empty = receive(emptyInbox, event("attention_list"), 5_000);
    expect(empty.emptySinceMs).toBe(5_000);
    const again = receive(empty, event("attention_list"), 9_000);
    expect(again.emptySinceMs).toBe(5_000);
    const filled = receive(again, event("attention_added", item("b")), 10_000);
    expect(ids(filled)).toEqual(["b"]);
    expect(filled.emptySinceMs).toBeNull();
  });

  test("where all have gone, what comes is shown at once, below the one that is still read", () => {
    const one = receive(emptyInbox, event("attention_list", item("b")), 0);
    const left = receive(one, event("attention_gone", item("b")), 1_000);
    expect(ids(left)).toEqual(["b"]);
    const came = receive(left, event("attention_added", item("a")), 2_000);
    expect([ids(came), came.arrived, [...came.gone]]).toEqual([["a"], [], []]);
    const read = receive(hold(left, "b"), event("attention_added", item("a")), 2_000);
    expect([ids(read), read.arrived, [...read.gone]]).toEqual([["b", "a"], [], ["b"]]);
    expect(waiting(read).map(({ id }) => id)).toEqual(["a"]);
    // One waits again: the next one is counted.
    expect(receive(read, event("attention_added", item("e")), 3_000).arrived).toHaveLength(1);
  });
});

describe("identical questions", () => {
  const same = { question: "Delete it?" };
  const inbox = (...items: AttentionItem[]) => receive(emptyInbox, event("attention_list", ...items), 0);
  const names = (list: AttentionItem[]) => list.map(({ id }) => id);
  test("the same words, subject and answers", () => {
    const [a, b] = [item("a", same), item("b", same)];
    expect(names(identical(inbox(a, b, item("c")), a))).toEqual(["b"]);
  });
  test.each<{ id: string; other: Partial<AttentionItem> }>([
    { id: "another command", other: { ...same, subject: { action: "Bash", text: "rm -r x" } } },
    { id: "another answer", other: { ...same, answers: [{ answer: "1", label: "Yes, always" }] } },
    { id: "another kind", other: { ...same, kind: "permission" as const } },
  ])("not with $id", ({ other }) => {
    const a = item("a", same);
    expect(identical(inbox(a, item("b", other)), a)).toEqual([]);
  });
  test("not what waits no more, nor what cannot be answered", () => {
    const [a, b] = [item("a", same), item("b", same)];
    expect(identical(receive(inbox(a, b), event("attention_gone", b), 1), a)).toEqual([]);
    const mute = item("c", { ...same, answers: [] });
    expect(identical(inbox(mute, { ...mute, id: "d" }), mute)).toEqual([]);
  });
});

test.each([
  { id: "down", from: "b", step: 1, want: "d" },
  { id: "down at the end", from: "d", step: 1, want: "d" },
  { id: "up", from: "d", step: -1, want: "b" },
  { id: "up at the top", from: "b", step: -1, want: "b" },
  { id: "from nowhere", from: null, step: 1, want: "b" },
])("the cursor goes $id", ({ from, step, want }) => expect(neighbour(listed, from, step)).toBe(want));

describe("a participant of mail", () => {
  test.each([
    { id: "of this host", address: "dana@svc.localhost", display_name: null, text: "dana" },
    { id: "with its own name", address: "dana@svc.localhost", display_name: "dana", text: "dana" },
    {
      id: "with another name",
      address: "dana@svc.localhost",
      display_name: "alice",
      text: "alice <dana@svc.localhost>",
    },
    { id: "of another host", address: "dana@evil", display_name: null, text: "dana@evil" },
    {
      id: "of another host with a name",
      address: "dana@evil",
      display_name: "alice",
      text: "alice <dana@evil>",
    },
    {
      id: "with an address as its name",
      address: "dana@evil",
      display_name: "alice@svc.localhost",
      text: "dana@evil",
    },
    { id: "with brackets in its name", address: "dana@evil", display_name: "alice <a", text: "dana@evil" },
    {
      id: "with a name that turns the line",
      address: "dana@evil",
      display_name: "al\u202eice\u200b",
      text: "alice <dana@evil>",
    },
  ])("$id is shown with an address that nobody else has", ({ address, display_name, text }) => {
    expect(personOf({ address, display_name })).toBe(text);
  });
});
