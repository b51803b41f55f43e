import { useEffect, useRef, useState } from "preact/hooks";
import type { ReminderRecord } from "../../protocol/reminders.ts";
import type { Tokens } from "../../protocol/usage.ts";
import { nowMs, parseTime } from "../browser/browser.ts";
import { call } from "../client/api.ts";
import { agents } from "../client/fleet.ts";
import { revisions } from "../client/store.ts";
import { outcomeOf, propose } from "../client/ui.ts";
import { Ago, Empty, Failure, useLoaded } from "../parts/pieces.tsx";
import { nameOf } from "../state/agents.ts";
import { brief, count, sumOf, tokensInWords, words } from "../state/format.ts";
import { factsInWords } from "../state/readiness.ts";
import { formatRoute } from "../state/route.ts";

/** Reminders of an agent: what will be given to it, and when. */
export function Reminders({ id }: { id: string }) {
  const revision = revisions.value.get(id) ?? 0;
  const list = useLoaded(id, revision, () => call("agentListReminders", { params: { agent_ref: id } }));
  return (
    <div class="reminders">
      {list.failure ? <Failure detail={list.failure} retry={list.reload} /> : null}
      {list.value?.reminders.length === 0 ? (
        <Empty title="No reminder">What was delivered is in the transcript and in the timeline.</Empty>
      ) : null}
      <ul class="cards">
        {(list.value?.reminders ?? []).map((one) => (
          <li key={one.reminder_id}>
            <Reminder id={id} reminder={one} reload={list.reload} />
          </li>
        ))}
      </ul>
      <NewReminder id={id} reload={list.reload} />
      <p class="quiet">A reminder ends with the gateway unless it is durable.</p>
    </div>
  );
}

function Reminder({ id, reminder, reload }: { id: string; reminder: ReminderRecord; reload: () => void }) {
  const remove = () =>
    propose({
      title: `Delete the reminder “${reminder.title}”?`,
      will: ["It is delivered no more. A delivery under way goes on to its end."],
      button: "Delete",
      danger: true,
      async run() {
        const params = { agent_ref: id, reminder_id: reminder.reminder_id };
        const answer = await call("agentDeleteReminder", { params });
        reload();
        return outcomeOf(answer, {
          done: "Deleted",
          failed: "Not deleted",
          next: "Look whether it is still listed.",
          evidence: ({ detail }) => [detail],
        });
      },
    });
  return (
    <>
      <strong>{reminder.title}</strong>
      <span class={`tag ${reminder.delivery_state}`}>
        {reminder.paused ? "paused" : words(reminder.delivery_state)}
      </span>
      <span>
        due <Ago at={reminder.next_due_at_utc} />
        {reminder.interval_seconds === null ? null : `, then every ${reminder.interval_seconds} s`}
      </span>
      <p>{reminder.prompt ?? reminder.send_keys?.sequence}</p>
      {reminder.waiting ? <p class="quiet">{reminder.waiting.detail}</p> : null}
      <button type="button" class="plain" onClick={remove}>
        Delete
      </button>
    </>
  );
}

