// Attaches to the session `a` as a gateway does, asks for much, says its client's pid, and stops before it
// reads any of it.
const [socket = ""] = process.argv.slice(2);
const flags = ["-f", "ignore-size,no-output", "-t", "=a"];
const attached = Bun.spawn(["tmux", "-u", "-S", socket, "-N", "-C", "attach-session", ...flags], {
  stdin: "pipe",
  stdout: "pipe",
  stderr: "ignore",
});
for (let asked = 0; asked < 4000; asked++) attached.stdin.write("list-keys\n");
console.log(attached.pid);
void attached.stdin.flush();
process.kill(process.pid, "SIGSTOP");
