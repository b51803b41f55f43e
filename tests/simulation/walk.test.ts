import { expect, test } from "bun:test";
import { traceWalk } from "../../scripts/walks-page.ts";

const services = "src/services";

const walks: { subject: string; steps: string[] }[] = [
  {
    subject: "prompt",
    steps: [
      "src/routes/http/gate.ts#authorized",
      "src/routes/gateway/core.ts#submitRequest",
      `${services}/queue/queue.ts#accept`,
      `${services}/queue/eligibility.ts#refuseRequest`,
      "src/db/group-commit.ts#add",
      `${services}/queue/queue.ts#deliverNext`,
      `${services}/queue/eligibility.ts#decideNext`,
      `${services}/agent/terminal-agent.ts#reserve`,
      `${services}/queue/queue.ts#promote`,
      `${services}/agent/dispatch.ts#dispatchText`,
      `${services}/terminal/tmux/exclusive-pane.ts#paste`,
      `${services}/agent/submission.ts#beforeEnter`,
      `${services}/terminal/tmux/exclusive-pane.ts#enter`,
      `${services}/agent/terminal-view.ts#wasTaken`,
      `${services}/agent/followed-turns.ts#followTurn`,
      `${services}/queue/queue.ts#finish`,
    ],
  },
  {
    subject: "mail",
    steps: [
      "src/routes/http/gate.ts#authorized",
      "src/routes/gateway/app.ts#mailSend",
      `${services}/mail/facade.ts#send`,
      `${services}/mail/draft.ts#planRecipients`,
      `${services}/mail/filesystem/delivery/delivery.ts#deliver`,
      `${services}/mail/filesystem/delivery/delivery.ts#commit`,
      `${services}/mail/filesystem/delivery/late-files.ts#placeFile`,
      `${services}/mail/filesystem/delivery/doorbell.ts#announce`,
      `${services}/notifier/notifier.ts#triggerWake`,
      `${services}/notifier/cycle.ts#eligibleMail`,
      `${services}/queue/eligibility.ts#decideNext`,
      `${services}/terminal/tmux/exclusive-pane.ts#enter`,
      `${services}/queue/queue.ts#finish`,
    ],
  },
];

test.each(walks)("a $subject goes through its steps in order", async ({ subject, steps }) => {
  const calls = await traceWalk(subject);
  expect(steps.filter((step) => !calls.includes(step))).toEqual([]);
  expect(steps.toSorted((one, other) => calls.indexOf(one) - calls.indexOf(other))).toEqual(steps);
});
