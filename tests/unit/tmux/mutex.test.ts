import { expect, test } from "bun:test";
import { createTmuxMutex } from "../../../src/services/terminal/tmux/mutex.ts";
import type { Locks } from "../../../src/system/locks.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";

/** Locks of one machine, and which are held. */
function machine() {
  const held = new Set<string>();
  const locks: Pick<Locks, "tryTake"> = {
    tryTake(path) {
      if (held.has(path)) return null;
      held.add(path);
      return { release: () => void held.delete(path) };
    },
  };
  return { held, locks };
}

function asking(take: () => Promise<() => void>) {
  const asked: { release: (() => void) | null } = { release: null };
  take().then((release) => {
    asked.release = release;
  });
  return asked;
}

test("one after another, and the one who waits comes before the one who gives back", async () => {
  const { held, locks } = machine();
  const clock = createFakeClock();
  const first = createTmuxMutex({ locks, clock }, "/run/tmux");
  const second = createTmuxMutex({ locks, clock }, "/run/tmux");
  const release = await first.take();
  const waiting = asking(second.take);
  await settle();
  expect(waiting.release).toBeNull();
  release();
  const again = asking(first.take);
  await clock.advance(10);
  expect([waiting.release === null, again.release === null]).toEqual([false, true]);
  waiting.release?.();
  await clock.advance(10);
  again.release?.();
  again.release?.();
  expect([...held]).toEqual([]);
});

test("what is brief does not queue, and waits for its holder", async () => {
  const { held, locks } = machine();
  const clock = createFakeClock();
  const mutex = createTmuxMutex({ locks, clock }, "/run/tmux");
  locks.tryTake("/run/tmux.svc-next");
  const first = await mutex.take({ brief: true });
  const second = asking(() => mutex.take({ brief: true }));
  await clock.advance(10);
  expect(second.release).toBeNull();
  first();
  await clock.advance(1);
  second.release?.();
  expect([...held]).toEqual(["/run/tmux.svc-next"]);
});

test("servers do not wait for one another", async () => {
  const { held, locks } = machine();
  const clock = createFakeClock();
  const releases = await Promise.all(
    ["/run/one", "/run/two"].map((path) => createTmuxMutex({ locks, clock }, path).take()),
  );
  expect([...held].sort()).toEqual(["/run/one.svc-lock", "/run/two.svc-lock"]);
  for (const release of releases) release();
});

test("who holds it for too long is not waited for, and keeps it", async () => {
  const { held, locks } = machine();
  const clock = createFakeClock();
  locks.tryTake("/run/tmux.svc-lock");
  const late = asking(createTmuxMutex({ locks, clock }, "/run/tmux").take);
  await clock.advance(1900);
  expect(late.release).toBeNull();
  await clock.advance(200);
  late.release?.();
  expect(late.release).not.toBeNull();
  expect([...held]).toEqual(["/run/tmux.svc-lock"]);
});

test("who no longer wants it waits no longer, nor does who cannot wait long", async () => {
  const { held, locks } = machine();
  const clock = createFakeClock();
  locks.tryTake("/run/tmux.svc-lock");
  const mutex = createTmuxMutex({ locks, clock }, "/run/tmux");
  const leaving = new AbortController();
  const tired = asking(() => mutex.take({ signal: leaving.signal }));
  await clock.advance(50);
  expect(tired.release).toBeNull();
  leaving.abort();
  await settle();
  expect(tired.release).not.toBeNull();
  const hasty = asking(() => mutex.take({ waitMs: 100 }));
  await clock.advance(90);
  expect(hasty.release).toBeNull();
  await clock.advance(20);
  expect(hasty.release).not.toBeNull();
  expect([[...held], clock.pending()]).toEqual([["/run/tmux.svc-lock"], 0]);
});

test("where no lock can be had there is none", async () => {
  const locks: Pick<Locks, "tryTake"> = {
    tryTake() {
      throw new Error("the folder is not ours");
    },
  };
  const release = await createTmuxMutex({ locks, clock: createFakeClock() }, "/run/tmux").take();
  expect(release).not.toThrow();
});
