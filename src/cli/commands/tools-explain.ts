import { defaultTimings } from "../../protocol/terminal.ts";
import { explainRecording } from "../../services/terminal/explain.ts";
import { createSystem } from "../../system/system.ts";
import { chooseProfile } from "../chosen-profile.ts";
import { command } from "../command.ts";
import { readFileFlag, readStdin, toWholeNumber } from "../flag-values.ts";
import { renderExplanation } from "../terminal-text.ts";
import { trustingSystem } from "../trusting-system.ts";
import { readProfiles } from "../world.ts";

export default command({
  name: "explain",
  description: "read a recorded screen as a gateway would, and say which rules made the verdict",
  examples: [
    "svc-mgr tools explain --tool claude --screen recording.ansi.txt",
    "tmux capture-pane -p -e -t =my-session: | svc-mgr tools explain --tool codex --screen - --json",
  ],
  args: {
    tool: {
      type: "string",
      required: true,
      description: "whose screen it is",
      valueHint: "TOOL",
      offers: "tools",
    },
    screen: {
      type: "string",
      required: true,
      description: "what `tmux capture-pane -p -e` printed; - reads standard input",
      valueHint: "FILE",
    },
    title: { type: "string", description: "the pane's title at that moment", valueHint: "TEXT" },
    "cursor-row": { type: "string", description: "the cursor's row, from 0 at the top", valueHint: "N" },
  },
  async run({ args, io }) {
    const { system } = trustingSystem(io, createSystem());
    const overrides = readProfiles(system, io.env);
    const profile = chooseProfile(args.tool, overrides);
    const explanation = explainRecording(
      {
        raw: await readScreen(args.screen),
        tool: profile,
        title: args.title ?? null,
        cursorRow: toWholeNumber("cursor-row", args["cursor-row"], 0, 10_000) ?? null,
        nowMs: system.clock.nowMs(),
      },
      defaultTimings,
    );
    return { json: explanation, text: renderExplanation(explanation) };

    async function readScreen(path: string): Promise<string> {
      if (path === "-") return readStdin(io, { lossy: true });
      return readFileFlag("screen", path, { files: system.files, cwd: io.cwd, lossy: true });
    }
  },
});
