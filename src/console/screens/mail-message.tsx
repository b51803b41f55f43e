import { useState } from "preact/hooks";
import type { MailMessage } from "../../protocol/mail.ts";
import { type Answer, call } from "../client/api.ts";
import { announce } from "../client/ui.ts";
import { Ago, focusWhenShown, Key, useDraft } from "../parts/pieces.tsx";
import { Prose } from "../parts/prose.tsx";
import { personOf } from "../state/threads.ts";

interface Mailbox {
  agent: string;
  name: string;
  /** Reads the mailbox again. */
  reload: () => void;
}

/** One message of a mailbox and what a person can do with it: by the routes that the agent itself has. */
export function Message({
  message,
  mailbox,
  onNote,
}: {
  message: MailMessage;
  mailbox: Mailbox;
  /** Opens a note of the operator about it. */
  onNote: () => void;
}) {
  const [replying, setReplying] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const { agent, name, reload } = mailbox;
  const who = personOf(message.sender);
  const isSent = message.box === "sent";
  const change = async (done: string, answer: Promise<Answer<unknown>>) => {
    const { ok, ...rest } = await answer;
    const said = ok ? null : `Nothing was changed. ${(rest as { detail: string }).detail}`;
    setFailure(said);
    announce(said ?? done);
    reload();
  };
  const mark = (flags: { read?: boolean; archived?: boolean }) =>
    call("agentMailMark", {
      params: { agent_ref: agent },
      body: { message_refs: [message.message_ref], ...flags },
    });
  return (
    <article class="message" aria-label={`From ${who}`}>
      <header>
        <strong title={message.sender.address}>{who}</strong>
        <Attestation message={message} />
        <span class="quiet">to {message.to.map(personOf).join(", ")}</span>
        <Ago at={message.created_at_utc} />
        {message.unread ? <span class="tag">unread</span> : null}
        {message.answered ? <span class="tag">answered</span> : null}
        {message.archived ? <span class="tag">archived</span> : null}
      </header>
      <Prose text={message.body_text ?? message.body_preview} />
      {message.notify_block ? <p class="notice">Notice in the wake-up: {message.notify_block.text}</p> : null}
      <Attachments message={message} />
      <div class="controls">
        {isSent ? null : (
          <button type="button" onClick={() => setReplying(!replying)} aria-expanded={replying}>
            Reply as {name}
          </button>
        )}
        <button type="button" onClick={onNote}>
          Write to {name} about it
        </button>
        {message.archived || isSent ? null : (
          <button
            type="button"
            onClick={() =>
              void change(message.unread ? "Marked read." : "Marked unread.", mark({ read: message.unread }))
            }
          >
            {message.unread ? "Mark read" : "Mark unread"}
          </button>
        )}
        <button
          type="button"
          onClick={() =>
            void change(
              message.archived ? "Back in the mailbox." : "Archived.",
              mark({ archived: !message.archived }),
            )
          }
        >
          {message.archived ? "Take out of the archive" : "Archive"}
        </button>
      </div>
      {failure === null ? null : <p class="receipt failed">{failure}</p>}
      {replying ? <Reply message={message} mailbox={mailbox} onSent={() => setReplying(false)} /> : null}
    </article>
  );
}

/** Whether the sender's mailbox signed the message; nothing where the gateway does not say. */
function Attestation({ message: { attestation, attestation_detail: why } }: { message: MailMessage }) {
  if (attestation === undefined) return null;
  return (
    <>
      <span class={`tag ${attestation}`}>{attestation}</span>
      {why === undefined ? null : <span class="quiet">{why}</span>}
    </>
  );
}

function Attachments({ message: { attachments } }: { message: MailMessage }) {
  if (attachments.length === 0) return null;
  return (
    <ul class="attachments">
      {attachments.map((one) => (
        <li key={one.attachment_id}>
          {one.label ?? one.locator}{" "}
          <span class="quiet">
            {one.media_type}
            {one.size_bytes === null ? "" : `, ${one.size_bytes} bytes`}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** An answer from this mailbox: its reader sees it as one of the agent. */
function Reply({
  message,
  mailbox: { agent, name, reload },
  onSent,
}: {
  message: MailMessage;
  mailbox: Mailbox;
  onSent: () => void;
}) {
  const [text, setText] = useDraft(`reply.${agent}.${message.message_ref}`);
  const [failure, setFailure] = useState<string | null>(null);
  const to = (message.reply_to.length > 0 ? message.reply_to : [message.sender]).map(personOf).join(", ");
  const send = async () => {
    if (text.trim() === "") return;
    const body = { message_ref: message.message_ref, body_content: text };
    const answer = await call("agentMailReply", { params: { agent_ref: agent }, body });
    const said = answer.ok
      ? `Sent to ${to} as ${answer.value.message.message_ref}.`
      : `Not sent. ${answer.detail}`;
    announce(said);
    setFailure(answer.ok ? null : said);
    if (!answer.ok) return;
    onSent();
    reload();
  };
  return (
    <form
      class="reply"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void send();
      }}
    >
      <label>
        Reply to {to}, Markdown
        <textarea
          rows={4}
          ref={focusWhenShown}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p class="quiet">
        It comes from the mailbox of {name}: its readers take it for an answer of {name}.
      </p>
      <button type="submit" class="primary" disabled={text.trim() === ""}>
        Send the reply <Key>Ctrl Enter</Key>
      </button>
      {failure === null ? null : <p class="receipt failed">{failure}</p>}
    </form>
  );
}
