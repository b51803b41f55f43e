import { expect } from "bun:test";
import type { MailList } from "../../../../src/protocol/mail.ts";
import { until } from "../../../support/until.ts";
import { begin, finish, type McpSession, report, serversIn } from "../mcp-session.ts";
import type { StageStep } from "../staged-steps.ts";

export type McpStep = StageStep<McpSession, null>;

/**
 * The tool's model calls our tools: it hands a task to another agent; our server is killed and the tool
 * started again; it waits for the same task, reads its answer and mails a third agent.
 */
export async function taskIsHandedOn({ worker, partner, reader, box }: McpSession): Promise<void> {
  const ask = async (prompt: string) => {
    const run = await worker.mgr("prompt", "--prompt", prompt, "--wait");
    expect([run.exitCode, run.stderr]).toEqual([0, ""]);
    return String(run.json()["answer"]);
  };
  const handedOver = await ask(begin);
  expect(handedOver).toMatch(/handed over as gwreq-\S+$/);
  const requestId = /gwreq-\S+$/.exec(handedOver)?.[0];
  const handed = await partner.mgr("requests", "show", requestId ?? "");
  expect(handed.json()["submitted_by"]).toMatchObject({ agent_name: "worker", hops: 1 });

  const servers = () => serversIn(box);
  expect(servers().length).toBeGreaterThan(0);
  for (const { pid } of servers()) process.kill(pid, "SIGKILL");
  expect((await worker.mgr("relaunch")).exitCode).toBe(0);
  await until("the new server", () => servers().length > 0, 45_000);

  const told = await ask(finish(requestId ?? ""));
  const answer = String((await partner.mgr("last")).json()["answer"]);
  expect(told).toContain(report(answer));
  const inbox = (await reader.mgr("mail", "list", "--include-body")).json<MailList>();
  expect(
    inbox.messages.map(({ sender, subject, body_text }) => [sender.address, subject, body_text]),
  ).toEqual([[worker.address, "report", answer]]);
}
