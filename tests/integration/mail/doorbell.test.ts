import { expect, test } from "bun:test";
import { createFolderWatch, type FolderWatch } from "../../../src/system/watch.ts";
import { createMailRootLab } from "../../support/mail-root.ts";
import { until } from "../../support/until.ts";

test("a mailbox rings for what comes into its inbox, and not for what its owner archives", async () => {
  const changes: (string | null)[] = [];
  const real = createFolderWatch();
  const watch: FolderWatch = {
    watchFolder: (folder, listener) =>
      real.watchFolder(folder, (name) => {
        changes.push(name);
        listener(name);
      }),
  };
  using lab = createMailRootLab({ system: { watch } });
  const [ada, ben] = [lab.mailbox("ada"), lab.mailbox("ben")];
  let rings = 0;
  ben.onArrival(() => {
    rings += 1;
  });
  const { message_ref: sent } = await ada.send({
    ...{ to: [ben.address], cc: [], subject: "Ring", body: "", attachments: [] },
    ...{ notifyBlock: null, notifyAuth: null },
  });
  await until("a ring", () => rings > 0);
  const [rung, seen] = [rings, changes.length];
  await ben.archive([sent]);
  await until("the change that archiving is", () => changes.length > seen);
  expect(rings).toBe(rung);
});
