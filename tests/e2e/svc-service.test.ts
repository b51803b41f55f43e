import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

/**
 * In the place of systemd: writes down how it is called, and runs the server of the unit as systemd does, by the
 * words of the unit and with its variables alone. `ANSWER_FILE` decides whether it answers.
 */
const systemctl = `#!/bin/sh
echo "systemctl $*" >> "$STAND_IN/calls"
test -e "$STAND_IN/no-bus" && { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
unit="$HOME/.config/systemd/user/svc-coord.service"
pid() { cat "$STAND_IN/pid" 2>/dev/null; }
case "$*" in
  *restart*svc-coord*)
    line=$(sed -n 's/^ExecStart=://p' "$unit")
    path=$(sed -n 's/^Environment=PATH=//p' "$unit")
    eval "exec env -i HOME='$HOME' PATH='$path' setsid $line --port 0" > "$STAND_IN/out" 2>&1 < /dev/null &
    echo $! > "$STAND_IN/pid" ;;
  *disable*svc-coord*)
    kill "$(pid)"; while kill -0 "$(pid)" 2>/dev/null; do sleep 0.05; done; rm "$STAND_IN/pid" ;;
  *show*svc-coord*)
    if test -e "$STAND_IN/pid"; then printf 'ActiveState=active\\nUnitFileState=enabled\\nMainPID=%s\\n' "$(pid)"
    else printf 'ActiveState=inactive\\nUnitFileState=\\nMainPID=0\\n'; fi ;;
esac
exit 0
`;
const loginctl = `#!/bin/sh
echo "loginctl $*" >> "$STAND_IN/calls"
echo no
`;

test("the server is installed as a service, shown, and goes with its files, alone or with all of svc", async () => {
  await using fixture = createCliFixture();
  const bin = join(fixture.folder, "stand-in");
  mkdirSync(bin);
  writeFileSync(join(bin, "systemctl"), systemctl, { mode: 0o755 });
  writeFileSync(join(bin, "loginctl"), loginctl, { mode: 0o755 });
  const env = {
    ...fixture.env,
    PATH: `${bin}${delimiter}${fixture.env["PATH"]}`,
    STAND_IN: bin,
    PROJECT_SECRET: "of the shell",
  };
  const svc = (line: string) => fixture.run("svc", line.split(" "), { env });
  const calls = () => readFileSync(join(bin, "calls"), "utf8").trim().split("\n");
  const units = join(fixture.env["HOME"] ?? "", ".config", "systemd", "user");
  const unit = (name: string) => join(units, `${name}.service`);

  // A container has no systemd: nothing is written, and the refusal says what to do.
  writeFileSync(join(bin, "no-bus"), "");
  const refused = await svc("service install");
  expect([refused.exitCode, refused.stderr]).toEqual([3, expect.stringContaining("svc-coord serve")]);
  expect(refused.stderr).toContain("Failed to connect to bus");
  expect(existsSync(units)).toBe(false);
  await fixture.shell(`rm ${join(bin, "no-bus")} ${join(bin, "calls")}`);

  const dry = await svc("service install --resume --dry-run --json");
  expect(dry.json()).toMatchObject({ services: [{ name: "svc-coord" }, { name: "svc-resume" }] });
  expect([existsSync(units), existsSync(join(bin, "calls"))]).toEqual([false, false]);
  expect((await svc("service install --at-once 2")).exitCode).toBe(2);

  const installed = await svc("service install --resume --at-once 3");
  expect([installed.stderr, installed.exitCode]).toEqual(["", 0]);
  expect(installed.stdout).toContain("loginctl enable-linger");
  expect(installed.stdout).toContain("SVC_TMUX_SOCKET: write the lines into");
  expect(calls().slice(0, 4)).toEqual([
    "systemctl --user show --property=Version",
    "systemctl --user daemon-reload",
    "systemctl --user enable svc-coord.service",
    "systemctl --user enable svc-resume.service",
  ]);
  expect(calls()).toContain("systemctl --user restart svc-coord.service");
  const texts = ["svc-coord", "svc-resume"].map((name) => readFileSync(unit(name), "utf8")).join("\n");
  expect(texts).toMatch(/^ExecStart=:\/.* mgr resume --at-once 3$/m);
  // Nothing of the shell and of the folder that it was called in.
  for (const value of [bin, "of the shell", fixture.workdir, fixture.socket])
    expect(texts).not.toContain(value);
  const serves = () => readFileSync(join(bin, "out"), "utf8").includes("all agents are served at");
  await until("the server", serves);

  const status = await svc("service status --json");
  expect(status.json()).toMatchObject({
    manager: "systemd",
    ends_at_logout: true,
    services: [{ name: "svc-coord", file: "ours", enabled: true, activity: "active" }, { file: "ours" }],
  });
  const shown = await svc("service status");
  expect(shown.stdout).toMatch(/^svc-coord +yes +yes +active +\d+ /m);

  const removed = await svc("service uninstall");
  expect([removed.exitCode, removed.stdout.trim().split("\n")]).toEqual([
    0,
    ["svc-coord", "svc-resume"].map((name) => `removed ${unit(name)}`),
  ]);
  expect([existsSync(unit("svc-coord")), existsSync(unit("svc-resume"))]).toEqual([false, false]);
  expect((await svc("service uninstall")).stdout).toBe("nothing was installed\n");
  expect((await svc("service status")).stdout).toContain("Install them with: svc service install");

  // The server of the service is none that must be ended first.
  await svc("service install");
  await until("the server", serves);
  await until("its record", async () => (await svc("uninstall --dry-run")).stdout.includes("would remove"));
  const all = await svc("uninstall --yes");
  expect([all.stderr, all.exitCode]).toEqual(["", 0]);
  expect(all.stdout).toContain(`removed: ${unit("svc-coord")}`);
  expect([existsSync(unit("svc-coord")), existsSync(join(bin, "pid"))]).toEqual([false, false]);
  expect(existsSync(join(fixture.env["HOME"] ?? "", ".local", "state", "svc"))).toBe(false);
}, 240_000);
