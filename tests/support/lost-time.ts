/** How much time the machine lost to others, by what naps and short processes take too long. */
export interface LostTime extends AsyncDisposable {
  /** Milliseconds lost from then (`performance.now()`) until now. */
  since(ms: number): number;
}

const napMs = 50;

/** Measures until disposed: a limit on the clock means what it says only on a machine that gives its time. */
export function measureLostTime(): LostTime {
  const rounds: { endMs: number; lostMs: number }[] = [];
  let beganMs = performance.now();
  let on = true;
  const lost = (nowMs: number) => Math.max(0, nowMs - beganMs - napMs);
  const measuring = (async () => {
    while (on) {
      beganMs = performance.now();
      await Bun.sleep(napMs);
      await Bun.spawn(["true"], { stdio: ["ignore", "ignore", "ignore"] }).exited;
      const endMs = performance.now();
      rounds.push({ endMs, lostMs: lost(endMs) });
    }
  })();
  return {
    since: (ms) =>
      rounds.reduce((sum, round) => (round.endMs > ms ? sum + round.lostMs : sum), lost(performance.now())),
    async [Symbol.asyncDispose]() {
      on = false;
      await measuring;
    },
  };
}
