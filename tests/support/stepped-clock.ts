import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The wall clock of a host's programs: it jumps, and the monotonic clock does not. */
export interface SteppedClock {
  /** Programs that start with it follow the clock. */
  environment: Record<string, string>;
  /** So many seconds ahead of this machine from now on. */
  set(aheadSeconds: number): void;
}

/** Adds what a file says to the wall clock, in a program that is linked with libc. */
const source = `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
  char text[32];
  const char *path = getenv("SVC_TEST_CLOCK_AHEAD");
  if (!path) return 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  long length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = syscall(SYS_clock_gettime, clock, time);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += ahead();
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  if (seconds) *seconds = time.tv_sec;
  return time.tv_sec;
}
`;

/** One clock for each of `names`; null on a machine without a C compiler. Linux only. */
export function createSteppedClocks(
  folder: string,
  names: readonly string[],
): ReadonlyMap<string, SteppedClock> | null {
  const compiler = Bun.which("cc") ?? Bun.which("gcc");
  if (compiler === null) return null;
  mkdirSync(folder, { recursive: true });
  const library = join(folder, "clock.so");
  writeFileSync(join(folder, "clock.c"), source);
  const build = Bun.spawnSync([compiler, "-shared", "-fPIC", "-O1", "-o", library, join(folder, "clock.c")]);
  if (build.exitCode !== 0) throw new Error(`${compiler}: ${build.stderr.toString()}`);
  return new Map(
    names.map((name) => {
      const path = join(folder, `${name}.ahead`);
      const set = (aheadSeconds: number) => {
        // A reader never sees half of it.
        writeFileSync(`${path}.next`, String(aheadSeconds));
        renameSync(`${path}.next`, path);
      };
      set(0);
      return [name, { environment: { LD_PRELOAD: library, SVC_TEST_CLOCK_AHEAD: path }, set }] as const;
    }),
  );
}
