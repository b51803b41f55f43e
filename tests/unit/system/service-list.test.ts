import { expect, test } from "bun:test";
import { createServiceList, type Service } from "../../../src/system/service-list.ts";

function setUp(given: readonly { name: string; starts?: boolean; failsIn?: "start" | "stop" }[]) {
  const calls: string[] = [];
  const errors: string[] = [];
  const act = (name: string, what: "start" | "stop", failsIn?: string) => async () => {
    calls.push(`${what} ${name}`);
    if (failsIn === what) throw new Error(`${name} fails`);
  };
  const services = given.map(
    ({ name, starts = true, failsIn }): Service => ({
      name,
      ...(starts ? { start: act(name, "start", failsIn) } : {}),
      stop: act(name, "stop", failsIn),
    }),
  );
  const list = createServiceList(services, (what, error) =>
    errors.push(`${what}: ${(error as Error).message}`),
  );
  return { list, calls, errors };
}

const three = [{ name: "store", starts: false }, { name: "queue" }, { name: "notifier" }] as const;

test("services start in order and stop in reverse", async () => {
  const { list, calls } = setUp(three);
  await list.start();
  await list.stop();
  expect(calls).toEqual(["start queue", "start notifier", "stop notifier", "stop queue", "stop store"]);
});

test("a second start and a second stop do nothing", async () => {
  const { list, calls } = setUp(three);
  await Promise.all([list.start(), list.start()]);
  await Promise.all([list.stop(), list.stop()]);
  await list.stop();
  expect(calls).toHaveLength(5);
});

test("a list that was not started stops what ran from the beginning", async () => {
  const { list, calls } = setUp(three);
  await list.stop();
  expect(calls).toEqual(["stop store"]);
});

test("a start that fails stops what had started, and itself, and says why", async () => {
  const { list, calls, errors } = setUp([
    { name: "store", starts: false },
    { name: "queue", failsIn: "start" },
    { name: "notifier" },
  ]);
  await expect(list.start()).rejects.toThrow("queue fails");
  expect(calls).toEqual(["start queue", "stop queue", "stop store"]);
  await list.stop();
  expect(calls).toHaveLength(3);
  expect(errors).toEqual([]);
});

test("a stop that fails is reported by name and stops no other stop", async () => {
  const { list, calls, errors } = setUp([
    { name: "store", failsIn: "stop" },
    { name: "queue" },
    { name: "notifier", failsIn: "stop" },
  ]);
  await list.start();
  await list.stop();
  expect(calls.slice(3)).toEqual(["stop notifier", "stop queue", "stop store"]);
  expect(errors).toEqual(["notifier not stopped: notifier fails", "store not stopped: store fails"]);
});

test("a stop waits for a start that is under way", async () => {
  const begun = Promise.withResolvers<void>();
  const calls: string[] = [];
  const list = createServiceList(
    [
      {
        name: "queue",
        start: () => begun.promise.then(() => calls.push("start")),
        stop: () => calls.push("stop"),
      },
    ],
    () => {},
  );
  const started = list.start();
  const stopped = list.stop();
  begun.resolve();
  await Promise.all([started, stopped]);
  expect(calls).toEqual(["start", "stop"]);
});