function NewReminder({ id, reload }: { id: string; reload: () => void }) {
  const [title, setTitle] = useState("");
  const [prompt, setPrompt] = useState("");
  const [minutes, setMinutes] = useState("10");
  const [failure, setFailure] = useState<string | null>(null);
  const create = async () => {
    const reminder = {
      mode: "one_off" as const,
      title,
      prompt,
      ranking: 0,
      start_after_seconds: Number(minutes) * 60,
    };
    const answer = await call("agentCreateReminders", {
      params: { agent_ref: id },
      body: { reminders: [reminder] },
    });
    setFailure(answer.ok ? null : answer.detail);
    if (!answer.ok) return;
    setTitle("");
    setPrompt("");
    reload();
  };
  return (
    <form
      class="new-reminder"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <h2>New reminder</h2>
      <label>
        Title
        <input required value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
      </label>
      <label>
        Prompt
        <textarea
          required
          rows={2}
          value={prompt}
          onInput={(event) => setPrompt(event.currentTarget.value)}
        />
      </label>
      <label>
        Minutes from now
        <input
          type="number"
          min="0.1"
          step="any"
          required
          value={minutes}
          onInput={(event) => setMinutes(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Create
      </button>
      {failure === null ? null : <Failure detail={failure} />}
    </form>
  );
}

/** The tokens of a turn, or that its tool counts none. */
type Cost = Tokens | "not counted";

/** A tool writes its record a moment after the end of the turn. */
const recordedMs = 10_000;

/** The request of a wake, and when the notifier made it. */
interface WakeRequest {
  request: string;
  askedMs: number | null;
}

/** What the turn of a request used; null while that may still come. */
async function costOf(agent: string, { request, askedMs }: WakeRequest): Promise<Cost | null> {
  const query = { request_id: request, limit: 1, max_bytes: 1 };
  const page = await call("agentTranscript", { params: { agent_ref: agent }, query });
  if (!page.ok) return page.why === "refused" ? "not counted" : null;
  const [turn] = page.value.turns;
  if (turn?.usage) return sumOf(turn.usage);
  // A wake that never became a turn has none: the time of its poll decides.
  const sinceMs = turn ? parseTime(turn.ended_at_utc) : askedMs;
  return sinceMs !== null && nowMs() - sinceMs > recordedMs ? "not counted" : null;
}

/** The costs of wakes as far as they are known, by request. Each is asked for until it is known. */
function useCosts(
  agent: string,
  requests: readonly WakeRequest[],
  revision: number,
): ReadonlyMap<string, Cost> {
  const costs = useRef<ReadonlyMap<string, Cost>>(new Map());
  const [, draw] = useState(0);
  useEffect(() => {
    let wanted = true;
    const load = async () => {
      for (const one of requests) {
        const { request } = one;
        if (costs.current.has(request)) continue;
        const cost = await costOf(agent, one);
        if (!wanted) return;
        if (cost === null) continue;
        costs.current = new Map(costs.current).set(request, cost);
        draw((count) => count + 1);
      }
    };
    void load();
    return () => {
      wanted = false;
    };
  }, [agent, requests.map(({ request }) => request).join(), revision]);
  return costs.current;
}

/** How many polls the line of a mailbox counts, and the list of polls shows. */
const polls = { inBrief: 10, listed: 50 };

/** The newest polls of the notifier, those that woke the agent, and what their turns used. */
function useWakes(id: string, limit: number) {
  const revision = revisions.value.get(id) ?? 0;
  const audit = useLoaded(id, revision, () =>
    call("agentNotifierAudit", { params: { agent_ref: id }, query: { limit } }),
  );
  const rows = audit.value?.rows ?? [];
  const woken = rows.filter(({ outcome }) => outcome === "enqueued");
  const requests = woken.flatMap(({ enqueued_request_id: request, poll_time_utc: at }) =>
    request ? [{ request, askedMs: parseTime(at) }] : [],
  );
  const costs = useCosts(id, requests, revision);
  const spent = requests.reduce((sum, { request }) => {
    const cost = costs.get(request) ?? "not counted";
    return sum + (cost === "not counted" ? 0 : cost.input_tokens + cost.output_tokens);
  }, 0);
  return { rows, woken, costs, spent };
}

const spentInWords = (spent: number): string => (spent > 0 ? `, ${brief(spent)} tokens in their turns` : "");

/**
 * One line for the mailbox of an agent: how often mail woke it lately, and what that cost. It loads the polls
 * that it counts alone.
 */
export function WakesInBrief({ id }: { id: string }) {
  const { rows, woken, spent } = useWakes(id, polls.inBrief);
  if (rows.length === 0) return null;
  return (
    <p class="quiet">
      <a href={formatRoute({ screen: "agent", agent: id, tab: "wakes" })}>
        {count(woken.length, "wake")} by mail
      </a>{" "}
      in the newest {count(rows.length, "poll")}
      {spentInWords(spent)}.
    </p>
  );
}

/** What the mail notifier found and decided, poll by poll, and what its wakes cost. */
export function Wakes({ id }: { id: string }) {
  const revision = revisions.value.get(id) ?? 0;
  const params = { agent_ref: id };
  const status = useLoaded(id, revision, () => call("agentReadNotifier", { params }));
  const { rows, woken, costs, spent } = useWakes(id, polls.listed);
  const setting = status.value;
  const view = agents.value.get(id);
  const name = view ? nameOf(view.identity) : id;
  return (
    <div class="wakes">
      {status.failure ? <Failure detail={status.failure} retry={status.reload} /> : null}
      {setting && !setting.enabled ? (
        <p class="quiet">
          On its machine:{" "}
          <code>
            svc-mgr agents single --agent-name {name} gateway mail-notifier enable --interval-seconds 60
          </code>
        </p>
      ) : null}
      {setting ? (
        <p>
          {setting.enabled
            ? `Wakes by mail, looks every ${setting.interval_seconds ?? 0} s.`
            : "Does not wake by mail."}{" "}
          {setting.max_wakes_per_hour > 0 ? `At most ${setting.max_wakes_per_hour} wakes an hour. ` : ""}
          {setting.require_attestation === "verified" ? "Only verified mail wakes it. " : ""}
          {setting.quiet_hours
            ? `Quiet from ${setting.quiet_hours.start} to ${setting.quiet_hours.end}, ${setting.quiet_hours.time_zone}. `
            : ""}
          {setting.last_error ? `Last error: ${setting.last_error}` : ""}
        </p>
      ) : null}
      {rows.length === 0 ? null : (
        <p class="quiet">
          Of the newest {count(rows.length, "poll")}, {count(woken.length, "wake")}:{" "}
          {woken.reduce((sum, row) => sum + row.prompt_chars, 0)} characters of prompts
          {spentInWords(spent)}.
        </p>
      )}
      {rows.length === 0 ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="scroll" tabIndex={0} aria-label="Polls">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th>Outcome</th>
                <th>Mail</th>
                <th>Tokens</th>
                <th>Why</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.audit_id}>
                  <td>
                    <Ago at={row.poll_time_utc} />
                  </td>
                  <td>{words(row.outcome)}</td>
                  <td>{row.unread_count ?? ""}</td>
                  <td>
                    <TurnCost cost={costs.get(row.enqueued_request_id ?? "")} />
                  </td>
                  <td>
                    {factsInWords(row.detail ?? "") ||
                      row.unread_summary.map(({ subject }) => subject).join(", ")}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}

function TurnCost({ cost }: { cost: Cost | undefined }) {
  if (cost === undefined) return null;
  if (cost === "not counted") return <span class="quiet">not counted</span>;
  return <span title={tokensInWords(cost)}>{brief(cost.input_tokens + cost.output_tokens)}</span>;
}
