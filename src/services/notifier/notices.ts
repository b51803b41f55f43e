import type { NotifierConfig, RenderedBlockEntry } from "../../protocol/notifier.ts";
import type { Mail } from "../mail/mailbox.ts";
import { cutTo, plainLines, quoted } from "./untrusted.ts";

/** What becomes of the senders' notices in one wake-up prompt. */
export interface Notices {
  /** One a message that carries a notice, oldest first: for the audit. */
  entries: RenderedBlockEntry[];
  prepend: string[];
  /** Ends with the line that counts what was suppressed, unless only `prepend` is used. */
  append: string[];
}

/**
 * Renders the notices of `messages` (oldest first) under the trust posture and the caps. The total cap counts the
 * framed text; once it was hit nothing more is rendered. A token is compared, never shown. Source: contract 2.6, 8;
 * spec/gateway.md 2.6 "Notices".
 */
export function renderNotices(messages: readonly Mail[], config: NotifierConfig): Notices {
  const notices: Notices = { entries: [], prepend: [], append: [] };
  let used = 0;
  let suppressed = 0;
  for (const message of messages) {
    const block = message.notify_block;
    if (!block) continue;
    const trust = judge(message, config);
    const entry = { message_ref: message.message_ref, ...trust.auth };
    if (!trust.render) {
      notices.entries.push({ ...entry, rendered: false, block_chars: 0, block_truncated: false });
      continue;
    }
    const text = cutTo(plainLines(block.text), config.notify_block_per_message_chars);
    const framed = frame(message.sender.address, text.text);
    const block_chars = [...text.text].length;
    const size = [...framed].length;
    if (suppressed > 0 || used + size > config.notify_block_total_chars) {
      suppressed += 1;
      notices.entries.push({
        ...entry,
        rendered: false,
        auth_detail: "aggregate cap reached",
        block_chars,
        block_truncated: text.cut,
      });
      continue;
    }
    used += size;
    notices[block.placement].push(framed);
    notices.entries.push({ ...entry, rendered: true, block_chars, block_truncated: text.cut });
  }
  if (suppressed > 0) {
    const line = `+ ${suppressed} more sender notice(s); open the inbox to read them`;
    (notices.append.length > 0 || notices.prepend.length === 0 ? notices.append : notices.prepend).push(line);
  }
  return notices;
}

type Judged = {
  render: boolean;
  auth: Pick<RenderedBlockEntry, "auth_scheme" | "auth_outcome" | "auth_detail">;
};

function judge(message: Mail, config: NotifierConfig): Judged {
  const verifier = config.notify_block_auth_verifier;
  // What the message says of itself, whatever verifier looked at it.
  const auth_scheme = message.notify_auth?.scheme ?? "none";
  if (config.notify_block_render === "disabled") {
    return {
      render: false,
      auth: { auth_scheme, auth_outcome: "skipped", auth_detail: "render disabled" },
    };
  }
  if (verifier === "none") {
    return { render: true, auth: { auth_scheme, auth_outcome: "skipped", auth_detail: null } };
  }
  const token = message.notify_auth?.token;
  const passed = token !== undefined && config.notify_block_shared_tokens.includes(token);
  const auth_detail = passed ? null : token === undefined ? "no token" : "token not in the allowlist";
  return {
    render: passed || config.notify_block_auth_mode === "permissive-log",
    auth: { auth_scheme, auth_outcome: passed ? "passed" : "failed", auth_detail },
  };
}

function frame(sender: string, text: string): string {
  const lines = text.split("\n").map((line) => `> ${line}`.trimEnd());
  return [`Notice from ${quoted(sender, 320)}:`, ...lines].join("\n");
}
