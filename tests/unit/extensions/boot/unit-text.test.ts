import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  renderPropertyList,
  renderUnit,
  type ServicePlan,
} from "../../../../src/services/extensions/boot/unit-text.ts";
import { createProcesses } from "../../../../src/system/processes.ts";
import { quietSteps } from "../../../../src/system/steps.ts";
import { createScratch } from "../../../support/scratch.ts";

const server: ServicePlan = {
  name: "svc-coord",
  description: "svc: one address",
  command: ["/opt/svc/svc-gateway", "gateway", "coord", "serve"],
  searchPath: ["/opt/svc", "/usr/bin", "/bin"],
  environmentFile: "/home/ann/.config/svc/coord.env",
  isServer: true,
  logPath: "/home/ann/.local/state/svc/svc-coord.log",
};
const once: ServicePlan = {
  ...server,
  name: "svc-resume",
  command: ["/opt/svc/svc-gateway", "gateway", "mgr", "resume", "--at-once", "2"],
  isServer: false,
};

test("a unit starts the program by its path, again after a crash, and ends it alone", () => {
  const lines = renderUnit(server).split("\n");
  expect(lines).toContain("ExecStart=:/opt/svc/svc-gateway gateway coord serve");
  expect(lines).toContain("Environment=PATH=/opt/svc:/usr/bin:/bin");
  expect(lines).toContain("EnvironmentFile=-/home/ann/.config/svc/coord.env");
  for (const line of ["KillMode=process", "Restart=on-failure", "WorkingDirectory=/"]) {
    expect(lines).toContain(line);
  }
});

test("the unit that brings agents back runs once, without a limit of time, after the server", () => {
  const lines = renderUnit(once).split("\n");
  for (const line of ["Type=oneshot", "RemainAfterExit=yes", "KillMode=process", "After=svc-coord.service"]) {
    expect(lines).toContain(line);
  }
  expect(renderUnit(once)).not.toContain("Restart=");
});

const odd = '/home/a b/%h "x" $HOME \\ <&>/svc';
const plain = "/home/a b/%h $HOME <&>/svc";

test("nothing of a path is expanded or ends its word", () => {
  const plan = { ...server, command: [plain, odd], searchPath: [odd] };
  const quoted = '/home/a b/%%h \\"x\\" $HOME \\\\ <&>/svc"';
  expect(renderUnit(plan)).toContain(`ExecStart=:"/home/a b/%%h $HOME <&>/svc" "${quoted}\n`);
  expect(renderUnit(plan)).toContain(`Environment="PATH=${quoted}\n`);
  expect(() => renderUnit({ ...server, command: [odd] })).toThrow("systemd starts no program called");
  expect(renderPropertyList({ ...plan, command: [odd] })).toContain(
    '<string>/home/a b/%h "x" $HOME \\ &lt;&amp;&gt;/svc</string>',
  );
});

test.each([renderUnit, renderPropertyList])("a path with a line in it is refused", (render) => {
  const command = ["/tmp/x\nExecStartPre=/bin/evil", "gateway"];
  expect(() => render({ ...server, command })).toThrow("it has a control character");
});

test("a property list has the program behind the shell that reads its variables", () => {
  const text = renderPropertyList(once);
  const words = [...text.matchAll(/^ {4}<string>(.*)<\/string>$/gm)].map(([, word]) => word);
  expect(words).toEqual([
    "/bin/sh",
    "-c",
    'set -a; test ! -r "$0" || . "$0"; exec "$@"',
    once.environmentFile,
    ...once.command,
    "/opt/svc:/usr/bin:/bin",
  ]);
  expect(text).toContain("<key>AbandonProcessGroup</key>\n  <true/>");
  expect(text).not.toContain("KeepAlive");
  expect(renderPropertyList(server)).toContain("KeepAlive");
});

// Where systemd is, it is asked; a key that it does not know is a word on stderr.
const processes = createProcesses({ steps: quietSteps });
const folders = processes.which("systemd-analyze") ? ["plain", "a b %h $HOME"] : [];
test.each(folders)(
  "systemd has nothing to say of the units of a program in %j",
  async (name) => {
    using scratch = createScratch();
    const folder = join(scratch.folder, name);
    mkdirSync(folder);
    const program = join(folder, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
    for (const plan of [server, once]) {
      const words = [program, ...plan.command.slice(1)];
      writeFileSync(scratch.path(`${plan.name}.service`), renderUnit({ ...plan, command: words }));
    }
    const verify = ["svc-coord", "svc-resume"].map((name) => scratch.path(`${name}.service`));
    const env = { PATH: process.env["PATH"] ?? "", HOME: scratch.folder, XDG_RUNTIME_DIR: scratch.folder };
    const said = await processes.run(["systemd-analyze", "--user", "verify", ...verify], {
      env,
      timeoutMs: 60_000,
    });
    expect(said).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  },
  120_000,
);
