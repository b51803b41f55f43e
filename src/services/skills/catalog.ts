import communications from "./texts/svc-agent-email-comms.md" with { type: "text" };
import gateway from "./texts/svc-agent-gateway.md" with { type: "text" };
import mailboxes from "./texts/svc-mailbox-mgr.md" with { type: "text" };
import mailRound from "./texts/svc-process-emails-via-gateway.md" with { type: "text" };

/** One skill as agents read it: a folder `<name>` with a SKILL.md. */
export interface Skill {
  name: string;
  text: string;
}

/**
 * The skills that come with us, flat, in the order in which they are installed. Source: spec/mailbox-agui.md
 * D.
 */
export const skills: readonly Skill[] = [
  { name: "svc-process-emails-via-gateway", text: mailRound },
  { name: "svc-agent-email-comms", text: communications },
  { name: "svc-agent-gateway", text: gateway },
  { name: "svc-mailbox-mgr", text: mailboxes },
];
