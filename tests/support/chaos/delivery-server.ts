import { join } from "node:path";
import type { AttentionItem } from "../../../src/protocol/attention.ts";
import { createDelivery } from "../../../src/services/extensions/deliveries/delivery.ts";
import { createFiles } from "../../../src/system/files.ts";
import { createSystem } from "../../../src/system/system.ts";
import { attentionItem, fakeAttention } from "../attention-items.ts";
import { createFaultSteps } from "../fault-steps.ts";

// Deliveries as a process of its own: the arguments are a folder and a URL. What waits is in the file
// `waiting` of that folder, as two numbers: the first and the last question. Ends by the steps of FAULT_KILL,
// or when it is killed.

const [folder = "", url = ""] = process.argv.slice(2);
const system = createSystem(createFaultSteps(process.env));
const files = createFiles({ ids: system.ids, steps: system.steps });
const attention = fakeAttention();
const waiting = join(folder, "waiting");

const questionId = (number: number) => `question-${String(number).padStart(12, "0")}`;

let seen = "";
function look(): void {
  const text = files.read(waiting) ?? "1 0";
  if (text !== seen) {
    seen = text;
    const [first = 1, last = 0] = text.split(" ").map(Number);
    const items: AttentionItem[] = [];
    for (let number = first; number <= last; number++) items.push(attentionItem({ id: questionId(number) }));
    attention.set(items);
  }
  system.clock.after(20, look);
}
look();

files.write(
  "test",
  join(folder, "deliveries.yaml"),
  `version: 1\nrules:\n  hook: { webhook: { url: "${url}", secret_file: secret } }\n`,
);
const delivery = createDelivery({
  ...system,
  files,
  attention,
  env: {},
  home: folder,
  rulesFile: join(folder, "deliveries.yaml"),
  paths: {
    folder: join(folder, "outbox"),
    store: join(folder, "outbox", "deliveries.sqlite"),
    lock: join(folder, "outbox", "lock"),
  },
  log: (line, facts) => console.error(line, JSON.stringify(facts)),
});
delivery.start();
