import { expect, test } from "bun:test";
import type { Manifest } from "../../../src/protocol/files.ts";
import { createHeadlessConnectivity } from "../../../src/services/headless/connectivity.ts";
import type { Tmux, TmuxPane } from "../../../src/services/terminal/tmux/command.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const manifestOf = (life: string) =>
  ({ tmux_session_name: "s", tmux: { primary_pane_id: "%0" }, headless: { life } }) as unknown as Manifest;
const pane = { sessionCreated: 1, sessionId: "$0", paneId: "%0", windowIndex: 0, dead: false };

test("a look that began before a newer one was reported does not bring the former instance back", async () => {
  const answers: ((panes: TmuxPane[]) => void)[] = [];
  const panes = () => new Promise<TmuxPane[]>((resolve) => void answers.push(resolve));
  let manifest = manifestOf("former");
  const connectivity = createHeadlessConnectivity({
    clock: createFakeClock(),
    tmux: { panes } as unknown as Tmux,
    readManifest: () => manifest,
    onError: () => {},
    environmentFault: () => null,
  });
  const seen: unknown[] = [];
  connectivity.onChange(() => seen.push(connectivity.state()));

  const former = connectivity.look();
  manifest = manifestOf("next");
  const next = connectivity.look();
  answers[1]?.([pane as unknown as TmuxPane]);
  expect(await next).toMatchObject({ instanceId: "tmux-1-$0-%0-next" });
  answers[0]?.([pane as unknown as TmuxPane]);
  expect(await former).toMatchObject({ instanceId: "tmux-1-$0-%0-next" });
  expect(seen).toHaveLength(1);
});

test("a look that fails is reported once, and the next ones come all the same", async () => {
  const clock = createFakeClock();
  const errors: string[] = [];
  let looks = 0;
  const connectivity = createHeadlessConnectivity({
    clock,
    tmux: {
      panes: async () => {
        looks += 1;
        return looks % 2 === 0 ? [] : [pane as unknown as TmuxPane];
      },
    } as unknown as Tmux,
    readManifest: () => manifestOf("one"),
    environmentFault: () => null,
    onError: (error) => void errors.push(String(error)),
  });
  connectivity.onChange(() => {
    throw new Error("a listener");
  });
  connectivity.start();
  await clock.advance(100_000);
  expect(errors).toEqual(["Error: a listener"]);
  expect(looks).toBeGreaterThan(3);
  await connectivity.stop();
});
