import { describe, expect, test } from "bun:test";
import type { RefusedSubmission, SubmitOutcome } from "../../../src/services/agent/agent.ts";
import { renderMailPrompt, toAskedStatus, verificationPaths } from "../../../src/services/mail/fallback.ts";

const refused = (
  code: "not_ready" | "pending_input" | "awaiting_decision" | "unavailable",
): RefusedSubmission => ({
  outcome: "refused",
  refusal: { ready: false, code, detail: "why" },
});

describe("asking the agent for mail", () => {
  test("names the request and what is wanted, and leaves out what only a mailbox keeps", () => {
    const request = {
      schema_version: 1,
      to: ["x@svc.localhost"],
      subject: "plan",
      body_content: "text",
      notify_block: { text: "look" },
    };
    const prompt = renderMailPrompt({
      requestId: "mailreq-1",
      operation: "send",
      address: "w@svc.localhost",
      request,
    });
    expect(prompt).toContain("mailreq-1");
    const [, values = ""] = prompt.split("\n\n");
    expect(JSON.parse(values)).toEqual({
      operation: "send",
      to: ["x@svc.localhost"],
      subject: "plan",
      body_content: "text",
    });
  });

  test.each([
    { id: "taken", outcome: { outcome: "submitted" } as SubmitOutcome, want: "submitted" },
    { id: "not ready", outcome: refused("not_ready"), want: "busy" },
    { id: "holding input", outcome: refused("pending_input"), want: "busy" },
    { id: "asking a person", outcome: refused("awaiting_decision"), want: "busy" },
    { id: "not there", outcome: refused("unavailable"), want: undefined },
    {
      id: "refused whole",
      outcome: { outcome: "failed", typed: false, detail: "x" } as SubmitOutcome,
      want: "rejected",
    },
    {
      id: "left half",
      outcome: { outcome: "failed", typed: true, detail: "x" } as SubmitOutcome,
      want: "tui_error",
    },
  ])("$id is reported as $want", ({ outcome, want }) => {
    expect(toAskedStatus(outcome)?.status as string | undefined).toBe(want);
  });

  test("reports where one sees whether it was done", () => {
    expect(verificationPaths("send", "svc-mgr agents self", [])).toEqual([
      "svc-mgr agents self mail list --box sent",
    ]);
    expect(verificationPaths("mark", "svc-mgr agents self", ["a", "b"])).toEqual([
      "svc-mgr agents self mail peek --message-ref a",
      "svc-mgr agents self mail peek --message-ref b",
    ]);
  });
});
