import { describe, expect, test } from "bun:test";
import { awaitOutcome } from "../support/await-outcome.ts";
import type { ProtocolName, Purpose } from "../support/model-server/records.ts";
import { asks } from "../support/model-server/sample-requests.ts";
import { planReply, sayAtOnce, spokenText } from "../support/model-server/scenario.ts";
import { startModelServer } from "../support/model-server/server.ts";

function post(url: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  return fetch(url, { ...init, proxy: false, ...(signal ? { signal } : {}) });
}

describe.each([...asks])("the scripted model over $protocol", (ask) => {
  const difficult = 'two\nlines, a\ttab, "quotes", 漢字, 👩‍👩‍👧, e\u0301, trailing blank \nFAST';

  test("records every user text exactly and leaves the tool's own notes out", async () => {
    await using server = startModelServer();
    await (await post(server.url + ask.path, ask.body(["first FAST", difficult]))).text();
    const request = await server.next((record) => record.outcome === "finished", 60_000);
    expect(request.all_user_texts).toEqual(["first FAST", difficult]);
    expect(request.newest_user_text).toBe(difficult);
    expect([request.protocol, request.purpose, request.tool_answered]).toEqual([ask.protocol, "turn", false]);
  });

  test("speaks the planned words to the end of the stream", async () => {
    await using server = startModelServer({ pace: 0 });
    const stream = await (await post(server.url + ask.path, ask.body(["hello"]))).text();
    const reply = planReply("hello", false);
    expect(ask.words(stream)).toBe(reply.kind === "speech" ? spokenText(reply) : "");
    expect(stream).toContain(ask.lastMark);
  });

  test("calls a tool once and answers its result in words", async () => {
    await using server = startModelServer({ pace: 0 });
    const call = await (await post(server.url + ask.path, ask.body(["go RUNTOOL"]))).text();
    expect(call).toContain(ask.toolMark);
    expect(call).toContain("touch tool-out.txt");
    const answer = await (
      await post(server.url + ask.path, ask.body(["go RUNTOOL"], { toolResult: true }))
    ).text();
    expect(answer).not.toContain(ask.toolMark);
    expect(server.received().map((record) => record.tool_answered)).toEqual([false, true]);
    expect(server.received().map((record) => record.tool_results)).toEqual([[], ["done"]]);
  });

  test("plays a part for the prompts that it takes, step by step", async () => {
    await using server = startModelServer({
      pace: 0,
      part: ({ prompt, toolResults }) =>
        prompt === "my part"
          ? { ...sayAtOnce(`heard ${toolResults.length}`), command: { command: "true", escalate: false } }
          : null,
    });
    const played = await (await post(server.url + ask.path, ask.body(["my part"]))).text();
    expect([ask.words(played), played.includes(ask.toolMark)]).toEqual(["heard 0", true]);
    const next = await (
      await post(server.url + ask.path, ask.body(["my part"], { toolResult: true }))
    ).text();
    expect(ask.words(next)).toBe("heard 1");
    expect(ask.words(await (await post(server.url + ask.path, ask.body(["another FAST"]))).text())).toBe(
      "ok",
    );
  });

  test.each([400, 401, 429, 500, 529])("fails with status %d when asked to", async (status) => {
    await using server = startModelServer({ pace: 0 });
    const response = await post(server.url + ask.path, ask.body([`please FAIL${status}`]));
    expect(response.status).toBe(status);
    expect(JSON.stringify(await response.json())).toContain(`scripted failure ${status}`);
    expect(server.received()[0]?.outcome).toBe("failed");
  });

  test("has a skill opened and hears its text, which is nobody's prompt", async () => {
    const { skill } = ask;
    const heard: unknown[] = [];
    await using server = startModelServer({
      part: ({ prompt, skillTexts }) => {
        heard.push([prompt, skillTexts.map((text) => text.includes("the skill's text"))]);
        return { ...sayAtOnce("ok"), skill: skillTexts.length === 0 ? "s" : null };
      },
    });
    const opens = await (await post(server.url + ask.path, ask.body(["hello"]))).text();
    expect(opens.includes(skill?.callMark ?? "never")).toBe(Boolean(skill?.callMark));
    if (skill) {
      const reply = await post(server.url + ask.path, { stream: true, ...skill.body("the skill's text") });
      expect(await reply.text()).not.toContain(skill.callMark ?? "never");
    }
    expect(heard).toEqual([["hello", []], ...(skill ? [["hello", [true]]] : [])]);
  });

  test("breaks the connection in the middle of the words on CUTSTREAM", async () => {
    await using server = startModelServer({ pace: 0 });
    const read = post(server.url + ask.path, ask.body(["now CUTSTREAM"])).then((response) => response.text());
    expect(await awaitOutcome(read)).toThrow();
    await server.next((record) => record.outcome === "cut", 60_000);
  });

  test("notices at once that the client hung up", async () => {
    await using server = startModelServer();
    const client = new AbortController();
    const response = await post(server.url + ask.path, ask.body(["long SLOWTURN"]), client.signal);
    const reader = response.body?.getReader();
    await reader?.read();
    client.abort();
    const request = await server.next((record) => record.outcome !== "open", 60_000);
    expect(request.outcome).toBe("aborted");
  });
});

