import { useEffect, useState } from "preact/hooks";
import type { MailMessage } from "../../protocol/mail.ts";
import { pollWhileVisible } from "../browser/browser.ts";
import { type Answer, call } from "../client/api.ts";
import { agents, agentsKnown, reloadUnread, setUnread, unreadPollMs, wantTile } from "../client/fleet.ts";
import { revisions, rows } from "../client/store.ts";
import { announce, go } from "../client/ui.ts";
import { Ago, Empty, Failure, focusWhenShown, Key, useDraft, useLoaded } from "../parts/pieces.tsx";
import { nameOf } from "../state/agents.ts";
import { count } from "../state/format.ts";
import { formatRoute } from "../state/route.ts";
import { type Thread, toThreads } from "../state/threads.ts";
import { WakesInBrief } from "./agent-wakes.tsx";
import { Message } from "./mail-message.tsx";

/** Mail between agents and people, by mailbox. */
export function Mail({ agent, thread }: { agent: string | null; thread: string | null }) {
  const boxes = rows.value
    .filter(({ view }) => view.identity.has_mailbox)
    .sort((a, b) => a.name.localeCompare(b.name));
  const chosen = agent ?? boxes[0]?.id ?? null;
  const ids = boxes.map(({ id }) => id);
  useEffect(() => pollWhileVisible(unreadPollMs, () => ids.forEach(reloadUnread)), [ids.join()]);
  if (boxes.length === 0)
    return agentsKnown.value ? (
      <Empty title="No agent has a mailbox" whole>
        Launch one with mail: <code>svc-mgr agents launch --tool claude --agent-name worker --mailbox</code>
      </Empty>
    ) : (
      <Empty title="Looking at your agents…" whole />
    );
  for (const { id } of boxes) wantTile(id);
  return (
    <div class="mail">
      <nav aria-label="Mailboxes">
        <h1>Mail</h1>
        <ul>
          {boxes.map(({ id, name, view }) => (
            <li key={id}>
              <a
                ref={id === chosen ? showInList : null}
                href={formatRoute({ screen: "mail", agent: id, thread: null })}
                aria-current={id === chosen ? "page" : undefined}
              >
                {name}
                {view.unread ? <span class="badge">{view.unread}</span> : null}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {chosen === null ? null : (
        <Mailbox
          key={chosen}
          agent={chosen}
          thread={thread}
          onChoose={(next) => go({ screen: "mail", agent: chosen, thread: next })}
        />
      )}
    </div>
  );
}

/** On a phone the mailboxes are one line that scrolls. */
const showInList = (line: HTMLElement | null): void =>
  line?.scrollIntoView({ block: "nearest", inline: "center" });

interface Boxes {
  messages: MailMessage[];
  /** Whether a box has older messages than these. */
  hasOlder: boolean;
}

/** The newest messages of each box, `limit` at most. */
async function readBoxes(agent: string, limit: number): Promise<Answer<Boxes>> {
  const params = { agent_ref: agent };
  const list = (box: string) =>
    call("agentMailList", { params, body: { box, limit, include_body: true, archived: null } });
  const [inbox, ...others] = await Promise.all([list("inbox"), list("sent"), list("archive")]);
  if (!inbox.ok) return inbox;
  const boxes = [inbox, ...others].flatMap((box) => (box.ok ? [box.value] : []));
  const messages = boxes.flatMap((box) => box.messages);
  return { ok: true, value: { messages, hasOlder: boxes.some((box) => Boolean(box.next_cursor)) } };
}

/** The mailbox of one agent on its own page, where the address names the agent alone. */
export function OwnMailbox({ agent }: { agent: string }) {
  const [thread, setThread] = useState<string | null>(null);
  return <Mailbox agent={agent} thread={thread} onChoose={setThread} />;
}

/** Mail that wakes nobody is no event of the agent. */
const mailPollMs = 10_000;
const mailPage = 200;

/** The threads of one mailbox, and the chosen one. */
function Mailbox({
  agent,
  thread,
  onChoose: choose,
}: {
  agent: string;
  thread: string | null;
  onChoose: (thread: string | null) => void;
}) {
  const revision = revisions.value.get(agent) ?? 0;
  const [archived, setArchived] = useState(false);
  /** The subject of the note that is written; null while none is. */
  const [note, setNote] = useState<string | null>(null);
  const [limit, setLimit] = useState(mailPage);
  const list = useLoaded(agent, revision + limit, () => readBoxes(agent, limit));
  const messages = list.value?.messages ?? [];
  useEffect(() => pollWhileVisible(mailPollMs, list.reload), [agent]);
  useEffect(() => {
    if (list.value?.hasOlder) reloadUnread(agent);
    else if (list.value) setUnread(agent, messages.filter(({ unread }) => unread).length);
  }, [agent, list.value]);
  const view = agents.value.get(agent);
  if (view && !view.identity.has_mailbox) return <Empty title="This agent has no mailbox" />;
  const all = toThreads(messages);
  const threads = all.filter(({ messages }) => archived || messages.some((one) => !one.archived));
  const open = all.find(({ id }) => id === thread);
  const name = view ? nameOf(view.identity) : agent;
  return (
    <div class={`mailbox ${open || note !== null ? "reading" : ""}`}>
      <section class="threads" aria-label={`Threads of ${name}`}>
        <button type="button" onClick={() => setNote("")}>
          Write to {name}
        </button>
        <WakesInBrief id={agent} />
        {list.failure ? <Failure detail={list.failure} retry={list.reload} /> : null}
        {list.value !== null && threads.length === 0 ? (
          <p class="quiet">No mail{all.length > 0 ? " outside the archive" : " yet"}.</p>
        ) : null}
        <ul>
          {threads.map((one) => (
            <li key={one.id}>
              <ThreadLine
                thread={one}
                selected={one.id === open?.id && note === null}
                onOpen={() => {
                  setNote(null);
                  choose(one.id);
                }}
              />
            </li>
          ))}
        </ul>
        {list.value?.hasOlder ? (
          <button type="button" class="plain" onClick={() => setLimit(limit + mailPage)}>
            Older mail
          </button>
        ) : null}
        {archived || all.some(({ messages }) => messages.every((one) => one.archived)) ? (
          <label class="check">
            <input type="checkbox" checked={archived} onChange={() => setArchived(!archived)} /> Archived too
          </label>
        ) : null}
      </section>
      <section class="messages" aria-label="Messages">
        {open || note !== null ? (
          <button
            type="button"
            class="plain back"
            onClick={() => {
              setNote(null);
              choose(null);
            }}
          >
            All threads
          </button>
        ) : null}
        {note !== null ? (
          <Compose key={note} agent={agent} name={name} about={note} onSent={list.reload} />
        ) : open ? (
          <>
            <h2>{open.subject}</h2>
            {open.messages.map((message) => (
              <Message
                key={message.message_ref}
                message={message}
                mailbox={{ agent, name, reload: list.reload }}
                onNote={() => setNote(answerTo(message.subject))}
              />
            ))}
          </>
        ) : threads.length > 0 ? (
          <Empty title="Choose a thread" />
        ) : null}
      </section>
    </div>
  );
}

function ThreadLine({ thread, selected, onOpen }: { thread: Thread; selected: boolean; onOpen: () => void }) {
  return (
    <button type="button" class="line" aria-current={selected ? "true" : undefined} onClick={onOpen}>
      <span class="who">
        {thread.people.join(", ")}
        <Ago at={thread.lastUtc} />
      </span>
      <span class="what">{thread.subject}</span>
      <span class="kind">
        {count(thread.messages.length, "message")}
        {thread.unread > 0 ? `, ${thread.unread} unread` : ""}
      </span>
    </button>
  );
}

const answerTo = (subject: string): string => (/^re:/i.test(subject) ? subject : `Re: ${subject}`);

/** A note of the operator to one agent. */
function Compose({
  agent,
  name,
  about,
  onSent,
}: {
  agent: string;
  name: string;
  /** The subject at first. */
  about: string;
  onSent: () => void;
}) {
  const [subject, setSubject] = useState(about);
  const [text, setText] = useDraft(`note.${agent}.${about}`);
  const [files, setFiles] = useState("");
  const [replies, setReplies] = useState(true);
  const [result, setResult] = useState<{ ok: boolean; text: string } | null>(null);
  const send = async () => {
    if (subject.trim() === "") return;
    const attachments = files
      .split("\n")
      .map((path) => path.trim())
      .filter((path) => path !== "")
      .map((path) => ({ path }));
    const reply_policy = replies ? ("operator_mailbox" as const) : ("none" as const);
    const body = { subject, body_content: text, attachments, reply_policy };
    const answer = await call("agentMailPost", { params: { agent_ref: agent }, body });
    const said = answer.ok
      ? `Delivered to ${name} as ${answer.value.message.message_ref}.`
      : `Not sent. ${answer.detail}`;
    setResult({ ok: answer.ok, text: said });
    announce(said);
    if (!answer.ok) return;
    setSubject("");
    setText("");
    setFiles("");
    onSent();
  };
  return (
    <form
      class="compose"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
      }}
    >
      <h2>Write to {name}</h2>
      <label>
        Subject
        <input
          required
          ref={focusWhenShown}
          value={subject}
          onInput={(event) => setSubject(event.currentTarget.value)}
        />
      </label>
      <label>
        Text, Markdown
        <textarea rows={8} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <label>
        Attachments: absolute paths on the machine of the agent, one a line
        <textarea rows={2} value={files} onInput={(event) => setFiles(event.currentTarget.value)} />
      </label>
      <label class="check">
        <input type="checkbox" checked={replies} onChange={() => setReplies(!replies)} /> The agent can reply
        to the operator
      </label>
      <button type="submit" class="primary" disabled={subject.trim() === ""}>
        Send <Key>Ctrl Enter</Key>
      </button>
      {result === null ? null : <p class={result.ok ? "receipt done" : "receipt failed"}>{result.text}</p>}
    </form>
  );
}
