import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFakeClock } from "./fake-clock.ts";
import { createMailRootFixture } from "./mail-root.ts";
import { draft } from "./mail-story.ts";
import { createTestSignal } from "./until.ts";

/**
 * A message of ada to ben that was answered; its file is written 5 ms later, of a clock that stands still.
 * `fails`: the steps that the disk refuses, as it is full. `onStep`: what happens after a step, once.
 */
export async function sentMail({ subject = "one", body = "The bell rings at noon." } = {}) {
  const clock = createFakeClock();
  let steps = createTestSignal<string>();
  const onStep = new Map<string, () => void>();
  const fails = new Set<string>();
  const mended: string[] = [];
  const faults: string[] = [];
  const fixture = createMailRootFixture({
    system: { clock },
    onMended: (what) => mended.push(what),
    onFault: (what) => faults.push(what),
    steps: {
      before(label) {
        if (fails.has(label)) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      },
      after(label) {
        steps.emit(label);
        const act = onStep.get(label);
        onStep.delete(label);
        act?.();
      },
    },
  });
  const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  steps = createTestSignal();
  const { values: passed } = steps;
  const mail = await ada.send({ ...draft("ben", subject), body });
  const id = mail.message_ref.replace("filesystem:", "");
  const file = join(fixture.path, "messages", mail.created_at_utc.slice(0, 10), `${id}.md`);
  const links = ["ada@svc.localhost/sent", "ben@svc.localhost/inbox"].map((box) =>
    join(fixture.path, "mailboxes", box, `${id}.md`),
  );
  return {
    fixture,
    clock,
    steps,
    passed,
    onStep,
    fails,
    mended,
    faults,
    ada,
    ben,
    mail,
    id,
    file,
    links,
    waiting: () => waitingMail(fixture.path),
    /** Resolves when the index keeps no text any more. */
    filesOnDisk: () =>
      steps.until(
        "the files to be on disk",
        () => passed.includes("sql:mail-synced") && waitingMail(fixture.path).length === 0,
      ),
    [Symbol.dispose]: () => fixture[Symbol.dispose](),
  };
}

/** The same when its file is written, and not synced. */
export async function answeredMail(options: Parameters<typeof sentMail>[0] = {}) {
  const has = await sentMail(options);
  await has.clock.advance(5);
  return { ...has, text: readFileSync(has.file, "utf8") };
}

/** Ids of the messages whose texts the index keeps. */
export function waitingMail(path: string): string[] {
  const database = new Database(join(path, "index.sqlite"), { readonly: true });
  const rows = database
    .query<{ id: string }, []>("SELECT message_id AS id FROM unsynced_messages ORDER BY seq")
    .all();
  database.close();
  return rows.map(({ id }) => id);
}