const sides: readonly {
  id: string;
  protocol: ProtocolName;
  path: string;
  body: object;
  want: Purpose;
  answer: string;
}[] = [
  {
    id: "a request of claude without tools is its session title",
    protocol: "anthropic_messages",
    path: "/v1/messages",
    body: { messages: [{ role: "user", content: "x FAIL500" }], tools: [] },
    want: "title",
    answer: "title",
  },
  {
    id: "claude counts tokens beside a turn",
    protocol: "anthropic_messages",
    path: "/v1/messages/count_tokens",
    body: { messages: [{ role: "user", content: "x" }], tools: [{}] },
    want: "count_tokens",
    answer: "input_tokens",
  },
  {
    id: "a request of codex without tools is its session title",
    protocol: "openai_responses",
    path: "/v1/responses",
    body: { input: [{ role: "user", content: [{ type: "input_text", text: "x" }] }], tools: [] },
    want: "title",
    answer: "title",
  },
  {
    id: "gemini asks a router for the model",
    protocol: "gemini",
    path: "/v1beta/models/lite:generateContent",
    body: {
      contents: [{ role: "user", parts: [{ text: "x" }] }],
      generationConfig: { responseMimeType: "application/json" },
    },
    want: "router",
    answer: "model_choice",
  },
  {
    id: "gemini counts tokens beside a turn",
    protocol: "gemini",
    path: "/v1beta/models/m:countTokens",
    body: { contents: [] },
    want: "count_tokens",
    answer: "totalTokens",
  },
  {
    id: "codex compacts without tools",
    protocol: "openai_responses",
    path: "/v1/responses",
    body: {
      input: [{ role: "user", content: [{ type: "input_text", text: "a CONTEXT CHECKPOINT COMPACTION" }] }],
      tools: [],
    },
    want: "compaction",
    answer: "A short account",
  },
  {
    id: "gemini compresses outside its stream",
    protocol: "gemini",
    path: "/v1beta/models/m:generateContent",
    body: { contents: [{ role: "user", parts: [{ text: "write a <state_snapshot>" }] }] },
    want: "compaction",
    answer: "A short account",
  },
  {
    id: "opencode asks a title generator",
    protocol: "chat_completions",
    path: "/v1/chat/completions",
    body: { messages: [{ role: "system", content: "You are a title generator" }] },
    want: "title",
    answer: "Fixture session",
  },
];

describe("side requests", () => {
  test.each([...sides])("$id", async ({ protocol, path, body, want, answer }) => {
    await using server = startModelServer();
    const reply = await (await post(server.url + path, body)).text();
    expect(reply).toContain(answer);
    const [record] = server.received();
    expect([record?.protocol, record?.purpose, record?.outcome]).toEqual([protocol, want, "finished"]);
  });

  test("a path of no protocol is 404 and remembered as a stray", async () => {
    await using server = startModelServer();
    const response = await fetch(`${server.url}/v1/models`, { proxy: false });
    expect(response.status).toBe(404);
    expect(server.strays()).toEqual(["GET /v1/models"]);
    expect(server.received()).toEqual([]);
  });
});

describe("awaiting a request", () => {
  test("gives the first that fits, also when it came before the question", async () => {
    await using server = startModelServer({ pace: 0 });
    const [ask] = asks;
    for (const text of ["one FAST", "two FAST", "two again FAST"]) {
      await post(server.url + ask?.path, ask?.body([text])).then((response) => response.text());
    }
    const found = await server.next((record) => record.newest_user_text.startsWith("two"), 60_000);
    expect(found.sequence).toBe(2);
  });

  test("gives up in time and says what did come", async () => {
    await using server = startModelServer({ pace: 0 });
    const [ask] = asks;
    await post(server.url + ask?.path, ask?.body(["only this FAST"])).then((response) => response.text());
    expect(await awaitOutcome(server.next((record) => record.newest_user_text === "never", 20))).toThrow(
      "only this FAST",
    );
  });
});

describe("the directive is in the last line", () => {
  test.each([
    { id: "words without a directive take about two seconds", text: "hello", totalMs: 2360 },
    { id: "SLOWTURN takes twelve seconds", text: "go\nSLOWTURN", totalMs: 12_000 },
    { id: "LONGTURN takes nine seconds", text: "LONGTURN", totalMs: 9000 },
    { id: "a directive in an earlier line is only text", text: "SLOWTURN\nhello", totalMs: 2360 },
    { id: "a word that merely contains a directive is only text", text: "BREAKFASTS", totalMs: 2360 },
    { id: "trailing blank lines do not hide the directive", text: "say FAST \n\n", totalMs: 0 },
    { id: "a carriage return ends a line", text: "SLOWTURN\rFAST", totalMs: 0 },
  ])("$id", ({ text, totalMs }) => {
    const reply = planReply(text, false);
    const words = reply.kind === "speech" ? reply.words : [];
    expect(Math.round(words.reduce((sum, word) => sum + word.afterMs, 0) / 10)).toBe(
      Math.round(totalMs / 10),
    );
  });

  test("RUNTOOL may sleep and may ask for approval", () => {
    const reply = planReply("RUNTOOL SLEEPTOOL ESCALATE", false);
    const command = reply.kind === "speech" ? reply.command : null;
    expect(command).toEqual({ command: "sleep 8 && touch tool-out.txt", escalate: true });
  });
});
